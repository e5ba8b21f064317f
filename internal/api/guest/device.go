package guest

import (
	"context"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
)

// ListDevices lists the devices with a session for the same guest as the caller's, the latest used first. A session that was not opened by
// a mailed link sees only itself.
func (s *Stays) ListDevices(ctx context.Context, _ *guestv1.ListDevicesRequest) (*guestv1.ListDevicesResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := guest.ListOwnDevices(s.DB.View(ctx), a)
	if err != nil {
		return nil, err
	}
	out := &guestv1.DeviceList{}
	for _, row := range rows {
		d := convert.GuestDevice(row)
		d.Current = row.ID == a.ID
		out.List = append(out.List, d)
	}
	return &guestv1.ListDevicesResponse{Data: out}, nil
}

// SetLanguage stores the language for the caller's pages and mails. It refuses a language without texts, and after the check-in a session
// that found the stay by two facts, unless that checked the guest in.
func (s *Stays) SetLanguage(ctx context.Context, r *guestv1.SetLanguageRequest) (*guestv1.SetLanguageResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.SetLanguageResponse, error) {
		return &guestv1.SetLanguageResponse{}, guest.ChooseLanguage(tx, s.Keys, a, r.GetLanguage(), false)
	})
}

// EndSession ends the caller's session, or as the request says, the session of another device, or all other sessions of the guest. It fails
// for a device whose session ListDevices does not list. With "all", the main guest with a mailed link ends all sessions of the stay; any
// other session ends only itself. The SmartKeys that the browsers got with these sessions end too.
func (s *Stays) EndSession(ctx context.Context, r *guestv1.EndSessionRequest) (*guestv1.EndSessionResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.EndSessionResponse, error) {
		out := &guestv1.EndSessionResponse{}
		switch {
		case r.GetOthers() && (r.GetAll() || r.GetDeviceId() != ""), r.GetAll() && r.GetDeviceId() != "":
			return nil, fault.Fields(fault.Field{Path: "deviceId", Reason: fault.Conflicting, Message: "send one of all, others and deviceId"})
		case r.GetDeviceId() != "":
			return out, guest.EndOwnDevice(tx, a, r.GetDeviceId())
		case r.GetOthers():
			return out, guest.EndOtherDevices(tx, a)
		case r.GetAll() && a.GuestID == "" && a.Origin == guest.OriginMail:
			return out, guest.EndSessions(tx, a.PropertyID, a.ReservationID, "")
		}
		return out, guest.EndSessions(tx, a.PropertyID, a.ReservationID, a.ID)
	})
}
