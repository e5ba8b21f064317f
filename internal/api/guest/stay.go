package guest

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// Stays implements StayService.
type Stays struct {
	guestv1.UnimplementedStayServiceServer
	Deps
}

// markUse stores the current time as the last use of a session, unless a recent use is stored.
func (d Deps) markUse(ctx context.Context, a actor.Actor) error {
	if !guest.UseIsOld(a, d.DB.Clock().Now()) {
		return nil
	}
	return d.DB.Write(ctx, func(tx *db.Tx) error { return guest.MarkUsed(tx, a) })
}

// loadPartyAtUse returns the stay of a session with its guests. It creates missing guests, unless the data of the party were erased. It
// also stores the last use of the session: see markUse.
func (d Deps) loadPartyAtUse(ctx context.Context, a actor.Actor) (*guest.Party, error) {
	if err := d.markUse(ctx, a); err != nil {
		return nil, err
	}
	var p *guest.Party
	complete := false
	err := d.DB.ViewShared(ctx, func(view *db.Tx) (err error) {
		p, complete, err = guest.ViewParty(view, d.Keys, a.PropertyID, a.ReservationID)
		return err
	})
	if err != nil || complete {
		return p, err
	}
	err = d.DB.Write(ctx, func(tx *db.Tx) (err error) {
		p, err = guest.LoadParty(tx, d.Keys, a.PropertyID, a.ReservationID)
		return err
	})
	return p, err
}

// GetStay returns the part of the stay that the caller's session is allowed to see. It stores the last use of the session and missing
// guests, as loadPartyAtUse does.
func (s *Stays) GetStay(ctx context.Context, _ *guestv1.GetStayRequest) (*guestv1.GetStayResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.markUse(ctx, a); err != nil {
		return nil, err
	}
	var out *guestv1.Stay
	err = s.DB.ViewShared(ctx, func(view *db.Tx) error {
		p, complete, err := guest.ViewParty(view, s.Keys, a.PropertyID, a.ReservationID)
		if err == nil && complete {
			out, err = s.stay(ctx, view, a, p)
		}
		return err
	})
	if err == nil && out == nil { // guests are missing
		var p *guest.Party
		if p, err = s.loadPartyAtUse(ctx, a); err == nil {
			out, err = s.stay(ctx, s.DB.View(ctx), a, p)
		}
	}
	if err != nil {
		return nil, err
	}
	return &guestv1.GetStayResponse{Data: out}, nil
}

// stay converts the part of a stay that a session is allowed to see.
func (s *Stays) stay(ctx context.Context, view *db.Tx, a actor.Actor, p *guest.Party) (*guestv1.Stay, error) {
	language := chain.Language(ctx, p.Settings.Language)
	out := &guestv1.Stay{
		Id: p.Reservation.ID, Property: convert.PropertyFace(p.Property, p.Settings, language), Number: p.Reservation.PmsNumber, State: p.Reservation.State,
		From: timestamppb.New(p.Reservation.FromAt), To: timestamppb.New(p.Reservation.ToAt),
		AdultCount: int32(p.Adults), ChildCount: int32(p.Children), Tasks: tasks(p, a),
		ArrivalTime: p.Stay.ArrivalTime, HouseRules: property.TextsIn(p.Settings, language).HouseRules, HouseRulesAcceptedAt: convert.OptionalTime(p.Stay.HouseRulesAcceptedAt),
		HouseRulesLanguage: property.LanguagesIn(p.Settings, language).HouseRules,
		Shared:             sharedGroups(p, a), AtKiosk: a.Origin != guest.OriginMail && a.Origin != guest.OriginDoor,
	}
	for _, m := range p.Visible(a) {
		g := &guestv1.StayGuest{Id: m.Row.ID, Role: m.Row.Role, Complete: len(m.Missing) == 0, Child: m.Row.Child, Invited: m.Row.InvitedAt != nil}
		if p.MayAccess(a) {
			g.Minor = p.IsMinor(m)
			if p.HasDecided(m) {
				g.SharedGroups, g.SharingSetAt = m.Row.SharedGroups, convert.OptionalTime(m.Row.SharingSetAt)
			}
			g.MayShare = p.MayShare(a, m)
			g.FirstName, g.LastName = m.Answers[rule.FirstName], m.Answers[rule.LastName]
		}
		out.Guests = append(out.Guests, g)
	}
	decides, err := p.DecidesProfile(view, s.Keys, a)
	if err != nil {
		return nil, err
	}
	if decides {
		out.KeepProfile = &p.Stay.KeepProfile
	}
	if err := s.addPlaceAndMails(view, a, p, out); err != nil {
		return nil, err
	}
	if err := s.addPINWithheld(view, a, p, out); err != nil {
		return nil, err
	}
	if err := addUnread(view, a, p, out); err != nil {
		return nil, err
	}
	rooms, err := p.CountGroup(view, a)
	if err != nil {
		return nil, err
	}
	out.GroupRooms = int32(rooms)
	v, err := checkin.Of(p, view.Now())
	if err != nil {
		return nil, err
	}
	out.CheckIn = checkInMessage(ctx, v, a, out.GetMaskedEmail() != "")
	return out, nil
}

