package main

import (
	"context"
	"fmt"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

type mappingCommands struct {
	remote `embed:""`

	List      mappingList      `cmd:"" help:"List the partner's rooms and beds, what they are mapped to, and suggestions."`
	Suggest   mappingSuggest   `cmd:"" help:"Show or apply suggestions, which are found by name."`
	Create    mappingCreate    `cmd:"" help:"Create the rooms and beds that only the partner has, and map them."`
	Set       mappingSet       `cmd:"" help:"Map one space of the partner to a space of the property."`
	Import    mappingImport    `cmd:"" help:"Map many spaces from a CSV file, all or none."`
	Unset     mappingUnset     `cmd:"" help:"Remove the mapping of one space of the partner."`
	Conflicts mappingConflicts `cmd:"" help:"List conflicts between the mapping and the partner's spaces, with their cures."`
	Cure      mappingCure      `cmd:"" help:"End a conflict by one of its cures."`
	Changes   mappingChanges   `cmd:"" help:"List the changes of the mapping, the latest first."`
	Undo      mappingUndo      `cmd:"" help:"Undo a change of the mapping."`
}

type mappingList struct {
	ID       string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	Unmapped bool   `help:"Only spaces that are not mapped."`
	Space    string `help:"Only what is mapped to this space of the property: its name or id (spc_...)." placeholder:"SPACE"`
}

// Run prints the PMS's spaces of an integration, with the space of the property that each is mapped to, or a suggestion.
func (c *mappingList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		if c.Space != "" {
			if err := s.resolve(aSpace, &c.Space); err != nil {
				return err
			}
		}
		list, err := s.loadPartnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: c.ID, UnmappedOnly: c.Unmapped, SpaceId: c.Space})
		if err != nil {
			return err
		}
		return s.printAnswer(&propertyv1.ListPartnerSpacesResponse{Data: list}, nil, func() {
			var rows [][]string
			for _, p := range list.GetList() {
				rows = append(rows, []string{p.GetExternalId(), p.GetType(), text.FullName(p.GetParentName(), p.GetName()), p.GetState(), spaceText(p.GetParentSpaceName(), p.GetSpaceName()), dash(p.GetSpaceId()), suggestionOf(p)})
			}
			s.printTable("No spaces to show. To read getSpaces now: latchkey integration read-spaces "+c.ID,
				[]string{"partner's id", "type", "name", "state", "mapped to", "space id", "suggestion"}, rows)
		})
	})
}

// suggestionOf returns the text of the space that the server suggests for a partner's space, or a dash.
func suggestionOf(p *propertyv1.PartnerSpace) string {
	if p.GetSuggestedSpaceId() == "" {
		return "-"
	}
	return fmt.Sprintf("%s (%s, %s)", text.FullName(p.GetSuggestedParentSpaceName(), p.GetSuggestedSpaceName()), p.GetSuggestedSpaceId(), p.GetConfidence())
}

// loadPartnerSpaces loads all rooms and beds of a partner that match a request. It overwrites the page size and token in r.
func (s *session) loadPartnerSpaces(r *propertyv1.ListPartnerSpacesRequest) (*propertyv1.PartnerSpaceList, error) {
	all := &propertyv1.PartnerSpaceList{}
	r.PageSize = 1000
	var err error
	all.List, err = allPages(func(token string) (*propertyv1.PartnerSpaceList, error) {
		r.PageToken = token
		answer, err := propertyv1.NewMappingServiceClient(s.conn).ListPartnerSpaces(s, r)
		all.Total = answer.GetData().GetTotal()
		return answer.GetData(), err
	})
	return all, err
}

type mappingSuggest struct {
	ID    string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	Apply bool   `help:"Apply the suggestions."`
	Exact bool   `help:"With --apply: only if the names are equal except for case, punctuation and leading zeros."`
}

// Help returns examples for --help.
func (mappingSuggest) Help() string {
	return `Examples:
  latchkey mapping suggest int_...
  latchkey mapping suggest int_... --apply

If a name matches two spaces of the property, there is no suggestion: use latchkey mapping set.`
}

// Run prints the unmapped spaces of the partner, each with its suggestion if there is one. With --apply the server maps the spaces with a
// suggestion instead, and Run prints how many; with --exact only those whose names are equal.
func (c *mappingSuggest) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		if c.Apply {
			return c.apply(s)
		}
		list, err := s.loadPartnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: c.ID, UnmappedOnly: true})
		if err != nil {
			return err
		}
		none, err := s.unreadHint(c.ID, "All spaces of the partner are mapped.")
		if err != nil {
			return err
		}
		return s.printAnswer(&propertyv1.ListPartnerSpacesResponse{Data: list}, nil, func() {
			var rows [][]string
			for _, p := range list.GetList() {
				rows = append(rows, []string{p.GetExternalId(), p.GetType(), p.GetName(), suggestionOf(p)})
			}
			s.printTable(none, []string{"partner's id", "type", "name", "suggestion"}, rows)
			if len(rows) > 0 {
				s.printNextSteps("latchkey mapping suggest "+c.ID+" --apply", "latchkey mapping set "+c.ID+" PARTNERS-ID SPACE    for the rest")
			}
		})
	})
}

