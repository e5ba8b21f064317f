package partner

import (
	"context"
	"slices"
	"strings"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// HandlerFields returns the request fields that handlers validate themselves, by full method name: see [chain.Config.HandlerFields].
func HandlerFields() map[string]chain.HandlerField {
	return map[string]chain.HandlerField{
		partnerv1.ReservationService_UpsertReservation_FullMethodName:       chain.NewHandlerField("reservation", (*Service).upsertReservation),
		partnerv1.ReservationService_BatchUpsertReservations_FullMethodName: chain.NewHandlerField("reservations", (*Service).batch),
	}
}

// UpsertReservation is upsertReservation for a request that was not read from JSON. The chain calls upsertReservation: see HandlerFields.
func (s *Service) UpsertReservation(ctx context.Context, req *partnerv1.UpsertReservationRequest) (*partnerv1.UpsertReservationResponse, error) {
	return s.upsertReservation(ctx, req, nil)
}

// upsertReservation creates or changes one reservation. It validates the request itself, because the required fields depend on the stored
// reservation. A patch that is older than the stored reservation changes nothing and is no error: the answer is marked as stale. The
// report is nil for a protobuf request.
func (s *Service) upsertReservation(ctx context.Context, req *partnerv1.UpsertReservationRequest, report *jsonpb.Report) (*partnerv1.UpsertReservationResponse, error) {
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
	if report != nil && report.Field == "" {
		at = "reservation" // Connect's JSON body is the whole request, so paths begin with the field's name; REST's body is the reservation
	}
	more, err := chain.Violations(s.Validator, report, sent, at)
	if err != nil {
		return nil, err
	}
	wrong = append(relativePaths(more, at), wrong...)
	wrong = append(wrong, unknownFields(report, at)...)
	if len(wrong) > 0 {
		return nil, s.collectErrors(ctx, a, patch, wrong)
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.UpsertReservationResponse, error) {
		out, err := s.upsert(tx, a, patch)
		return &partnerv1.UpsertReservationResponse{Data: out}, err
	})
}

// unknownFields returns an error for each unknown field of a body that has no known field. Such a body usually wraps the reservation in
// another object. In other bodies unknown fields are ignored. at is the path of the reservation in the body; unless it is "", there are no
// errors.
func unknownFields(r *jsonpb.Report, at string) []fault.Field {
	if len(r.Mask("")) > 0 || at != "" {
		return nil
	}
	var wrong []fault.Field
	for _, f := range r.Unknown() {
		if f.Path == "reservation" || f.Path == "data" {
			f.Message = "unknown field: send the reservation itself as the body, not wrapped in another object"
		}
		wrong = append(wrong, f)
	}
	return wrong
}

// collectErrors adds to wrong, which is not empty, the errors of a patch's fields that depend on the stored reservation, and returns all as
// one error. It stores nothing.
func (s *Service) collectErrors(ctx context.Context, a actor.Actor, p reservation.Patch, wrong []fault.Field) error {
	_, err := s.reservations().Upsert(s.DB.View(ctx), writeScope(a), p, wrong)
	return err
}

// upsert stores a patch and returns the message of the reservation. If the patch names an unknown space, it enqueues a call of the PMS's
// getSpaces. For a reservation that was deleted after its retention period, it stores nothing: see lateMessage.
func (s *Service) upsert(tx *db.Tx, a actor.Actor, p reservation.Patch) (*partnerv1.Reservation, error) {
	out, err := s.reservations().Upsert(tx, writeScope(a), p, nil)
	if err != nil {
		return nil, err
	}
	if out.Row == nil {
		return lateMessage(p, out.Property.PropertyID), nil
	}
	if slices.Contains(out.Plan.Reasons, space.SpaceUnknown) && out.Row.SpaceKey != "" && s.ReadSpaces != nil {
		if err := s.ReadSpaces(tx, a.PropertyID, a.IntegrationID); err != nil {
			return nil, err
		}
	}
	return storedMessage(out)
}

// GetReservation returns a reservation with the data that the parameter extend names. Reading guests is recorded: see answer.
func (s *Service) GetReservation(ctx context.Context, req *partnerv1.GetReservationRequest) (*partnerv1.GetReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	row, err := reservation.Get(tx, readScope(a), req.GetId())
	if err != nil {
		return nil, err
	}
	out, err := s.answer(ctx, tx, a, row, req.GetExtend())
	return &partnerv1.GetReservationResponse{Data: out}, err
}