// addPlaceAndMails adds the space, the doors and the name of the PMS to out, and what addMails adds.
func (s *Stays) addPlaceAndMails(view *db.Tx, a actor.Actor, p *guest.Party, out *guestv1.Stay) error {
	place, err := s.addDoors(view, a, p, out)
	if err != nil {
		return err
	}
	if place.Space != nil && p.MayAccess(a) {
		out.SpaceName = place.Space.Name
	}
	if place.Parent != nil && p.MayAccess(a) {
		out.ParentSpaceName = place.Parent.Name
	}
	from, err := partner.Integration(view, a.PropertyID, p.Reservation.IntegrationID)
	if err != nil {
		return err
	}
	out.PartnerName, out.OwnPrograms = from.Name, partner.IsOwn(from)
	return s.addMails(view, a, p, out)
}

// addDoors adds the doors, and the time for which they open, to out if the stay has started and the session may access it. It always
// returns the space of the stay.
func (s *Stays) addDoors(view *db.Tx, a actor.Actor, p *guest.Party, out *guestv1.Stay) (space.Place, error) {
	if p.Reservation.State != string(access.Started) || !p.MayAccess(a) {
		return reservation.PlaceOf(view, p.Reservation)
	}
	plan, place, err := s.Reservations.PlanPlace(view, p.Reservation, p.Property)
	if err != nil {
		return place, err
	}
	if plan.Window != nil {
		out.OpensAt, out.AccessUntil = timestamppb.New(plan.Window.From), timestamppb.New(plan.Window.To)
	}
	if out.CodesVersion, err = access.PINVersion(view, a.PropertyID, p.Reservation.ID); err != nil {
		return place, err
	}
	for _, d := range plan.Doors {
		out.Doors = append(out.Doors, &guestv1.StayDoor{Id: d.ID, Name: d.Name, Kind: string(d.Kind), Pin: string(d.PIN), Reason: string(d.Reason), PinConfirmedAt: clock.Timestamp(d.ConfirmedAt)})
	}
	return place, nil
}

// addPINWithheld adds to out why the session does not get the PIN, or that no door has a code. PinWithheld stays empty if the session gets
// the PIN. It must run after addDoors.
func (s *Stays) addPINWithheld(view *db.Tx, a actor.Actor, p *guest.Party, out *guestv1.Stay) error {
	withheld, err := p.PINWithheld(view, a)
	hasCode := func(d *guestv1.StayDoor) bool { return d.GetPin() != "" }
	if withheld == guest.NotWithheld && !slices.ContainsFunc(out.GetDoors(), hasCode) {
		withheld = guest.NoCode
	}
	out.PinWithheld = string(withheld)
	return err
}

// tasks returns what the guest must do before check-in or departure, each task with whether it is done.
func tasks(p *guest.Party, a actor.Actor) []*guestv1.Task {
	add := func(list []*guestv1.Task, kind string, done bool) []*guestv1.Task {
		state := "todo"
		if done {
			state = "done"
		}
		return append(list, &guestv1.Task{Kind: kind, State: state})
	}
	own := p.Visible(a)
	list := add(departureTasks(p, own), "you", len(own) > 0 && len(own[0].Missing) == 0 && !own[0].Row.FromProfile)
	shares := func() []*guestv1.Task {
		if len(p.Settings.MandatoryGroups) == 0 || len(own) == 0 || !p.MayShare(a, own[0]) {
			return list
		}
		return add(list, "sharing", p.HasDecided(own[0]))
	}
	if a.GuestID != "" {
		return shares()
	}
	if len(own) > 1 {
		list = add(list, "companions", !slices.ContainsFunc(own[1:], func(m guest.Member) bool { return len(m.Missing) > 0 }))
	}
	if p.Stay.ArrivalSetAt != nil || p.Reservation.State == string(access.Confirmed) {
		list = add(list, "arrival", p.Stay.ArrivalSetAt != nil)
	}
	if p.Settings.HouseRules != "" {
		list = add(list, "houseRules", p.Stay.HouseRulesAcceptedAt != nil)
	}
	return shares()
}

