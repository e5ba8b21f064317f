package guest

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
)

// Links implements LinkService.
type Links struct {
	guestv1.UnimplementedLinkServiceServer
	Deps
}

// GetLink describes a link without using it up, because mail scanners open links. The answer has the stay's id only if the link is used up
// and one of the sessions in the request is for the same guest. A link to a kept profile, or of a canceled stay, has a shorter answer.
func (s *Links) GetLink(ctx context.Context, r *guestv1.GetLinkRequest) (*guestv1.GetLinkResponse, error) {
	view := s.DB.View(ctx)
	l, err := guest.LookUpLink(view, s.Keys, r.GetLink())
	if fault.Has(err, fault.LinkNotFound) {
		return s.otherLink(view, r.GetLink())
	}
	if err != nil {
		return nil, err
	}
	face, zone, err := faceOf(view, l.Row.PropertyID)
	if err != nil {
		return nil, err
	}
	outlet, err := s.mailOutlet(view, l.Row.PropertyID)
	if err != nil {
		return nil, err
	}
	out := &guestv1.Link{
		Property: face, Bound: l.Row.BoundAt != nil, HandedOver: l.Source == guest.FromKiosk, Source: string(l.Source),
		SendsNoMail: !outlet.Reaches(),
		FromDate:    l.Reservation.FromAt.In(zone).Format(time.DateOnly), ToDate: l.Reservation.ToAt.In(zone).Format(time.DateOnly),
	}
	if out.GetBound() {
		held, err := l.IsCoveredBy(view, s.Keys, r.GetSessions())
		if err != nil {
			return nil, err
		}
		if held {
			out.StayId = l.Reservation.ID
		}
	}
	if l.Row.GuestID == "" {
		booker, err := s.Reservations.Booker(ctx, l.Reservation)
		if err != nil {
			return nil, err
		}
		if booker.FirstName != nil {
			out.Initial = firstLetter(*booker.FirstName)
		}
	}
	return &guestv1.GetLinkResponse{Data: out}, nil
}

// otherLink describes a link that opens no stay: a link to a kept profile (answers kept for the next stay), or a link of a canceled stay.
// It fails for any other link.
func (s *Links) otherLink(view *db.Tx, secret string) (*guestv1.GetLinkResponse, error) {
	toProfile, err := s.profileLink(view, secret)
	if fault.Has(err, fault.LinkNotFound) {
		return s.canceledLink(view, secret)
	}
	if err != nil {
		return nil, err
	}
	return &guestv1.GetLinkResponse{Data: toProfile}, nil
}

// canceledLink describes the link of a canceled stay. The result has the property and nothing about the stay. It fails for any other link.
func (s *Links) canceledLink(view *db.Tx, secret string) (*guestv1.GetLinkResponse, error) {
	propertyID, err := guest.PropertyOfCanceledLink(view, s.Keys, secret)
	if err != nil {
		return nil, err
	}
	face, _, err := faceOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	return &guestv1.GetLinkResponse{Data: &guestv1.Link{Property: face, Canceled: true}}, nil
}

// GetEndedSession returns the property of a session that was ended early, and why it was ended. It fails if the session is active or has
// expired, if its stay was erased, and for a kiosk's session unless the cancelation of the stay ended it.
func (s *Links) GetEndedSession(ctx context.Context, r *guestv1.GetEndedSessionRequest) (*guestv1.GetEndedSessionResponse, error) {
	view := s.DB.View(ctx)
	propertyID, by, err := guest.PropertyOfEndedSession(view, s.Keys, r.GetToken())
	if err != nil {
		return nil, err
	}
	face, _, err := faceOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	return &guestv1.GetEndedSessionResponse{Data: &guestv1.EndedSession{Property: face, Reason: string(by)}}, nil
}

// faceOf returns what guests see of a property, such as its name, in the language of the call. It also returns the property's time zone.
func faceOf(view *db.Tx, propertyID string) (*guestv1.PropertyFace, *time.Location, error) {
	p, err := property.Get(view, propertyID)
	if err != nil {
		return nil, nil, err
	}
	settings, err := property.GetCheckInSettings(view, propertyID)
	if err != nil {
		return nil, nil, err
	}
	zone, err := clock.Zone(p.TimeZone)
	return convert.PropertyFace(p, settings, chain.Language(view.Context(), settings.Language)), zone, err
}

