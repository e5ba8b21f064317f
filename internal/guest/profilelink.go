package guest

import (
	"encoding/hex"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entprofile "latchkey.dev/ent/guestprofile"
	entlink "latchkey.dev/ent/profilelink"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/throttle"
)

// A guest without a stay reads and deletes a kept profile with a link that is mailed to the address of the profile. As with other links, an
// HTTP GET changes nothing, and only one device can use it.

const (
	// profileLinkTTL is how long a mailed link to a profile works.
	profileLinkTTL = 24 * time.Hour
	// profileSession is how long a device can read a profile after the guest has used the mailed link on it.
	profileSession = time.Hour
)

// Limits of requests for a link to a profile. They also count requests for an address without a profile, so that a limit does not tell
// whether there is one.
var (
	profileMails  = throttle.Within("profileMails", 24*time.Hour).After(3, 24*time.Hour) // requests for one address
	profileClient = throttle.Within("profileClient", time.Hour).After(20, time.Hour)     // requests from one client network
	profileSite   = throttle.Within("profileSite", time.Hour).After(60, time.Hour)       // requests from one IPv6 site (a /48)
)

// ProfileRequest asks for a link to a profile.
type ProfileRequest struct {
	PropertyID string
	Address    string // the mail address under which the profile is kept
	Client     string // the network of the caller, such as 192.0.2.7/32 or an IPv6 /64
}

// RequestProfileLink counts a request, unless it returns refused: then the client must wait, and the request does not count. due reports
// whether the caller must mail a link: the property keeps a profile for the address, and the address is below its limit.
func RequestProfileLink(tx *db.Tx, keys *keyring.Ring, q ProfileRequest) (due bool, refused, err error) {
	profileID := ProfileID(keys, q.PropertyID, q.Address)
	counters := q.countersOf(keys, profileID)
	if err := loadCounters(tx, q.PropertyID, counters); err != nil {
		return false, nil, err
	}
	address, clients := counters[:1], counters[1:]
	if wait := throttle.LongestWait(clients, tx.Now()); wait > 0 {
		return false, fault.New(fault.Exhausted, fault.TooManyAttempts, "too many links were requested; try again in %s", roughly(wait)).Retry(wait), nil
	}
	limited := throttle.LongestWait(address, tx.Now()) > 0
	for i, c := range counters {
		counters[i] = c.WithFailure(tx.Now())
	}
	if err := storeCounters(tx, q.PropertyID, counters); err != nil {
		return false, nil, err
	}
	kept, err := hasProfile(tx, q.PropertyID, profileID)
	return kept && !limited, nil, err
}

// countersOf returns the counters that limit the requests for links to a profile, not loaded yet. The first counts the mails to the address
// of the profile, and the others count the requests of the client.
func (q ProfileRequest) countersOf(keys *keyring.Ring, profileID string) []throttle.Counter {
	counterOf := func(l throttle.Limit, what string) throttle.Counter {
		return newCounter(keys, l, q.PropertyID, l.Name, what)
	}
	all := []throttle.Counter{counterOf(profileMails, profileID), counterOf(profileClient, q.Client)}
	if site := throttle.SiteOf(q.Client); site != "" {
		all = append(all, counterOf(profileSite, site))
	}
	return all
}

// ProfileID returns the id of the profile that a property keeps under an address, also if it keeps none.
func ProfileID(keys *keyring.Ring, propertyID, address string) string {
	return hex.EncodeToString(AddressMAC(keys, propertyID, address))
}

// hasProfile reports whether a property has a profile with an id.
func hasProfile(view *db.Tx, propertyID, profileID string) (bool, error) {
	found, err := view.GuestProfile.Query().Where(entprofile.PropertyID(propertyID), entprofile.ID(profileID)).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("find a guest's profile: %w", err)
	}
	return found, nil
}

// MailedProfileLink is a link to a profile in the text of a mail. Its secret is derived from the mail's id; Store makes the link work.
type MailedProfileLink struct{ PropertyID, ProfileID, Secret string }

// IsKept reports whether the profile of the link exists.
func (l MailedProfileLink) IsKept(view *db.Tx) (bool, error) {
	return hasProfile(view, l.PropertyID, l.ProfileID)
}

// Store stores the hash of the link's secret, unless the profile was deleted meanwhile, which is no error. A retried mail has the same
// secret, which is stored once.
func (l MailedProfileLink) Store(tx *db.Tx, keys *keyring.Ring) error {
	kept, err := l.IsKept(tx)
	if err != nil || !kept {
		return err
	}
	mac := linkMAC(keys, l.Secret)
	stored, err := tx.ProfileLink.Query().Where(entlink.PropertyID(l.PropertyID), entlink.MAC(mac)).Exist(tx.Context())
	if err == nil && !stored {
		err = tx.ProfileLink.Create().SetID(id.New(id.GuestLink)).SetPropertyID(l.PropertyID).SetProfileID(l.ProfileID).SetMAC(mac).
			SetExpiresAt(tx.Now().Add(profileLinkTTL)).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("store the link to a profile: %w", err)
	}
	return nil
}

