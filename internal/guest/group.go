package guest

import (
	"bytes"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// maxGroupRooms limits the rooms of a group that its booker sees. maxGroupRead limits the reservations that are read to find them.
const (
	maxGroupRooms = 100
	maxGroupRead  = 1000
)

// RoomState is how far the check-in of one room of a group is. RoomReady means that all forms are complete.
type RoomState string

const (
	RoomToDo      RoomState = "todo"
	RoomReady     RoomState = "ready"
	RoomCheckedIn RoomState = "checkedIn"
	RoomEnded     RoomState = "ended"
)

// GroupRoom is one room of a group. Of its guests it has only how many there are, and how many have completed their form. Own is set for
// the room of the session. FromDate is YYYY-MM-DD in the property's zone.
type GroupRoom struct {
	SpaceName, ParentName string
	FromDate              string
	State                 RoomState
	Complete, Guests      int
	Own                   bool
}

// booking says to which booker's group a reservation belongs.
type booking struct {
	PropertyID, IntegrationID, GroupID string
	Address                            []byte // keyed hash of the booker's mail address; nil: none, or not Shown, or in no group
	Shown                              bool   // the reservation is neither canceled nor erased
}

// isTogether decides whether the booker of one reservation sees how far the check-in of another is.
//
//	the other reservation                              is read
//	same property, PMS, group and booker's address     yes
//	is canceled or erased                              no
//	another property, PMS or group, or none            no
//	another address, or none                           no
func (b booking) isTogether(other booking) bool {
	return b.PropertyID == other.PropertyID && b.IntegrationID == other.IntegrationID && b.GroupID != "" && b.GroupID == other.GroupID &&
		len(b.Address) > 0 && bytes.Equal(b.Address, other.Address) && other.Shown
}

// mayReadGroup decides whether a session reads the group. Only the main guest with a mailed link may: others may know the booking number
// and the name, and a companion is a guest of one room.
func mayReadGroup(a actor.Actor) bool {
	return a.Kind == actor.Guest && a.GuestID == "" && a.Origin == OriginMail
}

// bookingOf returns what identifies the booker's group of a reservation. It decrypts the booker's address only if the reservation is shown
// and in a group.
func bookingOf(view *db.Tx, keys *keyring.Ring, r *ent.Reservation) (booking, error) {
	b := booking{PropertyID: r.PropertyID, IntegrationID: r.IntegrationID, Shown: r.State != string(access.Canceled) && r.ErasedAt == nil}
	if r.PmsGroupID != nil {
		b.GroupID = *r.PmsGroupID
	}
	if b.GroupID == "" || !b.Shown {
		return b, nil
	}
	var err error
	b.Address, err = bookerMAC(view, keys, r)
	return b, err
}

// UsesProfile reports whether the stay may have a profile: answers of the main guest that the property keeps for the next stay. It does not
// check whether the guest wants one, or whether one exists. A profile is the booker's. A stay uses none if its main guest may be another
// person, because a booker of several rooms passes the links of the other rooms on. The result is cached.
func (p *Party) UsesProfile(view *db.Tx) (bool, error) {
	if p.usesProfile == nil {
		uses, err := p.findUsesProfile(view)
		if err != nil {
			return false, err
		}
		p.usesProfile = &uses
	}
	return *p.usesProfile, nil
}

// findUsesProfile returns false if another room of the booking may have the same booker, or if the booking has maxGroupRead rooms. The
// rooms of a booking share the PMS's group or, because some PMSs send none, the agency's number. Some PMSs send the same number for every
// booking without an agency, so only stays at the same time count by the number. Earlier stays of the guest, and stays of others without an
// address, then do not matter.
func (p *Party) findUsesProfile(view *db.Tx) (bool, error) {
	inProperty, ofPMS := entreservation.PropertyID(p.Reservation.PropertyID), entreservation.IntegrationID(p.Reservation.IntegrationID)
	var common []predicate.Reservation // each term selects rooms that may be of the same booking; its columns are those of an index, so that SQLite uses it
	if group := p.Reservation.PmsGroupID; group != nil && *group != "" {
		common = append(common, entreservation.And(ofPMS, entreservation.PmsGroupID(*group)))
	}
	if number := p.Reservation.ChannelNumber; number != nil && *number != "" {
		common = append(common, entreservation.And(inProperty, entreservation.ChannelNumber(*number),
			entreservation.FromAtLT(p.Reservation.ToAt), entreservation.ToAtGT(p.Reservation.FromAt)))
	}
	if len(common) == 0 {
		return true, nil
	}
	own, err := bookerMAC(view, p.keys, p.Reservation)
	if err != nil {
		return false, err
	}
	rows, err := view.Reservation.Query().Where(inProperty, entreservation.Or(common...)).Limit(maxGroupRead).All(view.Context())
	if err != nil {
		return false, fmt.Errorf("load the other rooms of a booking: %w", err)
	}
	if len(rows) == maxGroupRead {
		return false, nil
	}
	for _, row := range rows {
		if row.ID == p.Reservation.ID || row.IntegrationID != p.Reservation.IntegrationID {
			continue
		}
		other, err := bookerMAC(view, p.keys, row)
		if err != nil {
			return false, err
		}
		if mayShareBooker(own, other, inSameGroup(p.Reservation, row)) {
			return false, nil
		}
	}
	return true, nil
}

// inSameGroup reports whether the PMS put two reservations into the same group.
func inSameGroup(a, b *ent.Reservation) bool {
	return a.PmsGroupID != nil && b.PmsGroupID != nil && *a.PmsGroupID != "" && *a.PmsGroupID == *b.PmsGroupID
}

// mayShareBooker decides whether two rooms may have the same booker. own and other are the keyed hashes of the bookers' addresses; nil: not
// known, or erased. inGroup means that the PMS put both rooms into one group. Then an unknown address counts as the same, unlike in
// [booking.isTogether]. Otherwise the rooms share only the agency's number, and both addresses must be known and equal. Canceled rooms
// count too.
func mayShareBooker(own, other []byte, inGroup bool) bool {
	if len(own) == 0 || len(other) == 0 {
		return inGroup
	}
	return bytes.Equal(own, other)
}

// bookerMAC returns the keyed hash of the address of a reservation's booker; nil: there is none.
func bookerMAC(view *db.Tx, keys *keyring.Ring, r *ent.Reservation) ([]byte, error) {
	booker, err := reservation.Service{Keys: keys}.Booker(view.Context(), r)
	if err != nil || booker.Email == nil || *booker.Email == "" {
		return nil, err
	}
	return AddressMAC(keys, r.PropertyID, *booker.Email), nil
}

// groupOf returns the reservations that the booker of a reservation booked together, by arrival, without canceled and erased ones. The
// reservation itself is always among them, in any state. It reads at most maxGroupRead reservations of the group.
func groupOf(view *db.Tx, keys *keyring.Ring, own *ent.Reservation) ([]*ent.Reservation, error) {
	booked, err := bookingOf(view, keys, own)
	if err != nil || len(booked.Address) == 0 {
		return []*ent.Reservation{own}, err
	}
	rows, err := view.Reservation.Query().Where(entreservation.PropertyID(own.PropertyID), entreservation.IntegrationID(own.IntegrationID),
		entreservation.PmsGroupID(booked.GroupID)).Order(entreservation.ByFromAt(), entreservation.ByPmsNumber(), entreservation.ByID()).
		Limit(maxGroupRead).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the group of a reservation: %w", err)
	}
	together, found := []*ent.Reservation(nil), false
	for _, row := range rows {
		other, err := bookingOf(view, keys, row)
		if err != nil {
			return nil, err
		}
		if booked.isTogether(other) {
			together, found = append(together, row), found || row.ID == own.ID
		}
	}
	if !found {
		together = append([]*ent.Reservation{own}, together...)
	}
	return together, nil
}

