package bench

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"time"

	"google.golang.org/grpc/metadata"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// staffForms is the maximum number of guests in house who filled in the form of the guest register.
const staffForms = 200

// fillRegister sets the register's rule to that of Spain, and makes up to staffForms guests fill in their form, as after a search by the QR
// code at the door. Their stays remain confirmed: the caller starts them.
func (w *staffWorld) fillRegister(ctx context.Context, rooms int) error {
	rule := "ES"
	settings := &propertyv1.UpdateCheckInSettingsRequest{Settings: &propertyv1.CheckInSettingsChange{Rule: &rule}}
	if _, err := propertyv1.NewCheckInServiceClient(w.conn).UpdateCheckInSettings(w.Staff(ctx), settings); err != nil {
		return fmt.Errorf("set the rule of the register: %w", err)
	}
	door := path.Base(w.DoorAddress())
	links, stays, forms := guestv1.NewLinkServiceClient(w.conn), guestv1.NewStayServiceClient(w.conn), guestv1.NewFormServiceClient(w.conn)
	return inParallel(ctx, min(staffForms, rooms/staffNights), func(ctx context.Context, n int) error {
		number := n*staffNights + 1 // it starts before today: see stayFields
		fields := stayFields(number, rooms)
		fields["state"] = "confirmed"
		if _, err := w.push(ctx, fields); err != nil {
			return err
		}
		found, err := links.FindStay(ctx, &guestv1.FindStayRequest{Door: door, Number: fmt.Sprintf("S%d", number), FamilyName: fmt.Sprintf("Hopper %d", number)})
		if err != nil {
			return fmt.Errorf("find a stay: %w", err)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+found.GetData().GetSession().GetToken())
		stay, err := stays.GetStay(ctx, &guestv1.GetStayRequest{})
		if err != nil {
			return fmt.Errorf("read a stay: %w", err)
		}
		_, err = forms.SaveStep(ctx, &guestv1.SaveStepRequest{
			GuestId: stay.GetData().GetGuests()[0].GetId(), Step: "name", Answers: map[string]string{"firstName": "Grace", "lastName": fmt.Sprintf("Hopper %d", number)},
		})
		if err != nil {
			return fmt.Errorf("save the answers of a guest: %w", err)
		}
		return nil
	})
}

// registerPage returns the page with the guest register of the guests who arrived in the last days. It is a form that is posted.
func registerPage() *staffPage {
	today := time.Now()
	first, last := today.AddDate(0, 0, -staffNights).Format(time.DateOnly), today.Format(time.DateOnly)
	return &staffPage{pattern: "POST /app/register", path: "/app/register", form: url.Values{"firstArrivalOn": {first}, "lastArrivalOn": {last}, "reason": {"benchmark"}}}
}