// ProfileLinkRow is the link to a profile as stored.
type ProfileLinkRow = ent.ProfileLink

// FindProfileLink returns the link to a profile with a secret, or errLinkNotFound if it is unknown or has expired. It also returns a link
// that a device has bound: then SessionMAC is set.
func FindProfileLink(view *db.Tx, keys *keyring.Ring, secret string) (*ProfileLinkRow, error) {
	if !keyring.IsToken(secret, keyring.GuestLink) {
		return nil, errLinkNotFound
	}
	row, err := view.ProfileLink.Query().Where(entlink.MAC(linkMAC(keys, secret)), entlink.ExpiresAtGT(view.Now())).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, errLinkNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find the link to a profile: %w", err)
	}
	return row, nil
}

// BindProfileLink binds a link to a profile to the caller's device and returns the device's session. The link then expires with the
// session. It returns errLinkBound if a device has bound the link already, and errLinkNotFound for an unknown or expired one.
func BindProfileLink(tx *db.Tx, keys *keyring.Ring, secret string) (Session, error) {
	row, err := FindProfileLink(tx, keys, secret)
	if err != nil {
		return Session{}, err
	}
	out := Session{ID: row.ID, Token: keyring.NewToken(keyring.SessionToken), PropertyID: row.PropertyID, ExpiresAt: tx.Now().Add(profileSession)}
	n, err := tx.ProfileLink.Update().Where(entlink.PropertyID(row.PropertyID), entlink.ID(row.ID), entlink.SessionMACIsNil()).
		SetSessionMAC(sessionMAC(keys, out.Token)).SetExpiresAt(out.ExpiresAt).Save(tx.Context())
	if err != nil {
		return Session{}, fmt.Errorf("bind the link to a profile: %w", err)
	}
	if n == 0 {
		return Session{}, errLinkBound
	}
	return out, nil
}

// findProfileSession returns the guest whose session a link to a profile opened, and false if there is no such session or it has expired.
// mac is the keyed hash of the session's token.
func findProfileSession(view *db.Tx, mac []byte) (a actor.Actor, found bool, err error) {
	row, err := view.ProfileLink.Query().Where(entlink.SessionMAC(mac), entlink.ExpiresAtGT(view.Now())).Only(view.Context())
	if ent.IsNotFound(err) {
		return actor.Actor{}, false, nil
	}
	if err != nil {
		return actor.Actor{}, false, fmt.Errorf("find the session of a profile: %w", err)
	}
	return actor.Actor{Kind: actor.Guest, ID: row.ID, TokenID: row.ID, PropertyID: row.PropertyID, ProfileID: row.ProfileID, Origin: OriginMail}, true, nil
}

// OpenedProfile returns the profile that a session of a profile link reads, and when it was last saved or offered. It returns nil if the
// profile was deleted.
func OpenedProfile(view *db.Tx, keys *keyring.Ring, a actor.Actor) (rule.Answers, time.Time, error) {
	kept, err := view.GuestProfile.Query().Where(entprofile.PropertyID(a.PropertyID), entprofile.ID(a.ProfileID)).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("load a guest's profile: %w", err)
	}
	answers, err := openProfile(view.Context(), keys, kept)
	return answers, kept.UpdatedAt, err
}

// DeleteOpenedProfile deletes the profile that a session of a profile link reads, with all links to it, their sessions and their mails. It
// does nothing if the profile was deleted already.
func DeleteOpenedProfile(tx *db.Tx, a actor.Actor) error {
	_, err := tx.GuestProfile.Delete().Where(entprofile.PropertyID(a.PropertyID), entprofile.ID(a.ProfileID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete a guest's profile: %w", err)
	}
	return deleteProfileMails(tx, a.PropertyID, a.ProfileID)
}

// deleteProfileMails deletes the mails that contained links to the profiles, because they hold the address. It skips empty ids.
func deleteProfileMails(tx *db.Tx, propertyID string, profileIDs ...string) error {
	for _, profileID := range profileIDs {
		addressMAC, err := hex.DecodeString(profileID)
		if err != nil || len(addressMAC) == 0 {
			continue // there is no profile
		}
		if err := mail.DeleteProfileMails(tx, propertyID, addressMAC); err != nil {
			return err
		}
	}
	return nil
}
