package main

import (
	"context"
	"fmt"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type mappingCommands struct {
	remote `embed:""`

	List      mappingList      `cmd:"" help:"List the partner's rooms and beds, what they are mapped to, and suggestions."`
	Suggest   mappingSuggest   `cmd:"" help:"Show suggestions by name, or apply them all."`
	Set       mappingSet       `cmd:"" help:"Map one partner's space to one of ours."`
	Unset     mappingUnset     `cmd:"" help:"Remove the mapping of one partner's space."`
	Conflicts mappingConflicts `cmd:"" help:"List where the mapping and the partner's listing contradict each other."`
}

type mappingList struct {
	ID       string `arg:"" name:"integration" help:"int_..."`
	Unmapped bool   `help:"Only those that are not mapped."`
}

func (c *mappingList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		list, err := s.partnerSpaces(c.ID, c.Unmapped)
		if err != nil {
			return err
		}
		return s.answer(&propertyv1.ListPartnerSpacesResponse{Data: list}, func() {
			var rows [][]string
			for _, p := range list.GetList() {
				rows = append(rows, []string{p.GetExternalId(), p.GetType(), p.GetName(), p.GetState(), dash(p.GetSpaceName()), dash(p.GetSpaceId()), suggestionOf(p)})
			}
			s.table("Nothing to show. Has getSpaces been read? latchkey integration read-spaces "+c.ID,
				[]string{"partner's id", "type", "name", "state", "our name", "our id", "suggestion"}, rows)
		})
	})
}

func suggestionOf(p *propertyv1.PartnerSpace) string {
	if p.GetSuggestedSpaceId() == "" {
		return "-"
	}
	return fmt.Sprintf("%s (%s, %s)", p.GetSuggestedSpaceName(), p.GetSuggestedSpaceId(), p.GetConfidence())
}

func (s *session) partnerSpaces(integration string, unmapped bool) (*propertyv1.PartnerSpaceList, error) {
	all := &propertyv1.PartnerSpaceList{}
	for token := ""; ; {
		answer, err := propertyv1.NewMappingServiceClient(s.conn).ListPartnerSpaces(s, &propertyv1.ListPartnerSpacesRequest{
			IntegrationId: integration, UnmappedOnly: unmapped, PageSize: 200, PageToken: token,
		})
		if err != nil {
			return nil, err
		}
		all.List, all.Total = append(all.List, answer.GetData().GetList()...), answer.GetData().GetTotal()
		if token = answer.GetData().GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

type mappingSuggest struct {
	ID    string `arg:"" name:"integration" help:"int_..."`
	Apply bool   `help:"Map what is suggested."`
	Exact bool   `help:"With --apply: only where the names are the same but for case, punctuation and leading zeros."`
}

func (mappingSuggest) Help() string {
	return `Examples:
  latchkey mapping suggest int_...
  latchkey mapping suggest int_... --apply

Where two of ours could be meant, nothing is suggested: map it with latchkey mapping set.`
}

func (c *mappingSuggest) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if c.Apply {
			return c.apply(s)
		}
		list, err := s.partnerSpaces(c.ID, true)
		if err != nil {
			return err
		}
		none, err := s.unread(c.ID, "Everything that the partner lists is mapped.")
		if err != nil {
			return err
		}
		return s.answer(&propertyv1.ListPartnerSpacesResponse{Data: list}, func() {
			var rows [][]string
			for _, p := range list.GetList() {
				rows = append(rows, []string{p.GetExternalId(), p.GetType(), p.GetName(), suggestionOf(p)})
			}
			s.table(none, []string{"partner's id", "type", "name", "suggestion"}, rows)
			if len(rows) > 0 {
				s.next("latchkey mapping suggest "+c.ID+" --apply", "latchkey mapping set "+c.ID+" PARTNERS-ID SPACE    for the rest")
			}
		})
	})
}

// unread says that nothing is known of the partner's spaces, where that is so; else what is given.
func (s *session) unread(integration, otherwise string) (string, error) {
	answer, err := propertyv1.NewIntegrationServiceClient(s.conn).GetIntegration(s, &propertyv1.GetIntegrationRequest{Id: integration})
	if err != nil {
		return "", err
	}
	if answer.GetData().GetSpacesReadAt() != nil {
		return otherwise, nil
	}
	return "The partner's spaces were never read, so that there is nothing to map: latchkey integration read-spaces " + integration, nil
}

func (c *mappingSuggest) apply(s *session) error {
	answer, err := propertyv1.NewMappingServiceClient(s.conn).ApplySuggestions(s, &propertyv1.ApplySuggestionsRequest{IntegrationId: c.ID, ExactOnly: c.Exact})
	if err != nil {
		return err
	}
	none, err := s.unread(c.ID, "")
	if err != nil {
		return err
	}
	return s.answer(answer, func() {
		if none != "" {
			s.say("%s", s.again(none))
			return
		}
		s.say("Mapped %d.", answer.GetData().GetTotal())
		s.next("latchkey mapping list " + c.ID + " --unmapped    shows what is left")
	})
}

type mappingSet struct {
	ID       string `arg:"" name:"integration" help:"int_..."`
	External string `arg:"" name:"partners-id" help:"The partner's id of its space."`
	Space    string `arg:"" help:"Ours: spc_..."`
}

func (c *mappingSet) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewMappingServiceClient(s.conn).SetMapping(s, &propertyv1.SetMappingRequest{IntegrationId: c.ID, ExternalId: c.External, SpaceId: c.Space})
		if err != nil {
			return err
		}
		return s.answer(answer, func() { s.say("Mapped %s to %s.", c.External, c.Space) })
	})
}

type mappingUnset struct {
	ID       string `arg:"" name:"integration" help:"int_..."`
	External string `arg:"" name:"partners-id" help:"The partner's id of its space."`
}

func (mappingUnset) Help() string {
	return `Stays in that partner's space lose the door at once.`
}

func (c *mappingUnset) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewMappingServiceClient(s.conn).UnsetMapping(s, &propertyv1.UnsetMappingRequest{IntegrationId: c.ID, ExternalId: c.External})
		if err != nil {
			return err
		}
		return s.answer(answer, func() { s.say("%s is not mapped any more.", c.External) })
	})
}

type mappingConflicts struct {
	ID  string `arg:"" optional:"" name:"integration" help:"Only those of this integration: int_..."`
	All bool   `help:"Those that are healed, too."`
}

func (c *mappingConflicts) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		all := &propertyv1.ConflictList{}
		for token := ""; ; {
			answer, err := propertyv1.NewMappingServiceClient(s.conn).ListConflicts(s, &propertyv1.ListConflictsRequest{
				IntegrationId: c.ID, IncludeClosed: c.All, PageSize: 200, PageToken: token,
			})
			if err != nil {
				return err
			}
			all.List, all.Total = append(all.List, answer.GetData().GetList()...), answer.GetData().GetTotal()
			if token = answer.GetData().GetNextPageToken(); token == "" {
				break
			}
		}
		return s.answer(&propertyv1.ListConflictsResponse{Data: all}, func() {
			var rows [][]string
			for _, x := range all.GetList() {
				rows = append(rows, []string{x.GetKind(), dash(x.GetExternalId()), x.GetDetail(), fmt.Sprint(len(x.GetReservationIds())), when(x.GetOpenedAt()), when(x.GetClosedAt())})
			}
			s.table("No conflict.", []string{"kind", "partner's id", "what", "reservations", "since", "healed"}, rows)
		})
	})
}
