package guest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entprofile "latchkey.dev/ent/guestprofile"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
)

// profilePurpose returns the purpose of [keyring.Ring.Seal] for a profile.
func profilePurpose(profileID string) string { return "guestProfile/" + profileID }

// offerProfile copies a profile, the answers that the property keeps of a guest, to the main guest of a new stay, if the guest answered
// nothing yet and the stay uses a profile ([Party.UsesProfile]). Only a link to the profile's own address gets it. The answers count like
// those that the guest saves, so a guest who changes none has an official form, too. What this stay does not ask is left out. The stay is
// then set to keep the profile.
func offerProfile(tx *db.Tx, keys *keyring.Ring, g *ent.Guest, addressMAC []byte) error {
	if len(g.Person) > 0 || len(addressMAC) == 0 {
		return nil
	}
	kept, err := tx.GuestProfile.Query().Where(entprofile.PropertyID(g.PropertyID), entprofile.ID(hex.EncodeToString(addressMAC))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load a guest's profile: %w", err)
	}
	p, err := LoadParty(tx, keys, g.PropertyID, g.ReservationID)
	if err != nil {
		return err
	}
	if present, err := p.presentProfileID(tx.Context(), keys); err != nil || present != kept.ID {
		return err // offer nothing: the link went to an address that the guest typed, which may be another person's
	}
	if uses, err := p.UsesProfile(tx); err != nil || !uses {
		return err
	}
	answers, err := openProfile(tx.Context(), keys, kept)
	if err != nil {
		return err
	}
	m := &p.Members[0]
	m.Answers, m.mailed = answers, givenByMail(answers)
	dropUnasked(*m, rule.Fields(p.Rules, ruleGuest(*m), p.ruleParty()))
	p.findMissing(m)
	sealed, err := sealPerson(tx.Context(), keys, g, m.person())
	if err != nil {
		return err
	}
	err = tx.Guest.Update().Where(entguest.PropertyID(g.PropertyID), entguest.ID(g.ID)).
		SetPerson(sealed).SetFromProfile(true).SetComplete(len(m.Missing) == 0).SetLaw(p.keptLaw()).Exec(tx.Context())
	if err == nil {
		err = tx.GuestProfile.Update().Where(entprofile.PropertyID(g.PropertyID), entprofile.ID(kept.ID)).SetUpdatedAt(tx.Now()).Exec(tx.Context())
	}
	if err == nil { // the guest wants the profile kept, until they switch that off
		err = tx.Stay.Update().Where(entstay.PropertyID(g.PropertyID), entstay.ReservationID(g.ReservationID)).SetKeepProfile(true).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("offer a guest's profile: %w", err)
	}
	return recordProfile(tx, g.PropertyID, g.ReservationID, kept.ID)
}

// givenByMail returns the marks of all answers as given with the link of the mail, see the field Mailed of person. A profile is offered
// only there, so a session of two facts (booking number and name) must not replace what it put into the form.
func givenByMail(answers rule.Answers) map[rule.Field]bool {
	mailed := make(map[rule.Field]bool, len(answers))
	for field := range answers {
		mailed[field] = true
	}
	return mailed
}

// ProfileRetention is how long a profile is kept after it was last saved or offered.
const ProfileRetention = 3 * 365 * 24 * time.Hour

// DeleteUnusedProfiles deletes profiles that were neither saved nor offered since a time, at most limit, and returns their number.
func DeleteUnusedProfiles(tx *db.Tx, before time.Time, limit int) (int, error) {
	ids, err := tx.GuestProfile.Query().Where(entprofile.UpdatedAtLT(before)).Limit(limit).IDs(tx.Context())
	if err == nil {
		_, err = tx.GuestProfile.Delete().Where(entprofile.IDIn(ids...)).Exec(tx.Context())
	}
	if err != nil {
		return 0, fmt.Errorf("delete unused profiles of guests: %w", err)
	}
	return len(ids), nil
}

// openProfile decrypts the answers that a property keeps of a guest for the next stay.
func openProfile(ctx context.Context, keys *keyring.Ring, kept *ent.GuestProfile) (answers rule.Answers, err error) {
	raw, err := keys.Open(ctx, kept.PropertyID, profilePurpose(kept.ID), kept.Person)
	if err == nil {
		err = json.Unmarshal(raw, &answers)
	}
	if err != nil {
		return nil, fmt.Errorf("open a guest's profile: %w", err)
	}
	return answers, nil
}

// presentProfileID returns the id of the profile of the booker's present address, or "" if that address does not reach the guest, such as
// an agency's. An address that the guest typed does not count: it may be another person's, whose profile the guest would read.
func (p *Party) presentProfileID(ctx context.Context, keys *keyring.Ring) (string, error) {
	booker, err := reservation.Service{Keys: keys}.Booker(ctx, p.Reservation)
	if err != nil {
		return "", err
	}
	if booker.Email == nil || !mail.Reaches(*booker.Email) {
		return "", nil
	}
	return ProfileID(keys, p.Reservation.PropertyID, *booker.Email), nil
}