// FindReservation is GetReservation for a reservation id of the PMS. It fails if several integrations have the id and the request names
// none.
func (s *Service) FindReservation(ctx context.Context, req *partnerv1.FindReservationRequest) (*partnerv1.FindReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	scope, ids, err := s.findScope(tx, a, req.GetIntegrationId())
	if err != nil {
		return nil, err
	}
	row, err := reservation.Find(tx, scope, ids, req.GetPmsId())
	if err != nil {
		return nil, err
	}
	out, err := s.answer(ctx, tx, a, row, req.GetExtend())
	return &partnerv1.FindReservationResponse{Data: out}, err
}

// findScope returns where the caller can search for a PMS's reservation id: a scope, and the ids of the integrations to search if the scope
// names none. Naming the integration of another partner gives the same answer as naming an unknown reservation id. The integration that a
// property's own script names is not checked.
func (s *Service) findScope(tx *db.Tx, a actor.Actor, integrationID string) (reservation.Scope, []string, error) {
	scope := readScope(a)
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
	all, err := partner.Integrations(tx, a.PropertyID)
	ids := make([]string, len(all))
	for i, in := range all {
		ids[i] = in.ID
	}
	return scope, ids, err
}

// maxExtendedPage is the page size limit for pages with access plans, because computing a plan is slow.
const maxExtendedPage = 50

// ListReservations pages through the reservations that the caller is allowed to read, ordered by the last change of the reservation or,
// with accessUpdatedSince, of its access, the oldest change first. It includes changes at the given time. It has at most 50 reservations
// unless the request sets a page size. extend can only be "access"; a page is then limited to maxExtendedPage. A page can be short although
// there is a next one.
func (s *Service) ListReservations(ctx context.Context, req *partnerv1.ListReservationsRequest) (*partnerv1.ListReservationsResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	q := reservation.Query{Size: pageSize(req.GetPageSize()), Token: req.GetPageToken(), State: access.State(req.GetState())}
	extended := len(req.GetExtend()) > 0
	if extended {
		q.Size = min(q.Size, maxExtendedPage)
	}
	list := reservation.List
	switch since, accessSince := req.GetUpdatedSince(), req.GetAccessUpdatedSince(); {
	case since != nil && accessSince != nil:
		return nil, fault.Fields(fault.Field{Path: "accessUpdatedSince", Reason: fault.Conflicting, Message: "cannot be sent together with updatedSince: use two separate lists"})
	case since != nil:
		q.Since = since.AsTime()
	case accessSince != nil:
		q.Since, list = accessSince.AsTime(), reservation.ListByAccessEvent
	}
	rows, next, err := list(tx, readScope(a), q)
	if err != nil {
		return nil, err
	}
	property, err := property.Get(tx, a.PropertyID)
	if err != nil {
		return nil, err
	}
	out := &partnerv1.ReservationList{NextPageToken: next}
	for _, row := range rows {
		booker, err := s.reservations().Booker(ctx, row)
		if err != nil {
			return nil, err
		}
		one, err := reservationMessage(row, booker, property.TimeZone)
		if err != nil {
			return nil, err
		}
		if extended {
			if one.Access, err = s.accessOf(tx, row, property); err != nil {
				return nil, err
			}
		}
		out.List = append(out.List, one)
	}
	return &partnerv1.ListReservationsResponse{Data: out}, nil
}

// ResetKeyChain replaces the parts of a reservation's access that the request names: its PIN, its gate PINs, its SmartKeys. The PMS's id
// names the reservation, which must be of the caller's integration. The answer names the parts that could not be replaced, and has the new
// PINs if the caller has the scope pins:read.
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
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.ResetKeyChainResponse, error) {
		row, err := reservation.Find(tx, writeScope(a), nil, req.GetPmsId())
		if err != nil {
			return nil, err
		}
		failed, err := access.Reset(access.Reconciler{Tx: tx, Keys: s.Keys}, a.PropertyID, row.ID, parts)
		if err != nil {
			return nil, err
		}
		out, err := s.extendedMessage(tx, a, row, resetExtend(a))
		reset := &partnerv1.KeyChainReset{Reservation: out}
		for _, p := range failed {
			reset.Failures = append(reset.Failures, string(p))
		}
		return &partnerv1.ResetKeyChainResponse{Data: reset}, err
	})
}

// resetExtend returns the optional data (values of the parameter extend) that ResetKeyChain adds to its answer. They include the new PINs
// only if the caller has the scope to read PINs.
func resetExtend(a actor.Actor) []string {
	if a.Has(actor.PINsRead) {
		return []string{"pin", "gatePins", "access"}
	}
	return []string{"access"}
}

// BatchUpsertReservations is batch for a request that was not read from JSON. The chain calls batch: see HandlerFields.
func (s *Service) BatchUpsertReservations(ctx context.Context, req *partnerv1.BatchUpsertReservationsRequest) (*partnerv1.BatchUpsertReservationsResponse, error) {
	return s.batch(ctx, req, nil)
}
