package guest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	entguest "latchkey.dev/ent/guest"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

var (
	errNotYourConsent = fault.New(fault.Denied, fault.NotYourConsent, "adults decide themselves what is shared of them: send this guest a link of their own")
	errAnswersHidden  = fault.New(fault.Denied, fault.NotYourConsent, "the answers were given on another device: decide there what is shared of them")
	errOwnAnswers     = fault.New(fault.Denied, fault.NotYourAnswer, "this guest answered on a link of their own: only they change their answers, and what decides whether these are asked")
	errMailedAnswers  = fault.New(fault.Denied, fault.NotYourAnswer, "this would remove answers that were given with the link of the mail: open that link to change them, or ask staff")
	errMinorShares    = fault.New(fault.Denied, fault.NotYourConsent, "an adult main guest decides what is shared of a minor: ask them, or the desk")
)

// checkShare returns why a session is not allowed to decide what is shared of a guest, or nil. nothing is true if the decision is to share
// nothing. It panics for a session whose companion was removed.
//
//	session                      guest                         may decide
//	a companion's                the companion, an adult       yes
//	a companion's                the companion, a minor        only to share nothing
//	the main guest's             the main guest, an adult      yes
//	the main guest's             the main guest, a minor       only to share nothing
//	the main guest's, an adult   a minor, see [age.isWard]     yes
//	the main guest's, a minor    a minor                       no
//	the main guest's             another companion             no
//	of two facts                 as above, but only if all answers and the last decision are from this session
func (p *Party) checkShare(a actor.Actor, m Member, nothing bool) error {
	if a.Origin != OriginMail {
		if m.Row.SharingSetAt != nil && m.Row.SharingSession != a.ID || len(m.answersOf(a.ID)) < len(m.Answers) {
			return errAnswersHidden
		}
	}
	caller := p.callerMember(a)
	switch own := m.Row.ID == caller.Row.ID; {
	case own && p.IsMinor(m) && !nothing:
		return errMinorShares
	case own:
		return nil
	case !p.isWardOfMainGuest(m):
		return errNotYourConsent
	case p.IsMinor(caller):
		return errMinorShares
	}
	return nil
}

// MayShare reports whether a session may share data of a guest with the PMS. A session that may only decide to share nothing gets false. It
// panics for a session whose companion was removed.
func (p *Party) MayShare(a actor.Actor, m Member) bool {
	return p.MayAccess(a) && p.checkShare(a, m, false) == nil
}

// answersOf returns the answers that were given in the session with an id.
func (m Member) answersOf(session string) rule.Answers {
	out := rule.Answers{}
	for field, value := range m.Answers {
		if m.by[field] == session {
			out[field] = value
		}
	}
	return out
}

// callerMember returns the guest who uses a session: the companion, or else the main guest. It panics for a companion who was removed.
func (p *Party) callerMember(a actor.Actor) Member { return p.Visible(a)[0] }

// SharingChoice is a guest's choice of the groups of fields that the PMS may get. Groups are names of [rule.Group]; empty: the guest shares
// nothing. An empty GuestID means the caller.
type SharingChoice struct {
	GuestID string
	Groups  []string
}

// SetSharing stores what the PMS may get of guests; there must be at least one choice, and the caller checks the names of the groups. If
// the first choice is the main guest's, keep decides whether the property keeps a profile: the main guest's answers, for the next stay.
// Only a session of a mailed link changes that, and only for a stay with [Party.UsesProfile]. Without keep, the profile is deleted only if
// this stay kept it. If one choice is refused, none is stored.
func SetSharing(tx *db.Tx, keys *keyring.Ring, a actor.Actor, keep bool, choices ...SharingChoice) error {
	p, err := loadTrustedParty(tx, keys, a)
	if err != nil {
		return err
	}
	if len(p.Visible(a)) == 0 {
		return errGuestNotFound // the companion was removed
	}
	chosen := make([]Member, len(choices))
	for i, c := range choices {
		chosen[i] = p.callerMember(a)
		if c.GuestID != "" {
			if chosen[i], err = p.Member(a, c.GuestID); err != nil {
				return err
			}
		}
		if err := p.checkShare(a, chosen[i], len(c.Groups) == 0); err != nil {
			return err
		}
	}
	if err := p.storeSharing(tx, a, chosen, choices); err != nil {
		return err
	}
	if chosen[0].Row.Role != Main || a.Origin != OriginMail {
		return nil
	}
	if !keep && !p.Stay.KeepProfile && p.Stay.ProfileID == "" {
		return nil // the choice was off before, and nothing was offered: a profile of an earlier stay is not deleted
	}
	return p.keepProfile(tx, keys, keep)
}

// storeSharing stores the choices of guests, with one statement for all guests who share the same groups. of has the guest of each choice.
// It also stores who decided and, for a session of two facts, the session: such a decision covers only the answers of that session.
func (p *Party) storeSharing(tx *db.Tx, a actor.Actor, of []Member, choices []SharingChoice) error {
	session := a.ID
	if a.Origin == OriginMail {
		session = ""
	}
	alike := map[string][]string{}
	for i, c := range choices {
		groups := strings.Join(c.Groups, " ")
		alike[groups] = append(alike[groups], of[i].Row.ID)
	}
	for _, groups := range slices.Sorted(maps.Keys(alike)) {
		err := tx.Guest.Update().Where(entguest.PropertyID(a.PropertyID), entguest.IDIn(alike[groups]...)).
			SetSharedGroups(strings.Fields(groups)).SetSharingSetAt(tx.Now()).SetSharingSession(session).SetSharingBy(p.callerMember(a).Row.ID).Exec(tx.Context())
		if err != nil {
			return fmt.Errorf("store what guests share: %w", err)
		}
	}
	watch.Notify(tx, a.PropertyID, watch.Reservations, p.Reservation.ID)
	return nil
}

// keepProfile stores whether the property keeps the main guest's answers, and saves or deletes the profile. It does nothing if the stay
// uses no profile: see [Party.UsesProfile].
func (p *Party) keepProfile(tx *db.Tx, keys *keyring.Ring, keep bool) error {
	uses, err := p.UsesProfile(tx)
	if err != nil || !uses {
		return err
	}
	err = tx.Stay.Update().Where(entstay.PropertyID(p.Stay.PropertyID), entstay.ID(p.Stay.ID)).SetKeepProfile(keep).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store whether a guest's answers are kept: %w", err)
	}
	if keep {
		return p.saveProfile(tx, keys, p.Members[0].Answers)
	}
	return p.deleteProfile(tx, keys)
}
