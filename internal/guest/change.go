package guest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	entguest "latchkey.dev/ent/guest"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

var (
	ErrMainGuestOnly = fault.New(fault.Denied, fault.MainGuestOnly, "only the main guest of the stay can do this")
	errMailOnly      = fault.New(fault.Denied, fault.MainGuestOnly, "companions are invited and removed only on the device that opened the link of the mail")
	errMailLinkOnly  = fault.New(fault.Denied, fault.MainGuestOnly, "this device found the booking with two facts: use the link of the mail")
	errCheckedIn     = fault.New(fault.Denied, fault.MainGuestOnly, "the stay is checked in: use the link of the mail, or ask the desk")
	errOtherAddress  = fault.New(fault.Denied, fault.NotYourAnswer, "this guest has answered on a link of their own that went to another address, or was passed on: remove the guest first, or ask the desk")
	errAnswered      = fault.New(fault.Denied, fault.NotYourAnswer, "this guest has answered on a link of their own and is checked in: ask the desk")
	errStayEnded     = fault.New(fault.Precondition, fault.StayEnded, "the stay has ended, so its guests and their answers no longer change: ask the property for a correction")
	errMinor         = fault.New(fault.Precondition, fault.MinorNeedsAdult, "a link for a minor is sent only by an adult of the party: fill in the main guest's date of birth first, or fill in the minor's data here")
)

