package guest

import (
	"context"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
)

// callerOfProfile returns the caller's session, and whether it was opened with the link to a kept profile: answers that the property keeps
// for the guest's next stay. Such a session belongs to no stay.
func callerOfProfile(ctx context.Context) (actor.Actor, bool) {
	a, ok := actor.From(ctx)
	return a, ok && a.Kind == actor.Guest && a.PropertyID != "" && a.ProfileID != ""
}

// GetProperty returns a property to a guest who has no stay. Without an id it returns the only property of the installation, or fails.
func (s *Links) GetProperty(ctx context.Context, r *guestv1.GetPropertyRequest) (*guestv1.GetPropertyResponse, error) {
	view := s.DB.View(ctx)
	propertyID := r.GetPropertyId()
	if propertyID == "" {
		all, err := property.List(view, 2, "")
		if err != nil {
			return nil, err
		}
		if len(all) != 1 {
			return nil, fault.New(fault.NotFound, fault.NotFoundReason, "the installation has not exactly one property: send its id")
		}
		propertyID = all[0].ID
	}
	face, _, err := faceOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	outlet, err := s.mailOutlet(view, propertyID)
	if err != nil {
		return nil, err
	}
	return &guestv1.GetPropertyResponse{Data: face, SendsNoMail: !outlet.Reaches()}, nil
}

// RequestProfileLink mails a guest the link to their kept profile (answers kept for the next stay). The answer does not reveal whether
// there is a profile. Too many requests from a network are refused; too many for an address mail nothing.
func (s *Links) RequestProfileLink(ctx context.Context, r *guestv1.RequestProfileLinkRequest) (*guestv1.RequestProfileLinkResponse, error) {
	if _, err := property.Get(s.DB.View(ctx), r.GetPropertyId()); err != nil {
		return nil, err
	}
	asked := guest.ProfileRequest{PropertyID: r.GetPropertyId(), Address: r.GetEmail(), Client: clientNetwork(ctx)}
	var refused error
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		var due bool
		due, refused, err = guest.RequestProfileLink(tx, s.Keys, asked)
		if err != nil || !due || s.MailProfile == nil {
			return err
		}
		return s.MailProfile(tx, asked.PropertyID, asked.Address, message.Match(r.GetLanguage()))
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return &guestv1.RequestProfileLinkResponse{}, nil
}

// profileLink describes the link to a kept profile (answers kept for the next stay), without anything about the guest. It fails for an
// unknown or expired link.
func (s *Links) profileLink(view *db.Tx, secret string) (*guestv1.Link, error) {
	row, err := guest.FindProfileLink(view, s.Keys, secret)
	if err != nil {
		return nil, err
	}
	face, _, err := faceOf(view, row.PropertyID)
	if err != nil {
		return nil, err
	}
	return &guestv1.Link{Property: face, Bound: len(row.SessionMAC) > 0, Source: string(guest.FromProfile)}, nil
}

// exportProfile returns the copy of a guest's data for a session without a stay. The copy has only the kept profile (answers kept for the
// next stay).
func (s *Privacy) exportProfile(ctx context.Context, a actor.Actor) (*guestv1.DataExport, error) {
	view := s.DB.View(ctx)
	in, err := property.Get(view, a.PropertyID)
	if err != nil {
		return nil, err
	}
	kept, err := s.openedProfile(view, a)
	if err != nil {
		return nil, err
	}
	return &guestv1.DataExport{MadeAt: clock.Timestamp(view.Now()), PropertyName: in.Name, Profile: kept}, nil
}

// openedProfile returns the kept profile (answers kept for the next stay) to which a session belongs. If that was deleted, it refuses the
// session as invalid.
func (s *Privacy) openedProfile(view *db.Tx, a actor.Actor) (*guestv1.KeptProfile, error) {
	answers, at, err := guest.OpenedProfile(view, s.Keys, a)
	if err == nil && answers == nil {
		err = credential.Refused() // the profile was deleted after the call was authenticated
	}
	if err != nil {
		return nil, err
	}
	return convert.KeptProfile(answers, at), nil
}
