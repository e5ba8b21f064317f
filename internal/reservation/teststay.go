package reservation

import (
	"fmt"
	"strings"
	"time"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// testPrefix begins the PMS's ids of test stays. They belong to the built-in integration, so no PMS has such a reservation.
const testPrefix = "test-arrival-"

// testLasts is the planned duration of a test stay. Its code ends like that of other stays: with the property's late check-out, or later if
// staff extend the access.
const testLasts = 24 * time.Hour

// ErrNoTestStay is the error for a property without a test stay.
var ErrNoTestStay = fault.New(fault.NotFound, fault.ReservationNotFound, "no test stay is open at this property; start one")

// FindTest returns the test stay of a property that staff have not ended, or [ErrNoTestStay]. s names the built-in integration.
func (svc Service) FindTest(view *db.Tx, s Scope) (*ent.Reservation, error) {
	row, err := view.Reservation.Query().Where(entreservation.PropertyID(s.PropertyID), entreservation.IntegrationID(s.IntegrationID),
		entreservation.PmsIDHasPrefix(testPrefix), entreservation.StateIn(string(access.Confirmed), string(access.Started))).
		Order(ent.Desc(entreservation.FieldID)).First(view.Context())
	if ent.IsNotFound(err) {
		return nil, ErrNoTestStay
	}
	if err != nil {
		return nil, fmt.Errorf("find the test stay of a property: %w", err)
	}
	return row, nil
}

// StartTest books a test stay in a room or bed, from now until testLasts later, and ends an earlier test stay. spaceID is a Latchkey space;
// an unknown one is a not-found fault. The state is confirmed: [Service.SetTestState] checks the guest in.
func (svc Service) StartTest(tx *db.Tx, s Scope, spaceID string) (Stored, error) {
	if _, err := svc.SetTestState(tx, s, access.Processed); err != nil && !fault.Has(err, fault.ReservationNotFound) {
		return Stored{}, err
	}
	pmsID, now := testPrefix+id.New(id.Request), tx.Now()
	return svc.Upsert(tx, s, Patch{
		PMSID: pmsID, Number: "TEST-" + strings.ToUpper(pmsID[len(pmsID)-4:]), FirstName: "Test", LastName: "Guest", State: string(access.Confirmed), Adults: 1,
		From: now.Format(time.RFC3339), To: now.Add(testLasts).Format(time.RFC3339), OwnSpaceID: spaceID,
	}, nil)
}

// SetTestState changes the state of the test stay as a PMS does: Started checks the guest in, Processed ends the stay. It returns
// [ErrNoTestStay] if there is none.
func (svc Service) SetTestState(tx *db.Tx, s Scope, state access.State) (Stored, error) {
	row, err := svc.FindTest(tx, s)
	if err != nil {
		return Stored{}, err
	}
	return svc.Upsert(tx, s, Patch{PMSID: row.PmsID, State: string(state)}, nil)
}