// unreadHint returns a hint to read the partner's spaces if the server never read them. If it did, unreadHint returns the argument
// otherwise.
func (s *session) unreadHint(integration, otherwise string) (string, error) {
	answer, err := propertyv1.NewIntegrationServiceClient(s.conn).GetIntegration(s, &propertyv1.GetIntegrationRequest{Id: integration})
	if err != nil {
		return "", err
	}
	if answer.GetData().GetSpacesReadAt() != nil {
		return otherwise, nil
	}
	return "The partner's spaces have not been read yet. Read them: latchkey integration read-spaces " + integration, nil
}

// apply carries out mapping suggest --apply: the server maps the partner's unmapped spaces by its own suggestions, with --exact only by
// those with equal names. An error can also come from the later call for a hint, when the spaces are mapped already.
func (c *mappingSuggest) apply(s *session) error {
	answer, err := propertyv1.NewMappingServiceClient(s.conn).ApplySuggestions(s, &propertyv1.ApplySuggestionsRequest{IntegrationId: c.ID, ExactOnly: c.Exact})
	if err != nil {
		return err
	}
	none, err := s.unreadHint(c.ID, "")
	return s.printAnswer(answer, err, func() {
		if none != "" {
			s.say("%s", s.withTypedFlags(none))
			return
		}
		s.say("Mapped %s.", formatCount(int(answer.GetData().GetTotal()), "space"))
		s.printNextSteps("latchkey mapping list " + c.ID + " --unmapped    shows the rest")
	})
}

type mappingSet struct {
	ID       string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	External string `arg:"" name:"partners-id" help:"The partner's space, by id or name. id:101 means the id 101, not a name."`
	Space    string `arg:"" help:"The property's space, by name or id."`
	DryRun   bool   `help:"Change nothing; show the reservations whose doors would change."`
}

// Run maps a space of the partner to one of the property, in place of its present mapping. It fails if another space of the partner has
// that space. With --dry-run it only prints the stays whose doors would change.
func (c *mappingSet) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		if err := s.resolve(aSpace, &c.Space); err != nil {
			return err
		}
		if err := s.resolve(aPartnerSpace(c.ID), &c.External); err != nil {
			return err
		}
		answer, err := propertyv1.NewMappingServiceClient(s.conn).SetMapping(s, &propertyv1.SetMappingRequest{
			IntegrationId: c.ID, ExternalId: c.External, SpaceId: c.Space, ValidateOnly: c.DryRun,
		})
		return s.printMappingChange(answer, err, answer.GetPreview(), func() {
			s.say("Mapped %s to %s.", c.External, c.Space)
			s.printUndo(answer.GetChangeId())
		})
	})
}

// aPartnerSpace returns the kind for spaces of the partner of an integration, so that a command can name them by id or name.
func aPartnerSpace(integration string) kind {
	return kind{"space of the partner", nil, fault.SpaceNotFound, "latchkey mapping list " + integration, func(s *session) ([]candidate, error) {
		list, err := s.loadPartnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: integration})
		return partnerSpaceCandidates(list.GetList()), err
	}}
}

// partnerSpaceCandidates returns a partner's spaces as candidates, by their id and name at the partner.
func partnerSpaceCandidates(list []*propertyv1.PartnerSpace) []candidate {
	return candidatesOf(list, func(p *propertyv1.PartnerSpace) candidate {
		return candidate{id: p.GetExternalId(), names: []string{p.GetName()}, about: p.GetType()}
	})
}

type mappingImport struct {
	ID   string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	File string `arg:"" optional:"" default:"-" help:"CSV with the columns partner,space. - reads standard input."`

	DryRun bool `help:"Change nothing; show the reservations whose doors would change."`
}

// Help returns what --help adds: the format of the file, with an example.
func (mappingImport) Help() string {
	return `Each line names a space of the partner and a space of the property, each by name or id. A bed can be written DORM/BED. If 101 is the id of one of the partner's spaces and the name of another, write id:101 for the id. Example of a file:
  partner,space
  R201,201
  DA-1,Dorm A/1`
}

// mappingSheet is the format of the file of mapping import.
var mappingSheet = sheet{columns: []string{"partner", "space"}, needed: []string{"partner", "space"}, row: "mapping", nothing: "nothing was mapped"}