// CountGroup returns the number of rooms that the booker of a session's stay booked together, of the first maxGroupRead reservations of the
// group. It is 0 if this is the only room, or if the session must not read the group.
func (p *Party) CountGroup(view *db.Tx, a actor.Actor) (int, error) {
	if !mayReadGroup(a) || p.Reservation.PmsGroupID == nil {
		return 0, nil
	}
	rooms, err := groupOf(view, p.keys, p.Reservation)
	if len(rooms) < 2 {
		return 0, err
	}
	return len(rooms), err
}

// ListGroup returns how far the check-in of each room of a session's group is, at most maxGroupRooms, and whether there are more rooms. A
// stay in no group gives only its own room. It refuses a session that [mayReadGroup] refuses: a companion's with ErrMainGuestOnly, others
// with errMailLinkOnly.
func ListGroup(view *db.Tx, keys *keyring.Ring, a actor.Actor) (rooms []GroupRoom, more bool, err error) {
	switch {
	case a.GuestID != "":
		return nil, false, ErrMainGuestOnly
	case !mayReadGroup(a):
		return nil, false, errMailLinkOnly
	}
	own, err := loadReservation(view, a.PropertyID, a.ReservationID)
	if err != nil {
		return nil, false, err
	}
	rows, err := groupOf(view, keys, own)
	if err != nil {
		return nil, false, err
	}
	if len(rows) > maxGroupRooms {
		rows, more = rows[:maxGroupRooms], true
	}
	parties, err := viewParties(view, keys, a.PropertyID, rows)
	if err != nil {
		return nil, false, err
	}
	places, err := reservation.PlacesOf(view, rows)
	if err != nil {
		return nil, false, err
	}
	for i, p := range parties {
		room := p.groupRoom()
		room.Own = rows[i].ID == own.ID
		if places[i].Space != nil {
			room.SpaceName = places[i].Space.Name
		}
		if places[i].Parent != nil {
			room.ParentName = places[i].Parent.Name
		}
		rooms = append(rooms, room)
	}
	return rooms, more, nil
}