// loadOwnParty returns the party for a change by the main guest. A companion's session gets ErrMainGuestOnly, and one that
// [Party.MayAccess] refuses gets errCheckedIn. Like [LoadParty], it stores missing guests.
func loadOwnParty(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (*Party, error) {
	if a.GuestID != "" {
		return nil, ErrMainGuestOnly
	}
	return loadTrustedParty(tx, keys, a)
}

// loadPartyOfStay returns the party for a change by the main guest that makes sense only before the end of the stay. It refuses the
// sessions that loadOwnParty refuses, such as a companion's. After the check-out or a cancelation it returns errStayEnded.
func loadPartyOfStay(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (*Party, error) {
	p, err := loadOwnParty(tx, keys, a)
	if err == nil && p.hasEnded() {
		return nil, errStayEnded
	}
	return p, err
}

// loadTrustedParty returns the party for a change by any of its guests. Once the PMS has checked the guest in, it returns errCheckedIn for
// a session that found the booking by two facts (booking number and family name): see [Party.MayAccess]. Like [LoadParty], it stores
// missing guests.
func loadTrustedParty(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (*Party, error) {
	p, err := LoadParty(tx, keys, a.PropertyID, a.ReservationID)
	if err == nil && !p.MayAccess(a) {
		return nil, errCheckedIn
	}
	return p, err
}

// MayAccess reports whether a session may see and change the stay. A session of two facts (booking number and name) may do so until the PMS
// has checked the guest in. Afterwards it may do so only if it was the last to press check-in, or if it is on the phone that took the stay
// from that session: a person who knows the two facts is not yet the guest.
func (p *Party) MayAccess(a actor.Actor) bool {
	state := access.State(p.Reservation.State)
	return a.Origin == OriginMail || state != access.Started && state != access.Processed || isPressedBy(a, p.Stay)
}

// hasEnded reports whether the PMS has checked the guest out, or canceled the stay.
func (p *Party) hasEnded() bool {
	state := access.State(p.Reservation.State)
	return state == access.Processed || state == access.Canceled
}

// Limits of the party size that a session may enter if it knows only two facts, a booking number and a family name. alwaysAllowed people
// are accepted in any case, such as a family in a room for which the PMS sent no number. allowedMore is how many people more than the PMS
// sent are accepted. More is a mistake, or a stranger who fills the property's list of guests.
const (
	alwaysAllowed = 8
	allowedMore   = 4
)

// maxParty returns the largest number of people that a session of two facts (booking number and name) may enter. The present number is
// always allowed.
func (p *Party) maxParty() int {
	adults, children := PartySize(nil, p.Reservation)
	return max(alwaysAllowed, adults+children+allowedMore, p.Adults+p.Children)
}

// SetParty stores how many people stay, as the main guest says, and adds or removes companions. Companions with answers or a link are kept
// even if they are too many. It refuses a companion's session. A session of two facts (booking number and name) gets an error above
// [Party.maxParty]; otherwise the caller checks the numbers. After the stay it returns errStayEnded.
func SetParty(tx *db.Tx, keys *keyring.Ring, a actor.Actor, adults, children int) error {
	p, err := loadPartyOfStay(tx, keys, a)
	if err != nil {
		return err
	}
	if limit := p.maxParty(); a.Origin != OriginMail && adults+children > limit {
		return fault.Fields(fault.Field{Path: "adultCount", Reason: fault.TooMany, Message: fmt.Sprintf(
			"with childCount, at most %d people can be named without the link of the mail: open that link, or ask the desk", limit)}).Put("limit", strconv.Itoa(limit))
	}
	err = tx.Stay.Update().Where(entstay.PropertyID(a.PropertyID), entstay.ID(p.Stay.ID)).
		SetAdultCount(adults).SetChildCount(children).SetPartySet(true).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the size of a party: %w", err)
	}
	return recordCompletion(tx, keys, a)
}

// RemoveCompanion deletes a companion with all answers and messages, ends the companion's links and sessions, resolves the notice of unread
// messages, and erases the addresses and texts of the mails to the companion. The size of the party becomes smaller by one, unless the
// companion was one too many. It needs the main guest's session of a mailed link. After the stay it returns errStayEnded. After the check-in
// it returns errAnswered for a companion who has acted on a link of their own (see hasActed): that guest could be in the room.
func RemoveCompanion(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID string) error {
	p, m, err := loadCompanion(tx, keys, a, guestID)
	if err != nil {
		return err
	}
	if m.hasActed() && access.State(p.Reservation.State) == access.Started {
		return errAnswered
	}
	if err := deleteCompanion(tx, m); err != nil {
		return err
	}
	if err := mail.EraseGuest(tx, a.PropertyID, a.ReservationID, guestID); err != nil {
		return err
	}
	if err := notice.Resolve(tx, a.PropertyID, conversation.NoticeKey(conversation.Key{GuestID: guestID})); err != nil {
		return err
	}
	adults, children := 0, 0 // who remain
	for _, other := range p.Members {
		switch {
		case other.Row.ID == m.Row.ID:
		case other.Row.Child:
			children++
		default:
			adults++
		}
	}
	return SetParty(tx, keys, a, min(p.Adults, adults), min(p.Children, children))
}

// loadCompanion loads the party and one companion for a change by the main guest. It needs a session of a mailed link: a companion's link
// leads to the PIN, so a booking number and a name are not enough. It returns errGuestNotFound for the main guest, and errStayEnded after
// the stay.
func loadCompanion(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID string) (*Party, Member, error) {
	if a.Origin != OriginMail {
		return nil, Member{}, errMailOnly
	}
	p, err := loadOwnParty(tx, keys, a)
	if err != nil {
		return nil, Member{}, err
	}
	m, err := p.Member(a, guestID)
	switch {
	case err == nil && m.Row.Role == Main:
		err = errGuestNotFound
	case err == nil && p.hasEnded():
		err = errStayEnded
	}
	return p, m, err
}

// deleteCompanion deletes a companion with the names of their phones, and ends the companion's links and sessions, with the SmartKeys of
// these. It is not for the main guest, whose links and sessions have no guest id.
func deleteCompanion(tx *db.Tx, m Member) error {
	if err := erasePhoneNames(tx, m.Row.PropertyID, m.Row.ID); err != nil {
		return err
	}
	if err := RevokeLinks(tx, m.Row.PropertyID, m.Row.ReservationID, m.Row.ID, false); err != nil {
		return err
	}
	if err := endSessionsOfCompanion(tx, m.Row.PropertyID, m.Row.ID); err != nil {
		return err
	}
	return deleteGuests(tx, m.Row.PropertyID, m.Row)
}

// InviteCompanion stores the address to which the caller mails a companion's link. address is "" if the main guest passes the link on: see
// [CreateCompanionLink]. The companion's former link ends. The devices that opened it lose access, unless the link goes to the same address
// again; "" is never the same, not even after "". If the companion has answered or decided what to share on a link of their own, only the
// same address is accepted. It needs the main guest's session of a mailed link, and refuses after the stay. A minor can be invited only if
// the main guest is an adult whose date of birth is known.
func InviteCompanion(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID, address string) error {
	p, m, err := loadCompanion(tx, keys, a, guestID)
	if err != nil {
		return err
	}
	if p.IsMinor(m) && (p.Members[0].Answers[rule.BirthDate] == "" || p.IsMinor(p.Members[0])) {
		return errMinor
	}
	if m.hasActed() && (address == "" || !strings.EqualFold(m.invitedTo, address)) {
		return errOtherAddress // a reader of the new address could read, change and share the companion's answers
	}
	if err := RevokeLinks(tx, a.PropertyID, a.ReservationID, guestID, false); err != nil {
		return err
	}
	if address == "" || !strings.EqualFold(m.invitedTo, address) {
		if err := endSessionsOfCompanion(tx, a.PropertyID, guestID); err != nil {
			return err
		}
	}
	m.invitedTo = address
	sealed, err := sealPerson(tx.Context(), keys, m.Row, m.person())
	if err != nil {
		return err
	}
	err = tx.Guest.Update().Where(entguest.PropertyID(a.PropertyID), entguest.ID(guestID)).SetPerson(sealed).SetInvitedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the invitation of a companion: %w", err)
	}
	watch.Notify(tx, a.PropertyID, watch.Reservations, a.ReservationID)
	return nil
}

// CreateCompanionLink makes the link of a companion that the main guest passes on. It works as long as a mailed one, and ends the
// companion's former link: see [InviteCompanion].
func CreateCompanionLink(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID string) (NewLink, error) {
	if err := InviteCompanion(tx, keys, a, guestID, ""); err != nil {
		return NewLink{}, err
	}
	reserved, err := loadReservation(tx, a.PropertyID, a.ReservationID)
	if err != nil {
		return NewLink{}, err
	}
	return createLink(tx, keys, a, guestID, "", LinksEndAt(reserved))
}

// SetArrival stores the hour of arrival that the main guest expects, HH:MM; empty: not known. The caller checks the format. A companion's
// session gets ErrMainGuestOnly. After the stay it returns errStayEnded.
func SetArrival(tx *db.Tx, keys *keyring.Ring, a actor.Actor, hour string) error {
	p, err := loadPartyOfStay(tx, keys, a)
	if err != nil {
		return err
	}
	err = tx.Stay.Update().Where(entstay.PropertyID(a.PropertyID), entstay.ID(p.Stay.ID)).SetArrivalTime(hour).SetArrivalSetAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the hour of arrival: %w", err)
	}
	watch.Notify(tx, a.PropertyID, watch.Reservations, a.ReservationID)
	return nil
}

// AcceptHouseRules stores that the main guest accepts the house rules now, and returns the time. A later call replaces the time. It is a
// step of the check-in, so a session of two facts (booking number and name) can do it too. A companion's session gets ErrMainGuestOnly.
// After the stay it returns errStayEnded.
func AcceptHouseRules(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (time.Time, error) {
	p, err := loadPartyOfStay(tx, keys, a)
	if err != nil {
		return time.Time{}, err
	}
	err = tx.Stay.Update().Where(entstay.PropertyID(a.PropertyID), entstay.ID(p.Stay.ID)).SetHouseRulesAcceptedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return time.Time{}, fmt.Errorf("store the consent to house rules: %w", err)
	}
	watch.Notify(tx, a.PropertyID, watch.Reservations, a.ReservationID)
	return tx.Now(), nil
}