// Run maps the spaces in a CSV file with one call. If a line is wrong, it maps none. With --dry-run it only shows what would change.
func (c *mappingImport) Run(ctx context.Context, r *remote, io *streams) error {
	records, wrong, err := mappingSheet.readFile(c.File, io)
	if err != nil {
		return err
	}
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		partners, err := s.loadPartnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: c.ID})
		if err != nil {
			return err
		}
		spaces, err := s.allSpaces("")
		if err != nil {
			return err
		}
		mappings, lines := mappingsOf(records, aPartnerSpace(c.ID), partnerSpaceCandidates(partners.GetList()), spaceCandidates(spaces), wrong)
		if err := wrong.err(mappingSheet.nothing); err != nil {
			return fmt.Errorf("%s: %w", fileName(c.File), err)
		}
		answer, err := propertyv1.NewMappingServiceClient(s.conn).BatchSetMappings(s, &propertyv1.BatchSetMappingsRequest{IntegrationId: c.ID, Mappings: mappings, ValidateOnly: c.DryRun})
		if err != nil {
			return &atLines{error: err, list: "mappings", columns: map[string]string{"externalId": "partner", "spaceId": "space"}, lines: lines}
		}
		return s.printMappingChange(answer, nil, answer.GetPreview(), func() {
			s.say("Mapped %s.", formatCount(int(answer.GetData().GetTotal()), "space"))
			s.printNextSteps("latchkey mapping list " + c.ID + " --unmapped    shows the rest")
			s.printUndo(answer.GetChangeId())
		})
	})
}

// mappingsOf converts the records of a file to mappings; lines has the line number of each. partner and partners resolve names of the
// partner's spaces, and spaces those of the property. mappingsOf adds wrong lines to wrong, also a repeated space. Their mappings are in
// the result, without the ids that were not found.
func mappingsOf(records []record, partner kind, partners, spaces []candidate, wrong *faults) (mappings []*propertyv1.Mapping, lines []int) {
	lineOf := map[string]int{}
	for _, r := range records {
		external, err := partner.choose(r.cells["partner"], partners)
		if err != nil {
			wrong.add(r.line, "%s", explain(err, naming{}))
		}
		space, err := aSpace.choose(r.cells["space"], spaces)
		if err != nil {
			wrong.add(r.line, "%s", explain(err, naming{}))
		}
		for _, id := range []string{"partner " + external, "space " + space} {
			if _, name, _ := strings.Cut(id, " "); name != "" && lineOf[id] > 0 {
				wrong.add(r.line, "%s is in line %d, too", id, lineOf[id])
			}
			lineOf[id] = r.line
		}
		mappings, lines = append(mappings, &propertyv1.Mapping{ExternalId: external, SpaceId: &space}), append(lines, r.line)
	}
	return mappings, lines
}

type mappingUnset struct {
	ID       string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	External string `arg:"" name:"partners-id" help:"The partner's space, by id or name. id:101 means the id 101, not a name."`
	DryRun   bool   `help:"Change nothing; show the reservations whose doors would change."`
}

// Help returns what --help adds: how long guests in house keep their access.
func (mappingUnset) Help() string {
	return `A guest in house keeps access to the door until the PMS names another
space, another stay gets the door, or the stay ends. Stays that begin
later get no access to it.`
}

// Run removes the mapping of one space of the partner. Guests in house there keep their doors until their stay has another space or another
// stay takes the door; later check-ins get no door. With --dry-run it only lists the stays whose doors would change.
func (c *mappingUnset) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		if err := s.resolve(aPartnerSpace(c.ID), &c.External); err != nil {
			return err
		}
		answer, err := propertyv1.NewMappingServiceClient(s.conn).UnsetMapping(s, &propertyv1.UnsetMappingRequest{IntegrationId: c.ID, ExternalId: c.External, ValidateOnly: c.DryRun})
		return s.printMappingChange(answer, err, answer.GetPreview(), func() {
			s.say("%s is not mapped any more.", c.External)
			s.printUndo(answer.GetChangeId())
		})
	})
}

type mappingConflicts struct {
	ID  string `arg:"" optional:"" name:"integration" help:"Only conflicts of this integration, by name or id."`
	All bool   `help:"Include resolved conflicts."`
}

// Run lists the open conflicts of one integration or, without an argument, of all: where the mapping and the partner's current spaces
// disagree. It lists the cures of each, which are fixes that the user can choose with mapping cure. With --all it also lists resolved
// conflicts, which have no cures.
func (c *mappingConflicts) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		all := &propertyv1.ConflictList{}
		var err error
		all.List, err = allPages(func(token string) (*propertyv1.ConflictList, error) {
			answer, err := propertyv1.NewMappingServiceClient(s.conn).ListConflicts(s, &propertyv1.ListConflictsRequest{
				IntegrationId: c.ID, IncludeClosed: c.All, PageSize: 200, PageToken: token,
			})
			all.Total = answer.GetData().GetTotal()
			return answer.GetData(), err
		})
		return s.printAnswer(&propertyv1.ListConflictsResponse{Data: all}, err, func() {
			var rows [][]string
			for _, x := range all.GetList() {
				var cures []string
				for _, cure := range x.GetCures() {
					cures = append(cures, strings.TrimSpace(cure.GetKind()+" "+cure.GetExternalId()))
				}
				rows = append(rows, []string{x.GetId(), x.GetKind(), dash(x.GetExternalId()), x.GetDetail(), fmt.Sprint(len(x.GetReservationIds())), formatTime(x.GetOpenedAt()), formatTime(x.GetClosedAt()), dash(strings.Join(cures, ", "))})
			}
			s.printTable("No conflicts.", []string{"id", "kind", "partner's id", "what", "reservations", "since", "resolved", "cures"}, rows)
		})
	})
}
