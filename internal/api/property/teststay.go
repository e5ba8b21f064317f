package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// testStays implements TestStayService: staff try a whole stay with a reservation that no PMS sent.
type testStays struct {
	propertyv1.UnimplementedTestStayServiceServer
	Deps
}

func (s *testStays) stays() reservation.Service {
	return reservation.Service{Keys: s.Keys, Keep: s.KeepStays}
}

// GetTestStay returns the test stay that staff have started and not ended, even if its time is over. It fails if there is none.
func (s *testStays) GetTestStay(ctx context.Context, _ *propertyv1.GetTestStayRequest) (*propertyv1.GetTestStayResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	own, err := partner.OwnIntegration(view, propertyID)
	if fault.Has(err, fault.IntegrationNotFound) {
		return nil, reservation.ErrNoTestStay
	}
	if err != nil {
		return nil, err
	}
	row, err := s.stays().FindTest(view, scopeOf(own))
	if err != nil {
		return nil, err
	}
	m, err := s.message(view, row)
	return &propertyv1.GetTestStayResponse{Data: m}, err
}

// StartTestStay books a test stay from now on for a day in the space of the request, and ends an earlier one. It creates the property's
// built-in integration if there is none. The stay is not checked in: see CheckInTestStay. Only this answer has the guest's link.
func (s *testStays) StartTestStay(ctx context.Context, r *propertyv1.StartTestStayRequest) (*propertyv1.StartTestStayResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.StartTestStayResponse, error) {
		own, err := partner.CreateOwnIntegration(tx, propertyID)
		if err != nil {
			return nil, err
		}
		stored, err := s.stays().StartTest(tx, scopeOf(own), r.GetSpaceId())
		if err != nil {
			return nil, err
		}
		link := guest.MailedLink{Stay: stored.Row, Secret: keyring.NewToken(keyring.GuestLink)}
		if err := link.Store(tx, s.Keys); err != nil {
			return nil, err
		}
		m, err := s.message(tx, stored.Row)
		return &propertyv1.StartTestStayResponse{Data: m, Link: link.Secret}, err
	})
}

// CheckInTestStay sets the test stay to started, as a PMS does at check-in, so that its codes open doors. It fails if there is none.
func (s *testStays) CheckInTestStay(ctx context.Context, _ *propertyv1.CheckInTestStayRequest) (*propertyv1.CheckInTestStayResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CheckInTestStayResponse, error) {
		m, err := s.setState(tx, propertyID, access.Started)
		return &propertyv1.CheckInTestStayResponse{Data: m}, err
	})
}

// EndTestStay ends the test stay and its access, as a PMS does at check-out. It fails if there is none.
func (s *testStays) EndTestStay(ctx context.Context, _ *propertyv1.EndTestStayRequest) (*propertyv1.EndTestStayResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.EndTestStayResponse, error) {
		m, err := s.setState(tx, propertyID, access.Processed)
		return &propertyv1.EndTestStayResponse{Data: m}, err
	})
}

// setState sets the state of the test stay, as a PMS does, and so recomputes its access. It fails if there is none.
func (s *testStays) setState(tx *db.Tx, propertyID string, state access.State) (*propertyv1.TestStay, error) {
	own, err := partner.OwnIntegration(tx, propertyID)
	if fault.Has(err, fault.IntegrationNotFound) {
		return nil, reservation.ErrNoTestStay
	}
	if err != nil {
		return nil, err
	}
	stored, err := s.stays().SetTestState(tx, scopeOf(own), state)
	if err != nil {
		return nil, err
	}
	return s.message(tx, stored.Row)
}

// scopeOf returns the scope of all reservations of an integration.
func scopeOf(row *partner.IntegrationRow) reservation.Scope {
	return reservation.Scope{PropertyID: row.PropertyID, IntegrationID: row.ID}
}

// message converts a test stay. Only while the guest is checked in, it has the doors, with the evidence of their PINs and not the PINs.
func (s *testStays) message(view *db.Tx, row *reservation.Row) (*propertyv1.TestStay, error) {
	in, err := property.Get(view, row.PropertyID)
	if err != nil {
		return nil, err
	}
	plan, place, err := s.stays().PlanPlace(view, row, in)
	if err != nil {
		return nil, err
	}
	m := &propertyv1.TestStay{ReservationId: row.ID, Number: row.PmsNumber, State: row.State, EndsAt: timestamppb.New(row.ToAt)}
	if place.Space != nil {
		m.SpaceName, m.ParentSpaceName = place.Space.Name, place.ParentName()
	}
	if row.State != string(access.Started) {
		return m, nil
	}
	for _, d := range plan.Doors {
		m.Doors = append(m.Doors, &propertyv1.TestDoor{Name: d.Name, ParentName: d.Parent, Pin: string(d.PIN), Reason: string(d.Reason)})
	}
	return m, nil
}
