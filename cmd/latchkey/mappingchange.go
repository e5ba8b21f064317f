package main

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// printMappingChange prints the answer to a call that changes a mapping, or returns its error err. After a dry run it prints preview, the
// stays whose doors would change. Otherwise preview is nil, and done prints the result.
func (s *session) printMappingChange(answer proto.Message, err error, preview *propertyv1.MappingPreview, done func()) error {
	if err == nil && preview != nil {
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		return s.printAnswer(answer, nil, func() {
			s.say("Nothing was changed. The doors of %s would change.", formatCount(int(preview.GetChanged()), "reservation"))
			var rows [][]string
			for _, stay := range preview.GetStays() {
				rows = append(rows, []string{
					stay.GetPmsNumber(), stay.GetState(), stay.GetFrom().AsTime().In(zone).Format("2 Jan 2006"), stay.GetTo().AsTime().In(zone).Format("2 Jan 2006"),
					spaceText(stay.GetParentSpaceBefore(), stay.GetSpaceBefore()), spaceText(stay.GetParentSpaceAfter(), stay.GetSpaceAfter()),
				})
			}
			if len(rows) > 0 {
				s.printTable("", []string{"number", "state", "from", "to", "door now", "door then"}, rows)
			}
		})
	}
	return s.printAnswer(answer, err, done)
}

// printUndo prints the command that undoes a change of a mapping. It prints nothing if changeID is "".
func (s *session) printUndo(changeID string) {
	if changeID != "" {
		s.say("To undo it: %s", s.withTypedFlags("latchkey mapping undo "+changeID))
	}
}

type mappingCreate struct {
	ID     string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	DryRun bool   `help:"Change nothing; show the spaces that would be created, and the reservations whose doors would change."`
}

// Help returns what --help adds: which spaces it leaves out, and an example.
func (mappingCreate) Help() string {
	return `Spaces whose name suggests a space of the property are left out: latchkey mapping suggest INTEGRATION --apply maps them.

Example:
  latchkey mapping create int_... --dry-run`
}

// Run creates the spaces that only the partner has, at most 500, and maps them. It leaves out those for which the server suggests a space,
// and prints how many are left. With --dry-run it only shows what would be created and change.
func (c *mappingCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewMappingServiceClient(s.conn).CreateMissingSpaces(s, &propertyv1.CreateMissingSpacesRequest{IntegrationId: c.ID, ValidateOnly: c.DryRun})
		spaces := answer.GetData().GetList()
		if err == nil && c.DryRun && len(spaces) > 0 && !r.JSON {
			var rows [][]string
			for _, m := range spaces {
				rows = append(rows, []string{m.GetType(), spaceText(m.GetParentName(), m.GetName()), dash(m.GetFloor())})
			}
			s.printTable("", []string{"type", "name", "floor"}, rows)
		}
		return s.printMappingChange(answer, err, answer.GetPreview(), func() {
			s.say("Created and mapped %s.", formatCount(len(spaces), "space"))
			if left := int(answer.GetData().GetLeft()); left > 0 {
				s.say("The partner has %s more. Run the command again.", formatCount(left, "space"))
			}
			s.printUndo(answer.GetChangeId())
		})
	})
}

type mappingChanges struct {
	ID    string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	Limit int32  `default:"20" help:"At most this many, up to 200."`
}

func (mappingChanges) Help() string {
	return `Example:
  latchkey mapping changes int_...`
}

// Run prints the latest changes of the mapping, at most --limit, also undone ones.
func (c *mappingChanges) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewMappingServiceClient(s.conn).ListMappingChanges(s, &propertyv1.ListMappingChangesRequest{IntegrationId: c.ID, PageSize: c.Limit})
		if err != nil {
			return err
		}
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		return s.printAnswer(answer, nil, func() {
			var rows [][]string
			for _, change := range answer.GetData().GetList() {
				kind := change.GetKind()
				if change.GetUndoneBy() != "" {
					kind += ", undone"
				}
				rows = append(rows, []string{change.GetId(), change.GetAt().AsTime().In(zone).Format("2 Jan 2006 15:04"), kind, change.GetAuthor(), changedText(change)})
			}
			s.printTable("The mapping was not changed yet.", []string{"id", "at", "kind", "by", "spaces"}, rows)
		})
	})
}

