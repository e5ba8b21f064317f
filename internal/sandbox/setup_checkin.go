package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The demo property.
const (
	demoProperty = "Hostel Miramar"
	demoZone     = "Europe/Lisbon"
	demoKiosk    = "Lobby"
)

// DemoGroups are the groups of guests' data that the demo property marks mandatory: its PMS needs to know who stays, and how to reach them.
var DemoGroups = []string{"identity", "contact"}

const houseRules = "Quiet from 22:00 to 7:00. No smoking inside. Check-out is until 11:00."

// setUpCheckIn sets the rules of self check-in, switches invitations on, and creates a kiosk, a link for staff and the first bookings.
// mandatory has the groups of data that guests must give.
func (w *World) setUpCheckIn(ctx context.Context, mandatory []string) error {
	staff := w.Staff(ctx)
	rule, rules, phone, email, accent := "none", houseRules, "+351 21 000 0000", "desk@miramar.example", "#0b5d66"
	address, directions := "Rua do Mar 7, 1100-001 Lisbon", "From the station, follow the tram for two stops. The blue door is ours."
	settings := &propertyv1.CheckInSettingsChange{
		Rule: &rule, HouseRules: &rules, DeskPhone: &phone, StaffEmail: &email, Accent: &accent, Address: &address, Directions: &directions,
		MandatoryGroups: &propertyv1.MandatoryGroups{List: mandatory},
	}
	if _, err := propertyv1.NewCheckInServiceClient(w.public).UpdateCheckInSettings(staff, &propertyv1.UpdateCheckInSettingsRequest{Settings: settings}); err != nil {
		return fmt.Errorf("set the rules of check-in: %w", err)
	}
	on := &propertyv1.SetInvitationsRequest{IntegrationId: w.IntegrationID, Enabled: true}
	if _, err := propertyv1.NewMailServiceClient(w.public).SetInvitations(staff, on); err != nil {
		return fmt.Errorf("switch invitations on: %w", err)
	}
	k, err := propertyv1.NewKioskServiceClient(w.public).CreateKiosk(staff, &propertyv1.CreateKioskRequest{Name: demoKiosk})
	if err != nil {
		return fmt.Errorf("create a kiosk: %w", err)
	}
	w.setKiosk(k.GetData(), k.GetCode())
	if _, err := w.NewStaffLink(ctx); err != nil {
		return err
	}
	return w.createFirstBookings(ctx)
}

// firstNumber is the booking number of the first reservation that a person can play with. Those of the demo are lower.
const firstNumber = 2001

// createFirstBookings creates reservations to play with: two that begin today, and one that begins in three days.
func (w *World) createFirstBookings(ctx context.Context) error {
	now := time.Now()
	for i, b := range []struct {
		first, last string
		more        map[string]any
	}{
		{"Ngozi", "Okafor", map[string]any{"roomId": "D4", "bedId": "D4-C"}},
		{"Ana", "Silva", map[string]any{"roomId": "D4", "bedId": "D4-D", "owing": demoOwing, "owingCurrency": "EUR"}},
		{"João", "Costa", map[string]any{"roomId": "R102", "fromDate": dateAt(now, 3), "toDate": dateAt(now, 5)}},
	} {
		number := fmt.Sprint(firstNumber + i)
		fields := newBooking(number, b.last, 2, b.more)
		fields["booker"] = map[string]any{"firstName": b.first, "lastName": b.last, "email": mailAddress(b.last)}
		a, err := w.PMS.Push(ctx, "B-"+number, fields)
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return fmt.Errorf("create the reservation %s: the service answered %d: %v", number, a.Status, a.Body["error"])
		}
	}
	return nil
}
