package convert

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
)

// export collects the copy of one guest's data.
type export struct {
	view *db.Tx
	keys *keyring.Ring
	p    *guest.Party
	a    actor.Actor // session of the guest, or for staff the actor that guest.AsGuest returned
	out  *guestv1.DataExport

	ownPhones map[string]bool // ids of the phones in the copy
}

// exportPage is how many entries of a list the export reads at once.
const exportPage = 200

// Export returns the copy of the data that a property holds of a guest. a is the guest's session, or for staff the actor that guest.AsGuest
// returned. It refuses a session whose origin is not guest.OriginMail, such as one at a kiosk. The copy of a companion (an accompanying
// guest) leaves out what belongs to the main guest.
func Export(view *db.Tx, keys *keyring.Ring, p *guest.Party, a actor.Actor) (*guestv1.DataExport, error) {
	if err := guest.CheckExport(a); err != nil {
		return nil, err
	}
	x := &export{view: view, keys: keys, p: p, a: a, out: &guestv1.DataExport{MadeAt: timestamppb.New(view.Now()), PropertyName: p.Property.Name}}
	steps := []func() error{x.addStay, x.addGuests, x.addMessages, x.addDisclosures, x.addMails, x.addDevices, x.addPhones, x.addOpenings}
	if a.GuestID == "" {
		steps = append(steps, x.addProfile)
	}
	for _, add := range steps {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return x.out, nil
}

// addStay adds the reservation, with the room if the session may see it. The copy of the main guest also has the booker, the amounts and
// the check-in.
func (x *export) addStay() error {
	r, stay := x.p.Reservation, x.p.Stay
	out := &guestv1.ExportedStay{
		Id: r.ID, PmsNumber: r.PmsNumber, State: r.State, From: timestamppb.New(r.FromAt), To: timestamppb.New(r.ToAt),
		AdultCount: int32(x.p.Adults), ChildCount: int32(x.p.Children), SourceName: OrEmpty(r.SourceName), ChannelNumber: OrEmpty(r.ChannelNumber),
	}
	if stay != nil {
		out.ArrivalTime, out.HouseRulesAcceptedAt = stay.ArrivalTime, OptionalTime(stay.HouseRulesAcceptedAt)
	}
	x.out.Stay = out
	place, err := reservation.PlaceOf(x.view, r)
	if err != nil {
		return err
	}
	if place.Space != nil && x.p.MayAccess(x.a) {
		out.SpaceName = place.Space.Name
	}
	if x.a.GuestID != "" {
		return nil
	}
	out.ArrivedAt, out.Currency = OptionalTime(r.ArrivedAt), OrEmpty(r.OwingCurrency)
	out.Price, out.Owing = amountOf(r.PriceMinor, out.Currency), amountOf(r.OwingMinor, out.Currency)
	x.addCheckIn(out)
	b, err := reservation.Service{Keys: x.keys}.Booker(x.view.Context(), r)
	out.Booker = &guestv1.ExportedBooker{FirstName: OrEmpty(b.FirstName), LastName: b.LastName, Email: OrEmpty(b.Email), Mobile: OrEmpty(b.Mobile)}
	return err
}

// addCheckIn adds when a check-in happened, and what staff decided in it, without their names. It adds nothing before the guest's first
// visit.
func (x *export) addCheckIn(out *guestv1.ExportedStay) {
	stay := x.p.Stay
	if stay == nil {
		return
	}
	out.CheckInBeganAt, out.DetailsConfirmedAt = OptionalTime(stay.BeganAt), OptionalTime(stay.DetailsConfirmedAt)
	out.CheckInAcceptedAt, out.CheckInEndedAt = OptionalTime(stay.AcceptedAt), OptionalTime(stay.EndedAt)
	for _, c := range stay.Cleared {
		at, _ := time.Parse(time.RFC3339, c.At)
		stage := &guestv1.ExportedStage{Stage: c.Stage, At: clock.Timestamp(at), Refused: c.Refused, OwingCurrency: c.OwingCurrency}
		if c.OwingCurrency != "" {
			stage.Owing = amountOf(&c.OwingMinor, c.OwingCurrency)
		}
		out.Cleared = append(out.Cleared, stage)
	}
}

// amountOf returns an amount without its currency, such as "84.00", or "" if it is not known.
func amountOf(minor *int64, currency string) string {
	if minor == nil || currency == "" {
		return ""
	}
	return money.Amount{Minor: *minor, Currency: currency}.Number()
}

// addGuests adds the guests whom the session sees, with the answers that it sees. It adds the official form, signature and mail address
// only of guests for whom the session acts.
func (x *export) addGuests() error {
	for _, m := range x.p.Visible(x.a) {
		seen, err := x.p.VisibleAnswers(x.a, m)
		if err != nil {
			return err
		}
		g := &guestv1.ExportedGuest{Id: m.Row.ID, Role: m.Row.Role, Child: m.Row.Child, Person: Person(seen), Language: m.Row.Language}
		if x.p.HasDecided(m) {
			g.SharedGroups, g.SharingSetAt = m.Row.SharedGroups, OptionalTime(m.Row.SharingSetAt)
		}
		if g.InvitedTo, err = guest.InvitedTo(x.view, x.keys, m.Row); err != nil {
			return err
		}
		x.out.Guests = append(x.out.Guests, g)
		if !guest.ActsAs(x.a, m.Row) {
			continue
		}
		svg, at, err := x.p.DrawnSignature(m.Row.ID)
		if err != nil && !fault.Has(err, fault.NotSigned) {
			return err
		}
		g.SignatureSvg, g.SignedAt, g.MailAddress = svg, clock.Timestamp(at), m.MailAddress()
		form, err := guest.RegisteredForm(x.view, x.keys, m.Row)
		if err != nil {
			return err
		}
		if form != nil {
			x.out.Forms = append(x.out.Forms, &guestv1.ExportedForm{
				Law: form.Law, ArrivalOn: form.ArrivalOn, DepartureOn: form.DepartureOn, Person: Person(form.Answers), EraseAt: clock.Timestamp(form.EraseAt),
			})
		}
	}
	return nil
}

// addMessages adds the conversation of the guest with the property. The party has no members, and so no messages, until a guest opens the
// stay.
func (x *export) addMessages() error {
	if len(x.p.Members) == 0 {
		return nil
	}
	guestID, err := x.p.Correspondent(x.a)
	if err != nil {
		return err
	}
	k := conversation.Key{PropertyID: x.a.PropertyID, ReservationID: x.a.ReservationID, GuestID: guestID}
	for after, more := 0, true; more; {
		var list []conversation.Message
		if list, more, err = conversation.List(x.view, x.keys, k, after, exportPage); err != nil {
			return err
		}
		for _, m := range list {
			x.out.Messages = append(x.out.Messages, Message(m))
			after = m.Number
		}
	}
	return nil
}

// addDisclosures adds which partner read which data of the guests.
func (x *export) addDisclosures() error {
	for page := (guest.LedgerPage{Size: exportPage}); ; {
		list, next, err := Disclosures(x.view, x.p, x.a, page)
		if err != nil {
			return err
		}
		x.out.Disclosures = append(x.out.Disclosures, list...)
		if page.Token = next; next == "" {
			return nil
		}
	}
}

// addMails adds the mails to the guest with their recipients and states, without their texts. Mails to staff are left out.
func (x *export) addMails() error {
	for after := ""; ; {
		list, err := mail.List(x.view, x.a.PropertyID, mail.Filter{ReservationID: x.a.ReservationID, After: after, Limit: exportPage})
		if err != nil {
			return err
		}
		for _, row := range list {
			after = row.ID
			if row.GuestID != x.a.GuestID || mail.Kind(row.Kind) == mail.Staff {
				continue
			}
			to, err := mail.Recipient(x.view, x.keys, row)
			if err != nil {
				return err
			}
			x.out.Mails = append(x.out.Mails, &guestv1.ExportedMail{Kind: row.Kind, To: to, State: row.State, OrderedAt: timestamppb.New(row.CreatedAt), SentAt: OptionalTime(row.SentAt)})
		}
		if len(list) < exportPage {
			return nil
		}
	}
}

// addDevices adds the guest's active sessions.
func (x *export) addDevices() error {
	list, err := guest.ListOwnDevices(x.view, x.a)
	for _, d := range list {
		x.out.Devices = append(x.out.Devices, GuestDevice(d))
	}
	return err
}

// addPhones adds the phones with a SmartKey that the guest enrolled, and remembers them for addOpenings, which must run later. A phone that
// staff gave a link counts as the main guest's.
func (x *export) addPhones() error {
	guests, err := x.p.SessionGuests(x.view)
	if err != nil {
		return err
	}
	list, err := mobilekey.List(x.view, x.a.PropertyID, x.a.ReservationID)
	x.ownPhones = map[string]bool{}
	for _, p := range list {
		of, known := "", true
		switch {
		case p.GuestID != nil:
			of = *p.GuestID
		case p.Session != nil: // a phone that a former version enrolled
			of, known = guests[*p.Session]
		}
		if !x.owns(of, known) {
			continue
		}
		x.ownPhones[p.ID] = true
		name, err := mobilekey.Label(x.view, x.keys, p)
		if err != nil {
			return err
		}
		x.out.Phones = append(x.out.Phones, &guestv1.ExportedPhone{Id: p.ID, Name: name, CreatedAt: timestamppb.New(p.CreatedAt), RevokedAt: OptionalTime(p.RevokedAt)})
	}
	return err
}

// owns reports whether the copy includes a phone. guestID is the phone's guest, "" for the main guest. known is false if the session that
// enrolled the phone was deleted. Such a phone could be another guest's, so it is included only if the party has one guest.
func (x *export) owns(guestID string, known bool) bool {
	if !known {
		return x.a.GuestID == "" && len(x.p.Members) == 1
	}
	return guestID == x.a.GuestID
}

// addOpenings adds when doors opened, or refused to open, for the guest's phones. Only the copy of the main guest has the uses of the PIN.
func (x *export) addOpenings() error {
	for before := int64(math.MaxInt64); ; {
		list, err := access.ListOpenings(x.view, x.a.PropertyID, x.a.ReservationID, before, exportPage)
		if err != nil {
			return err
		}
		for _, o := range list {
			before = o.EventID
			own := x.ownPhones[o.PhoneID]
			if o.PhoneID == "" {
				own = x.a.GuestID == ""
			}
			if !own {
				continue
			}
			x.out.Openings = append(x.out.Openings, &guestv1.ExportedOpening{At: timestamppb.New(o.At), Opened: o.Opened, LockName: o.LockName})
		}
		if len(list) < exportPage {
			return nil
		}
	}
}

// addProfile adds the answers that the property keeps for the main guest's next stay. It must not be called for a companion's copy.
func (x *export) addProfile() error {
	answers, at, err := x.p.KeptProfile(x.view, x.keys)
	x.out.Profile = KeptProfile(answers, at)
	return err
}

// KeptProfile converts the answers that a property keeps of a guest for the next stay. at is when they were last saved or offered. It
// returns nil if there are none.
func KeptProfile(answers rule.Answers, at time.Time) *guestv1.KeptProfile {
	if answers == nil {
		return nil
	}
	return &guestv1.KeptProfile{Person: Person(answers), UpdatedAt: timestamppb.New(at)}
}

// Message converts a message of a conversation as the guest sees it.
func Message(m conversation.Message) *guestv1.Message {
	out := &guestv1.Message{Number: int32(m.Number), Sender: string(m.Sender), Text: m.Text, SentAt: timestamppb.New(m.SentAt)}
	if m.ReadAt != nil {
		out.ReadAt = clock.Timestamp(*m.ReadAt)
	}
	return out
}

// Disclosures returns one page of the ledger of disclosures, the latest line first: which partner read which data of the guests whom a
// session sees. next is the token of the page with older lines, or "".
func Disclosures(view *db.Tx, p *guest.Party, a actor.Actor, page guest.LedgerPage) (out []*guestv1.Disclosure, next string, err error) {
	rows, next, err := guest.ListDisclosures(view, p, p.Visible(a), page)
	if err != nil {
		return nil, "", err
	}
	partners := map[string]*partner.IntegrationRow{}
	for _, d := range rows {
		from := partners[d.IntegrationID]
		if from == nil {
			if from, err = partner.Integration(view, a.PropertyID, d.IntegrationID); err != nil {
				return nil, "", err
			}
			partners[d.IntegrationID] = from
		}
		line := &guestv1.Disclosure{
			GuestId: d.GuestID, PartnerName: from.Name, OwnPrograms: partner.IsOwn(from), Groups: d.Groups, Why: d.Why, At: timestamppb.New(d.CreatedAt), Refused: d.Refused, Times: int32(d.Times),
		}
		if d.LastAt != nil {
			line.LastAt = clock.Timestamp(*d.LastAt)
		}
		out = append(out, line)
	}
	return out, next, nil
}