// changedText describes the first three spaces of a change of the mapping: what they were mapped to before and after. It ends with "..." if
// there are more.
func changedText(change *propertyv1.MappingChange) string {
	var parts []string
	for i, row := range change.GetRows() {
		if i == 3 {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, row.GetExternalId()+": "+changedRow(row.GetBefore(), row.GetAfter()))
	}
	return strings.Join(parts, ", ")
}

// changedRow describes what a change did to the mapping of one space of the partner. If the space stayed, the partner renamed its own.
func changedRow(before, after *propertyv1.MappedSpace) string {
	switch {
	case before.GetSpaceId() == "" || before.GetSpaceId() != after.GetSpaceId():
		return mappedText(before) + " → " + mappedText(after)
	case before.GetPartnerName() != after.GetPartnerName():
		return fmt.Sprintf("%s, which the PMS called %s and now calls %s", mappedText(after), dash(before.GetPartnerName()), dash(after.GetPartnerName()))
	}
	return mappedText(after) + ", unchanged"
}

// mappedText returns the name of the space that a space of the partner was mapped to, or a dash.
func mappedText(m *propertyv1.MappedSpace) string {
	return spaceText(m.GetParentSpaceName(), m.GetSpaceName())
}

type mappingUndo struct {
	Change string `arg:"" help:"The id of the change (mch_...), from latchkey mapping changes."`
	DryRun bool   `help:"Change nothing; show the reservations whose doors would change."`
}

// Help returns what --help adds: what an undo restores, when it does nothing, and examples.
func (mappingUndo) Help() string {
	return `Restores what the change changed, and nothing else. If the same spaces were changed since, nothing is undone. Examples:
  latchkey mapping undo mch_... --dry-run
  latchkey mapping undo mch_...`
}

// Run undoes a change of the mapping. It fails, and undoes nothing, if the change is undone already, one of its mappings was changed since,
// or a former space is deleted or mapped otherwise. With --dry-run it only shows the stays whose doors would change.
func (c *mappingUndo) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewMappingServiceClient(s.conn).UndoMappingChange(s, &propertyv1.UndoMappingChangeRequest{Id: c.Change, ValidateOnly: c.DryRun})
		return s.printMappingChange(answer, err, answer.GetPreview(), func() {
			s.say("Undone.")
			s.printUndo(answer.GetChangeId())
		})
	})
}

type mappingCure struct {
	Conflict   string `arg:"" help:"The id of the conflict (cfl_...), from latchkey mapping conflicts."`
	Kind       string `arg:"" enum:"map,createSpace,accept,unmap,notOurs,sameName" help:"map, createSpace, accept, unmap, notOurs or sameName."`
	Space      string `help:"With map: another space than the suggested one, by name or id."`
	PartnersID string `name:"partners-id" placeholder:"ID" help:"With sameName: the partner's new space, if several have the name."`
	DryRun     bool   `help:"Change nothing; show the reservations whose doors would change."`
}

// Help returns what --help adds: the meaning of each cure, and an example.
func (mappingCure) Help() string {
	return `map: map the partner's space to the suggested space. createSpace: create a space like that of the partner, and map it. accept: keep the mapping, with the partner's new name and type. unmap: remove the mapping. notOurs: leave the partner's space unmapped. sameName: map the partner's new space of the same name in place of the space that it no longer lists. Example:
  latchkey mapping cure cfl_... accept`
}

// Run ends a conflict between the mapping and the partner's spaces by one of its cures, the fixes that the server proposes. It fails for
// any other cure. With --dry-run it only shows the stays whose doors would change.
func (c *mappingCure) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if c.Space != "" {
			if err := s.resolve(aSpace, &c.Space); err != nil {
				return err
			}
		}
		answer, err := propertyv1.NewMappingServiceClient(s.conn).ApplyCure(s, &propertyv1.ApplyCureRequest{
			ConflictId: c.Conflict, Kind: c.Kind, SpaceId: c.Space, ExternalId: c.PartnersID, ValidateOnly: c.DryRun,
		})
		return s.printMappingChange(answer, err, answer.GetPreview(), func() {
			s.say("Done.")
			s.printUndo(answer.GetChangeId())
		})
	})
}