// groupRoom returns how far the check-in of a party is, as the booker of its group sees it. Guests who are not stored yet have given no
// answers.
func (p *Party) groupRoom() GroupRoom {
	r := GroupRoom{FromDate: p.arrival.Format(time.DateOnly), Guests: max(p.Adults+p.Children, len(p.Members)), State: RoomToDo}
	r.Complete = len(p.Members) - len(p.Incomplete())
	switch access.State(p.Reservation.State) {
	case access.Started:
		r.State = RoomCheckedIn
	case access.Processed:
		r.State = RoomEnded
	default:
		if r.Complete == r.Guests {
			r.State = RoomReady
		}
	}
	return r
}

// viewParties returns the stored parties of reservations of one property, in the order of rows. The number of queries does not depend on
// the number of rows.
func viewParties(view *db.Tx, keys *keyring.Ring, propertyID string, rows []*ent.Reservation) ([]*Party, error) {
	prop, err := property.Get(view, propertyID)
	if err != nil {
		return nil, err
	}
	settings, err := property.GetCheckInSettings(view, propertyID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	stays, err := view.Stay.Query().Where(entstay.PropertyID(propertyID), entstay.ReservationIDIn(ids...)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the stays of a group: %w", err)
	}
	stayOf := map[string]*ent.Stay{}
	for _, s := range stays {
		stayOf[s.ReservationID] = s
	}
	guests, err := view.Guest.Query().Where(entguest.PropertyID(propertyID), entguest.ReservationIDIn(ids...)).
		Order(ent.Asc(entguest.FieldPosition, entguest.FieldID)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the guests of a group: %w", err)
	}
	guestsOf := map[string][]*ent.Guest{}
	for _, g := range guests {
		guestsOf[g.ReservationID] = append(guestsOf[g.ReservationID], g)
	}
	parties := make([]*Party, len(rows))
	for i, row := range rows {
		if parties[i], err = newParty(view, keys, prop, settings, row, stayOf[row.ID], guestsOf[row.ID]); err != nil {
			return nil, err
		}
	}
	return parties, nil
}
