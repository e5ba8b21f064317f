package partner

import (
	"context"
	"slices"
	"strings"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// UpsertReservation stores one change. It validates by itself: what is required depends on what is held.
func (s *Service) UpsertReservation(ctx context.Context, req *partnerv1.UpsertReservationRequest) (*partnerv1.UpsertReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	sent := req.GetReservation()
	if sent == nil {
		sent = &partnerv1.Reservation{}
	}
	patch, wrong := patchOf(sent, req.GetUpdateMask())
	at := ""
	if r := body.From(ctx); r != nil && r.Field == "" {
		at = "reservation" // a Connect client's JSON is the whole request
	}
	more, err := chain.Violations(ctx, sent, at)
	if err != nil {
		return nil, err
	}
	wrong = append(within(more, at), wrong...)
	wrong = append(wrong, wrapped(body.From(ctx), at)...)
	if len(wrong) > 0 {
		return nil, s.refusal(ctx, a, patch, wrong)
	}
	return idem.Write(ctx, s.Memory, func(tx *db.Tx) (*partnerv1.UpsertReservationResponse, error) {
		out, err := s.upsert(tx, a, patch)
		return &partnerv1.UpsertReservationResponse{Data: out}, err
	})
}

// wrapped names the unknown fields of a body that holds no field of a reservation, which is most often a reservation within
// another object. Otherwise unknown fields are ignored.
func wrapped(r *body.Report, at string) []fault.Field {
	if len(r.Mask("")) > 0 || at != "" {
		return nil
	}
	var wrong []fault.Field
	for _, f := range r.Unknown() {
		if f.Path == "reservation" || f.Path == "data" {
			f.Message = "unknown field: send the reservation itself as the body, not within another object"
		}
		wrong = append(wrong, f)
	}
	return wrong
}

// refusal completes the list of wrong fields with those that only the held reservation shows, without a transaction.
func (s *Service) refusal(ctx context.Context, a actor.Actor, p reservation.Patch, wrong []fault.Field) error {
	_, err := s.keeper().Upsert(s.DB.View(ctx), own(a), p, wrong)
	return err
}

func (s *Service) upsert(tx *db.Tx, a actor.Actor, p reservation.Patch) (*partnerv1.Reservation, error) {
	out, err := s.keeper().Upsert(tx, own(a), p, nil)
	if err != nil {
		return nil, err
	}
	if slices.Contains(out.Plan.Reasons, fault.SpaceUnknown) && out.Row.SpaceKey != "" && s.ReadSpaces != nil {
		if err := s.ReadSpaces(tx, a.PropertyID, a.IntegrationID); err != nil {
			return nil, err
		}
	}
	return stored(out)
}

// GetReservation reads one by our id.
func (s *Service) GetReservation(ctx context.Context, req *partnerv1.GetReservationRequest) (*partnerv1.GetReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	row, err := reservation.Get(tx, readable(a), req.GetId())
	if err != nil {
		return nil, err
	}
	out, err := s.extended(tx, a, row, req.GetExtend())
	return &partnerv1.GetReservationResponse{Data: out}, err
}

// FindReservation reads one by the PMS's id.
func (s *Service) FindReservation(ctx context.Context, req *partnerv1.FindReservationRequest) (*partnerv1.FindReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	scope, ids, err := s.among(tx, a, req.GetIntegrationId())
	if err != nil {
		return nil, err
	}
	row, err := reservation.Find(tx, scope, ids, req.GetPmsId())
	if err != nil {
		return nil, err
	}
	out, err := s.extended(tx, a, row, req.GetExtend())
	return &partnerv1.FindReservationResponse{Data: out}, err
}

// among says in which integrations a caller looks for a PMS's id. Naming another's is as naming none that exists.
func (s *Service) among(tx *db.Tx, a actor.Actor, integrationID string) (reservation.Scope, []string, error) {
	scope := readable(a)
	if scope.IntegrationID != "" {
		if integrationID != "" && integrationID != scope.IntegrationID {
			return scope, nil, fault.New(fault.NotFound, fault.ReservationNotFound, "no such reservation at this property")
		}
		return scope, nil, nil
	}
	if integrationID != "" {
		scope.IntegrationID = integrationID
		return scope, nil, nil
	}
	ids, err := integrationsOf(tx, a.PropertyID)
	return scope, ids, err
}

// mostExtended bounds a page of reservations with their access: each is planned.
const mostExtended = 50

// ListReservations pages through what the caller may read, by its last change or by that of its access.
func (s *Service) ListReservations(ctx context.Context, req *partnerv1.ListReservationsRequest) (*partnerv1.ListReservationsResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	q := reservation.Query{Size: size(req.GetPageSize()), Token: req.GetPageToken(), State: access.State(req.GetState())}
	extended := len(req.GetExtend()) > 0
	if extended {
		q.Size = min(q.Size, mostExtended)
	}
	list := reservation.List
	switch since, accessSince := req.GetUpdatedSince(), req.GetAccessUpdatedSince(); {
	case since != nil && accessSince != nil:
		return nil, fault.Fields(fault.Field{Path: "accessUpdatedSince", Reason: fault.Conflicting, Message: "cannot be sent together with updatedSince: follow the two lists apart"})
	case since != nil:
		q.Since = since.AsTime()
	case accessSince != nil:
		q.Since, list = accessSince.AsTime(), reservation.ListByAccess
	}
	rows, next, err := list(tx, readable(a), q)
	if err != nil {
		return nil, err
	}
	house, err := tx.Property.Get(ctx, a.PropertyID)
	if err != nil {
		return nil, err
	}
	out := &partnerv1.ReservationList{NextPageToken: next}
	for _, row := range rows {
		booker, err := s.keeper().Booker(ctx, row)
		if err != nil {
			return nil, err
		}
		one, err := answer(row, booker, house)
		if err != nil {
			return nil, err
		}
		if extended {
			if one.Access, err = s.accessOf(tx, row, house); err != nil {
				return nil, err
			}
		}
		out.List = append(out.List, one)
	}
	return &partnerv1.ListReservationsResponse{Data: out}, nil
}

// ResetKeyChain draws codes anew.
func (s *Service) ResetKeyChain(ctx context.Context, req *partnerv1.ResetKeyChainRequest) (*partnerv1.ResetKeyChainResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	var parts []access.Part
	for word := range strings.SplitSeq(req.GetReset_(), ",") {
		for _, p := range access.Parts {
			if strings.EqualFold(word, string(p)) && !slices.Contains(parts, p) {
				parts = append(parts, p)
			}
		}
	}
	return idem.Write(ctx, s.Memory, func(tx *db.Tx) (*partnerv1.ResetKeyChainResponse, error) {
		row, err := reservation.Find(tx, own(a), nil, req.GetPmsId())
		if err != nil {
			return nil, err
		}
		failed, err := access.Reset(access.Settler{Tx: tx, Keys: s.Keys}, a.PropertyID, row.ID, parts)
		if err != nil {
			return nil, err
		}
		out, err := s.extended(tx, a, row, resetExtends(a))
		reset := &partnerv1.KeyChainReset{Reservation: out}
		for _, p := range failed {
			reset.Failures = append(reset.Failures, string(p))
		}
		return &partnerv1.ResetKeyChainResponse{Data: reset}, err
	})
}

// resetExtends is what the answer to a reset shows: the codes to whom may read them.
func resetExtends(a actor.Actor) []string {
	if a.Has(actor.PINsRead) {
		return []string{"pin", "gatePins", "access"}
	}
	return []string{"access"}
}

// BatchUpsertReservations stores changes one by one; each succeeds or fails alone.
func (s *Service) BatchUpsertReservations(ctx context.Context, req *partnerv1.BatchUpsertReservationsRequest) (*partnerv1.BatchUpsertReservationsResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return s.batch(ctx, a, req, body.From(ctx))
}