// firstLetter returns the first letter of a name in upper case, or "".
func firstLetter(name string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
	if first == utf8.RuneError {
		return ""
	}
	return string(unicode.ToUpper(first))
}

// BindLink uses up a link and opens a session for the caller's device. It fails for a link that is used up, has ended or is unknown. The
// link leads to a stay, or to a kept profile (answers kept for the next stay). For a stay, the language in the request becomes the guest's,
// unless the guest has one.
func (s *Links) BindLink(ctx context.Context, r *guestv1.BindLinkRequest) (*guestv1.BindLinkResponse, error) {
	var made guest.Session
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = guest.BindLink(tx, s.Keys, r.GetLink(), r.GetDevice())
		if fault.Has(err, fault.LinkNotFound) {
			made, err = guest.BindProfileLink(tx, s.Keys, r.GetLink())
		}
		if err != nil || made.ReservationID == "" {
			return err
		}
		return guest.SetFirstLanguage(tx, made.PropertyID, made.ReservationID, made.GuestID, r.GetLanguage())
	})
	if err != nil {
		return nil, err
	}
	return &guestv1.BindLinkResponse{Data: convert.GuestSession(made)}, nil
}

// RenewLink ends a valid link and mails a new one to its address. It does nothing, without an error, for any other link, or if the address
// is no longer the guest's. So the answer does not reveal whether the old link is known.
func (s *Links) RenewLink(ctx context.Context, r *guestv1.RenewLinkRequest) (*guestv1.RenewLinkResponse, error) {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		renewal, err := guest.RenewLink(tx, s.Keys, r.GetLink())
		if err != nil || renewal == nil || s.MailLink == nil {
			return err
		}
		_, err = s.MailLink(tx, mail.LinkOrder{
			PropertyID: renewal.PropertyID, ReservationID: renewal.ReservationID, GuestID: renewal.GuestID, Renews: true, Address: renewal.Address, Occasion: renewal.LinkID,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guestv1.RenewLinkResponse{}, nil
}

// GetDoor returns the property to which the QR code at a door belongs. It fails if no kiosk has the code.
func (s *Links) GetDoor(ctx context.Context, r *guestv1.GetDoorRequest) (*guestv1.GetDoorResponse, error) {
	view := s.DB.View(ctx)
	at, err := kiosk.FindDoor(view, r.GetDoor())
	if err != nil {
		return nil, err
	}
	face, _, err := faceOf(view, at.PropertyID)
	if err != nil {
		return nil, err
	}
	return &guestv1.GetDoorResponse{Data: face}, nil
}

// FindStay finds the stay of a guest who scanned the QR code at a door, by the reservation's number and the guest's family name, and opens
// a session. If several stays match, it returns them as choices. It fails if none matches, which counts as a failed search. After too many
// failed searches, it refuses for some time.
func (s *Links) FindStay(ctx context.Context, r *guestv1.FindStayRequest) (*guestv1.FindStayResponse, error) {
	view := s.DB.View(ctx)
	at, err := kiosk.FindDoor(view, r.GetDoor())
	if err != nil {
		return nil, err
	}
	search := guest.Search{
		PropertyID: at.PropertyID, Number: r.GetNumber(), FamilyName: r.GetFamilyName(), Choice: r.GetChoice(),
		Address: clientNetwork(ctx), Device: r.GetDevice(), Place: at.Name,
	}
	matches, err := search.Match(view, s.Keys)
	if err != nil {
		return nil, err
	}
	var found guest.Found
	var refused error
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		found, refused, err = s.CheckIns.Find(tx, search, matches)
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return &guestv1.FindStayResponse{Data: convert.FoundStay(found)}, nil
}

// clientNetwork returns the network that counts as one client for limits on attempts. It is "" outside of the interceptor chain. All calls
// over the Unix socket count as one client.
func clientNetwork(ctx context.Context) string {
	if call := chain.From(ctx); call != nil {
		return chain.ClientNetwork(call.Client)
	}
	return ""
}
