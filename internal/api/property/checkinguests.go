package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/staff"
)

// ListGuests lists the guests of a reservation with the data that the caller's role sees, and records that a member of staff read them.
func (s *CheckIns) ListGuests(ctx context.Context, r *propertyv1.ListGuestsRequest) (*propertyv1.ListGuestsResponse, error) {
	v, err := s.readGuests(ctx, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	list := &propertyv1.GuestList{}
	for _, m := range v.People.Members {
		seen, withheld := v.People.AnswersFor(who.Role, m)
		data := &propertyv1.GuestData{Guest: staffGuest(m), Person: convert.Person(seen), SignedAt: clock.Timestamp(m.SignedAt), Withheld: int32(withheld)}
		if v.People.HasDecided(m) {
			data.SharedGroups = m.Row.SharedGroups
		}
		list.List = append(list.List, data)
	}
	return &propertyv1.ListGuestsResponse{Data: list}, nil
}

// mayReadGuests reports whether the caller may read the data of guests: a person with the right, or a token whose role allows ListGuests.
func mayReadGuests(ctx context.Context) bool {
	who, ok := actor.From(ctx)
	switch {
	case !ok || who.Kind != actor.Staff:
		return false
	case who.PersonID != "":
		return staff.Allows(staff.Role(who.Role), staff.ReadGuests)
	}
	return credential.Suffices(who.Role, credential.RoleOperator)
}

// readGuests returns a check-in with the data of its guests, and records that the caller read them.
func (s *CheckIns) readGuests(ctx context.Context, reservationID string) (v checkin.View, err error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return v, err
	}
	who, _ := actor.From(ctx)
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		by, err := staffName(tx, who)
		if err == nil {
			v, err = s.Service.ReadGuests(tx, checkin.Key{PropertyID: propertyID, ReservationID: reservationID}, by)
		}
		return err
	})
	return v, err
}

// GetSignature returns the signature that a guest drew on a screen, and records that a member of staff read it. It fails if the guest has
// no valid one.
func (s *CheckIns) GetSignature(ctx context.Context, r *propertyv1.GetSignatureRequest) (*propertyv1.GetSignatureResponse, error) {
	v, err := s.readGuests(ctx, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	svg, at, err := v.People.DrawnSignature(r.GetGuestId())
	if err != nil {
		return nil, err
	}
	return &propertyv1.GetSignatureResponse{Data: &propertyv1.Signature{Svg: svg, SignedAt: clock.Timestamp(at)}}, nil
}

// ListDevices lists the devices with an active session for a reservation. The latest used are first: see [guest.ListDevices].
func (s *CheckIns) ListDevices(ctx context.Context, r *propertyv1.ListDevicesRequest) (*propertyv1.ListDevicesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := guest.ListDevices(s.DB.View(ctx), propertyID, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	out := &propertyv1.DeviceList{}
	for _, row := range rows {
		d := &propertyv1.GuestDevice{Device: convert.GuestDevice(row), GuestId: row.GuestID}
		if d.GetDevice().GetKind() == "kiosk" {
			d.KioskId = row.Origin
		}
		out.List = append(out.List, d)
	}
	return &propertyv1.ListDevicesResponse{Data: out}, nil
}

// EndDevice ends one session of a guest's device, such as a lost phone, with its SmartKeys. It fails if the reservation has no such active
// session.
func (s *CheckIns) EndDevice(ctx context.Context, r *propertyv1.EndDeviceRequest) (*propertyv1.EndDeviceResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.EndDeviceResponse, error) {
		return &propertyv1.EndDeviceResponse{}, guest.EndDevice(tx, propertyID, r.GetReservationId(), r.GetId())
	})
}