// departureTasks returns one task if a guest who has checked in must answer a question of the law before departure, otherwise nil. own are
// the guests whom the session sees.
func departureTasks(p *guest.Party, own []guest.Member) []*guestv1.Task {
	at := slices.IndexFunc(own, func(m guest.Member) bool { return len(m.Open) > 0 })
	if at < 0 || p.Reservation.State != string(access.Started) {
		return nil
	}
	step, _ := rule.StepOf(own[at].Open[0])
	return []*guestv1.Task{{Kind: "departure", State: "todo", GuestId: own[at].Row.ID, Step: string(step)}}
}

// addUnread adds the number of unread messages to out, if the session has a conversation.
func addUnread(view *db.Tx, a actor.Actor, p *guest.Party, out *guestv1.Stay) error {
	guestID, err := p.Correspondent(a)
	if err != nil {
		return nil // the session has no conversation
	}
	n, err := conversation.Unread(view, conversation.Key{PropertyID: a.PropertyID, ReservationID: a.ReservationID, GuestID: guestID}, conversation.Guest)
	out.UnreadMessages = new(int32(n))
	return err
}

// sharedGroups returns the groups of form fields that the property marks as mandatory for the PMS. Each has the guest's choice whether to
// share it, if the guest has decided. The guest is the first whom the session sees; without one the result is nil.
func sharedGroups(p *guest.Party, a actor.Actor) []*guestv1.SharedGroup {
	var out []*guestv1.SharedGroup
	own := p.Visible(a)
	if len(own) == 0 {
		return nil
	}
	said, decided := own[0].Row, p.HasDecided(own[0])
	for _, name := range p.Settings.MandatoryGroups {
		g := &guestv1.SharedGroup{Name: name}
		for _, f := range rule.Groups[rule.Group(name)] {
			g.Fields = append(g.Fields, string(f))
		}
		if decided {
			shared := slices.Contains(said.SharedGroups, name)
			g.Shared = &shared
		}
		out = append(out, g)
	}
	return out
}

// RevealPin returns the PINs of the stay, and records that the guest read them. It leaves out gates (shared doors) with the same PIN as the
// room. It refuses a session that cannot see the PIN, and fails if no door has a code.
func (s *Stays) RevealPin(ctx context.Context, _ *guestv1.RevealPinRequest) (*guestv1.RevealPinResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	var shown access.StayPINs
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		shown, err = guest.RevealPINs(tx, s.Keys, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &guestv1.Pins{Pin: shown.PIN}
	for _, g := range shown.Gates {
		if g.PIN == shown.PIN {
			continue
		}
		out.Gates = append(out.Gates, &guestv1.GatePin{GateId: g.ID, Name: g.Name, Pin: g.PIN})
	}
	return &guestv1.RevealPinResponse{Data: out}, nil
}

// ListGroup returns the progress of the check-in of each room of the caller's group (rooms that were booked together), at most 100. It
// refuses companions (accompanying guests), and sessions without the mailed link.
func (s *Stays) ListGroup(ctx context.Context, _ *guestv1.ListGroupRequest) (*guestv1.ListGroupResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	rooms, more, err := guest.ListGroup(s.DB.View(ctx), s.Keys, a)
	if err != nil {
		return nil, err
	}
	out := &guestv1.Group{More: more}
	for _, r := range rooms {
		out.List = append(out.List, &guestv1.GroupRoom{
			SpaceName: r.SpaceName, ParentSpaceName: r.ParentName, FromDate: r.FromDate, State: string(r.State), Complete: int32(r.Complete), Guests: int32(r.Guests), Own: r.Own,
		})
	}
	return &guestv1.ListGroupResponse{Data: out}, nil
}
