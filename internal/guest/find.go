package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/text"
)

// Lifetimes of the sessions that two facts give.
const (
	kioskSession = 10 * time.Minute
	doorSession  = 2 * time.Hour
)

// maxSameNumber bounds the stays that a search compares.
const maxSameNumber = 100

// Search finds a stay by two facts: its number, and a family name.
type Search struct {
	PropertyID string
	Number     string // pmsNumber or channelNumber
	FamilyName string // of the booker or of a guest
	Choice     string // one of the choices of a former answer
	KioskID    string // empty: a search from a QR code
	Address    string // of the client, for a search from a QR code
	Place      string // name of the kiosk or of the QR code, for staff
}

// Choice is one of several stays that match.
type Choice struct {
	ID, SpaceName, Initials string
}

// Found is the result of a search.
type Found struct {
	Session *Session
	Choices []Choice
}

var errStayNotFound = fault.New(fault.NotFound, fault.StayNotFound, "no stay has this number and this family name; check both, or ask the desk")

// Find finds a stay and creates a session for it. refused is why nothing was found; a transaction that refuses must be committed all
// the same, because it counts the attempt.
func Find(tx *db.Tx, keys *keyring.Ring, q Search) (found Found, refused, err error) {
	counters := q.countersOf(keys)
	wait, err := retryAfter(tx, q.PropertyID, counters)
	if err != nil {
		return Found{}, nil, err
	}
	if wait > 0 {
		return Found{}, tooManyAttempts(wait), nil
	}
	matches, err := q.matches(tx, keys)
	if err != nil {
		return Found{}, nil, err
	}
	if q.Choice != "" {
		matches = slices.DeleteFunc(matches, func(m match) bool { return m.row.ID != q.Choice })
	}
	switch len(matches) {
	case 0:
		return Found{}, errStayNotFound, q.recordFailure(tx, counters)
	case 1:
		s, err := q.begin(tx, keys, matches[0].row)
		return Found{Session: &s}, nil, err
	}
	for _, m := range matches {
		place, err := reservation.PlaceOf(tx, m.row)
		if err != nil {
			return Found{}, nil, err
		}
		c := Choice{ID: m.row.ID, Initials: initials(m.booker)}
		if place.Space != nil {
			c.SpaceName = place.Space.Name
		}
		found.Choices = append(found.Choices, c)
	}
	return found, nil, nil
}

func (q Search) begin(tx *db.Tx, keys *keyring.Ring, row *ent.Reservation) (Session, error) {
	if _, err := ensureParty(tx, row); err != nil {
		return Session{}, err
	}
	spec := SessionSpec{PropertyID: q.PropertyID, ReservationID: row.ID, Origin: OriginDoor, TTL: doorSession}
	if q.KioskID != "" {
		spec.Origin, spec.TTL = q.KioskID, kioskSession
	}
	return CreateSession(tx, keys, spec)
}

type match struct {
	row    *ent.Reservation
	booker reservation.Booker
}

// matches returns the stays with the number and the family name. It does the same work for an unknown number as for a wrong name: it
// queries the guests and decrypts a booker.
func (q Search) matches(tx *db.Tx, keys *keyring.Ring) ([]match, error) {
	spellings := numberSpellings(q.Number)
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(q.PropertyID),
		entreservation.StateIn(string(access.Confirmed), string(access.Started)), entreservation.ToAtGT(tx.Now()), entreservation.ErasedAtIsNil(),
		entreservation.Or(entreservation.PmsNumberIn(spellings...), entreservation.ChannelNumberIn(spellings...)),
	).Order(entreservation.ByID()).Limit(maxSameNumber).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("find a stay by its number: %w", err)
	}
	names, err := q.guestNames(tx, keys, rows)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, spendOneDecryption(tx.Context(), keys, q.PropertyID)
	}
	asked := foldName(q.FamilyName)
	var out []match
	for _, row := range rows {
		booker, err := reservation.Service{Keys: keys}.Booker(tx.Context(), row)
		if err != nil {
			return nil, err
		}
		if sameName(asked, append(names[row.ID], booker.LastName)) {
			out = append(out, match{row, booker})
		}
	}
	return out, nil
}

// guestNames returns the family names that guests of some stays gave, by stay.
func (q Search) guestNames(tx *db.Tx, keys *keyring.Ring, rows []*ent.Reservation) (map[string][]string, error) {
	ids := make([]string, len(rows), len(rows)+1)
	for i, row := range rows {
		ids[i] = row.ID
	}
	guests, err := tx.Guest.Query().Where(entguest.PropertyID(q.PropertyID), entguest.ReservationIDIn(append(ids, "")...), entguest.PersonNotNil()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the guests of stays: %w", err)
	}
	names := map[string][]string{}
	for _, g := range guests {
		answers, err := Answers(tx.Context(), keys, g)
		if err != nil {
			return nil, err
		}
		last, second := answers[rule.LastName], answers[rule.SecondLastName]
		names[g.ReservationID] = append(names[g.ReservationID], last, last+" "+second)
	}
	return names, nil
}

func spendOneDecryption(ctx context.Context, keys *keyring.Ring, propertyID string) error {
	raw, err := json.Marshal(reservation.Booker{LastName: "unknown"})
	if err == nil {
		raw, err = keys.Seal(ctx, propertyID, "unknown booker", raw)
	}
	if err == nil {
		_, err = keys.Open(ctx, propertyID, "unknown booker", raw)
	}
	return err
}

// foldNumber returns a number without spaces, in upper case.
func foldNumber(number string) string {
	return strings.ToUpper(strings.Join(strings.Fields(number), ""))
}

// numberSpellings returns how a PMS may write a number that a guest typed.
func numberSpellings(number string) []string {
	typed := strings.Join(strings.Fields(number), " ")
	packed := strings.ReplaceAll(typed, " ", "")
	out := []string{typed, strings.ToUpper(typed), strings.ToLower(typed), packed, strings.ToUpper(packed), strings.ToLower(packed)}
	slices.Sort(out)
	return slices.Compact(out)
}

// umlauts are how German and Nordic letters are written without them.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "ae", "Ö", "oe", "Ü", "ue", "ø", "oe", "Ø", "oe", "å", "aa", "Å", "aa")

// foldName returns the comparable forms of a name. Case, accents, spaces, hyphens and apostrophes do not count. Nothing is comparable
// to a name without letters.
func foldName(name string) []string {
	var out []string
	for _, spelling := range []string{name, umlauts.Replace(norm.NFC.String(name))} {
		if folded := strings.Join(text.Words(spelling), ""); folded != "" && !slices.Contains(out, folded) {
			out = append(out, folded)
		}
	}
	return out
}

// sameName reports whether a name is one of some names.
func sameName(asked []string, names []string) bool {
	same := false
	for _, name := range names {
		for _, folded := range foldName(name) {
			same = slices.Contains(asked, folded) || same
		}
	}
	return same
}

// initials returns the first letters of the booker's names, such as "A. S.".
func initials(b reservation.Booker) string {
	var out []string
	if b.FirstName != nil {
		out = append(out, initial(*b.FirstName))
	}
	out = append(out, initial(b.LastName))
	return strings.TrimSpace(strings.Join(out, " "))
}

func initial(name string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
	if first == utf8.RuneError {
		return ""
	}
	return string(unicode.ToUpper(first)) + "."
}

// shownNumber returns what staff see of a number that was tried. Text without a digit may be a name, so it is not shown.
func shownNumber(number string) string {
	if !strings.ContainsFunc(number, unicode.IsDigit) {
		return "?"
	}
	return text.Truncate(text.Escape(number), 40)
}