// DecidesProfile reports whether a session decides if the property keeps the main guest's answers for the next stay. The session must be
// the main guest's with the link of the mail, and the stay must use a profile. There must be a profile, or an address to keep one under.
func (p *Party) DecidesProfile(view *db.Tx, keys *keyring.Ring, a actor.Actor) (bool, error) {
	if own := p.Visible(a); len(own) == 0 || own[0].Row.Role != Main || a.Origin != OriginMail {
		return false, nil
	}
	uses, err := p.UsesProfile(view)
	if err != nil || !uses || p.Stay.KeepProfile || p.Stay.ProfileID != "" {
		return uses, err
	}
	present, err := p.presentProfileID(view.Context(), keys)
	return present != "", err
}

// saveProfile replaces the kept profile by the answers of the main guest, without those about one journey, under the present address of the
// booker. Without answers, or without an address that reaches the guest, it only deletes the former one. It does nothing if the stay uses
// no profile.
func (p *Party) saveProfile(tx *db.Tx, keys *keyring.Ring, answers rule.Answers) error {
	if uses, err := p.UsesProfile(tx); err != nil || !uses {
		return err
	}
	if err := p.deleteProfile(tx, keys); err != nil {
		return err
	}
	profileID, err := p.presentProfileID(tx.Context(), keys)
	if err != nil || profileID == "" || len(answers) == 0 {
		return err
	}
	raw, err := json.Marshal(lastingAnswers(answers))
	if err == nil {
		raw, err = keys.Seal(tx.Context(), p.Reservation.PropertyID, profilePurpose(profileID), raw)
	}
	if err == nil {
		err = tx.GuestProfile.Create().SetID(profileID).SetPropertyID(p.Reservation.PropertyID).SetPerson(raw).
			SetUpdatedAt(tx.Now()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("keep a guest's profile: %w", err)
	}
	p.Stay.ProfileID = profileID
	return recordProfile(tx, p.Reservation.PropertyID, p.Reservation.ID, profileID)
}

// lastingAnswers returns the answers without those about one journey, which the next stay must ask again.
func lastingAnswers(answers rule.Answers) rule.Answers {
	out := maps.Clone(answers)
	maps.DeleteFunc(out, func(f rule.Field, _ string) bool {
		step, _ := rule.StepOf(f)
		return step == rule.JourneyStep
	})
	return out
}

// deleteProfile deletes what the property keeps of the guest: the profile that this stay saved or was offered, the one of the booker's
// present address, and the mails with links to them. The PMS may have changed the address since the profile was saved. A stay that uses no
// profile deletes none.
func (p *Party) deleteProfile(tx *db.Tx, keys *keyring.Ring) error {
	if uses, err := p.UsesProfile(tx); err != nil || !uses {
		return err
	}
	present, err := p.presentProfileID(tx.Context(), keys)
	if err != nil {
		return err
	}
	saved := ""
	if p.Stay != nil {
		saved = p.Stay.ProfileID
	}
	_, err = tx.GuestProfile.Delete().Where(entprofile.PropertyID(p.Reservation.PropertyID), entprofile.IDIn(present, saved)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete a guest's profile: %w", err)
	}
	if err := deleteProfileMails(tx, p.Reservation.PropertyID, present, saved); err != nil {
		return err
	}
	if saved == "" {
		return nil
	}
	p.Stay.ProfileID = ""
	return recordProfile(tx, p.Reservation.PropertyID, p.Reservation.ID, "")
}

// recordProfile stores with a stay which profile its guest saved or was offered, so that it can be deleted with it; profileID empty: none.
func recordProfile(tx *db.Tx, propertyID, reservationID, profileID string) error {
	err := tx.Stay.Update().Where(entstay.PropertyID(propertyID), entstay.ReservationID(reservationID)).SetProfileID(profileID).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("record the profile of a stay: %w", err)
	}
	return nil
}

// checkProfileUse returns an error for a session that must not read or delete the profile: ErrMainGuestOnly for a companion's, and
// errMailLinkOnly for one of two facts (booking number and name).
func checkProfileUse(a actor.Actor) error {
	guestID, err := erasureScope(a)
	if err == nil && guestID != "" {
		err = ErrMainGuestOnly
	}
	return err
}

// ProfileOf returns what the property keeps of the guest of a session for the next stay, and when it was last saved or offered; nil:
// nothing. It fails unless the session is the main guest's, with the link of the mail.
func ProfileOf(view *db.Tx, keys *keyring.Ring, p *Party, a actor.Actor) (rule.Answers, time.Time, error) {
	if err := checkProfileUse(a); err != nil {
		return nil, time.Time{}, err
	}
	return p.KeptProfile(view, keys)
}

// DeleteProfile deletes what the property keeps of the guest of a session for the next stay, and sets the stay to keep nothing. It does
// nothing if the stay uses no profile: see [Party.UsesProfile]. It fails unless the session is the main guest's, with the link of the mail.
func DeleteProfile(tx *db.Tx, keys *keyring.Ring, a actor.Actor) error {
	if err := checkProfileUse(a); err != nil {
		return err
	}
	p, err := loadTrustedParty(tx, keys, a)
	if err != nil {
		return err
	}
	return p.keepProfile(tx, keys, false)
}
