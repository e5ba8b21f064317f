package guest

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/throttle"
)

// Lifetimes of sessions that two facts (number and name) open. A session at a kiosk ends kioskSession after its stored use, because a
// family needs a while for its answers. The stored use is up to usedInterval older than the last one. It ends longestKioskSession after its
// beginning at the latest. A session on a phone lasts longer once it has checked the guest in: see [Prolong].
const (
	kioskSession        = 10 * time.Minute
	longestKioskSession = time.Hour
	doorSession         = 2 * time.Hour
)

// Search finds a stay by two facts: its number, and a family name.
type Search struct {
	PropertyID string
	Number     string // pmsNumber or channelNumber
	FamilyName string // of the booker or of a guest
	Choice     string // the ID of the [Choice] that the guest picked, or empty
	KioskID    string // empty: a search from a QR code
	Address    string // the network of the client, such as 192.0.2.7/32 or an IPv6 /64; empty for a search at a kiosk
	Device     string // how the client describes its device; empty for a search at a kiosk
	Place      string // name of the kiosk or of the QR code, for staff
}

// Choice is one of several stays that match. ID is that of the reservation. The days are set only if room and initials are the same as
// those of another choice, and the number only if the days are the same too. Days are YYYY-MM-DD in the property's zone.
type Choice struct {
	ID, SpaceName, Initials  string
	FromDate, ToDate, Number string
}

// Found is the result of a search: a session if one stay matches, or choices if several do. It is zero if [Find] refuses the search,
// because none matches or the search has to wait.
type Found struct {
	Session   *Session
	Choices   []Choice
	CheckedIn bool // CheckedIn means that the PMS has checked in the guest of the session's stay
}

var errStayNotFound = fault.New(fault.NotFound, fault.StayNotFound, "no stay has this number and this family name; check both, or ask the desk")

// Matches is what [Search.Match] found, or how long the search has to wait. [Find] then counts the search.
type Matches struct {
	wait    time.Duration // above 0: the search has to wait, so it compared nothing
	numbers []string      // what the search is counted against: the typed number and the other numbers of its stays
	stays   []*ent.Reservation
	choices []Choice
}

// Match finds the stays that a search matches, or how long the search has to wait. It changes nothing. It decrypts and compares many
// persons, so it runs outside of the write transaction that counts the search: see [Find].
func (q Search) Match(view *db.Tx, keys *keyring.Ring) (Matches, error) {
	rows, err := q.withNumber(view)
	if err != nil {
		return Matches{}, err
	}
	m := Matches{numbers: q.numbers(rows)}
	counters, err := q.countersOf(view, keys, m.numbers)
	if err != nil {
		return Matches{}, err
	}
	if m.wait = throttle.LongestWait(counters, view.Now()); m.wait > 0 {
		return m, nil
	}
	found, _, err := q.matches(view, keys, rows)
	if err != nil {
		return Matches{}, err
	}
	if q.Choice != "" {
		found = slices.DeleteFunc(found, func(m match) bool { return m.row.ID != q.Choice })
	}
	for _, f := range found {
		m.stays = append(m.stays, f.row)
	}
	if len(found) > 1 {
		m.choices, err = choicesOf(view, found, m.stays)
	}
	return m, err
}

// choicesOf returns, in the order of found, what a guest sees to pick one of several matching stays: the initials of the booker and the
// room. Stays that look the same also show the days. If these are the same too, they show the number.
func choicesOf(view *db.Tx, found []match, stays []*ent.Reservation) ([]Choice, error) {
	places, err := reservation.PlacesOf(view, stays)
	if err != nil {
		return nil, err
	}
	prop, err := property.Get(view, stays[0].PropertyID)
	if err != nil {
		return nil, err
	}
	zone, err := clock.Zone(prop.TimeZone)
	if err != nil {
		return nil, err
	}
	choices := make([]Choice, len(found))
	for i, f := range found {
		choices[i] = Choice{ID: f.row.ID, Initials: initials(f.booker)}
		if places[i].Space != nil {
			choices[i].SpaceName = text.FullName(places[i].ParentName(), places[i].Space.Name)
		}
	}
	forEachAlike(choices, func(i int) {
		choices[i].FromDate, choices[i].ToDate = stays[i].FromAt.In(zone).Format(time.DateOnly), stays[i].ToAt.In(zone).Format(time.DateOnly)
	})
	forEachAlike(choices, func(i int) { choices[i].Number = stays[i].PmsNumber })
	return choices, nil
}

// forEachAlike calls f with the index of each choice that looks the same as another one.
func forEachAlike(choices []Choice, f func(i int)) {
	looks := make([]Choice, len(choices))
	times := map[Choice]int{}
	for i, c := range choices {
		c.ID = ""
		looks[i] = c
		times[c]++
	}
	for i, look := range looks {
		if times[look] > 1 {
			f(i)
		}
	}
}

// Find creates a session if exactly one stay matches, and returns choices if several do. A search without a match counts as failed, unless
// its stay changed since [Search.Match]. refused is the error for the guest: nothing was found, or the search has to wait. The caller must
// commit the transaction also then, because it counts the attempt.
func Find(tx *db.Tx, keys *keyring.Ring, q Search, m Matches) (found Found, refused, err error) {
	counters, err := q.countersOf(tx, keys, m.numbers)
	if err != nil {
		return Found{}, nil, err
	}
	// Other searches may have failed since the stays were matched, or a pause may have ended.
	if wait := max(m.wait, throttle.LongestWait(counters, tx.Now())); wait > 0 {
		return Found{}, tooManyAttempts(wait), nil
	}
	switch len(m.stays) {
	case 0:
		return Found{}, errStayNotFound, q.recordFailure(tx, counters)
	case 1:
		row, err := q.reload(tx, m.stays[0])
		if err != nil || row == nil {
			return Found{}, errStayNotFound, err
		}
		s, err := q.begin(tx, keys, row)
		if err == nil {
			err = q.refund(tx, counters)
		}
		return Found{Session: &s, CheckedIn: row.State == string(access.Started)}, nil, err
	}
	return Found{Choices: m.choices}, nil, nil
}

// begin stores the missing guests of the reservation that was found, and creates a session. A tablet's other sessions end.
func (q Search) begin(tx *db.Tx, keys *keyring.Ring, row *ent.Reservation) (Session, error) {
	if _, err := ensureParty(tx, row); err != nil {
		return Session{}, err
	}
	spec := SessionSpec{PropertyID: q.PropertyID, ReservationID: row.ID, Origin: OriginDoor, Device: q.Device, TTL: doorSession}
	if q.KioskID != "" {
		// A tablet serves one guest at a time. The last session there ends now, also if the tablet was offline and could not end it.
		if err := EndKioskSessions(tx, q.PropertyID, q.KioskID); err != nil {
			return Session{}, err
		}
		spec.Origin, spec.TTL = q.KioskID, kioskSession
	}
	return CreateSession(tx, keys, spec)
}

// numberSpellings returns the spellings in which a PMS could have sent a typed number: with and without spaces, in upper and lower case.
func numberSpellings(number string) []string {
	typed := strings.Join(strings.Fields(number), " ")
	packed := strings.ReplaceAll(typed, " ", "")
	out := []string{typed, strings.ToUpper(typed), strings.ToLower(typed), packed, strings.ToUpper(packed), strings.ToLower(packed)}
	slices.Sort(out)
	return slices.Compact(out)
}

// umlauts replaces German and Nordic letters by their usual spelling without them, such as ae for ä.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "ae", "Ö", "oe", "Ü", "ue", "ø", "oe", "Ø", "oe", "å", "aa", "Å", "aa")

// foldName returns the comparable forms of a name. Case, accents, spaces, hyphens and apostrophes do not count. A name without letters and
// digits has no form, so no name equals it.
func foldName(name string) []string {
	var out []string
	for _, spelling := range []string{name, umlauts.Replace(norm.NFC.String(name))} {
		if folded := strings.Join(text.Words(spelling), ""); folded != "" && !slices.Contains(out, folded) {
			out = append(out, folded)
		}
	}
	return out
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

// initial returns the first letter of a name in upper case with a full stop, or "".
func initial(name string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
	if first == utf8.RuneError {
		return ""
	}
	return string(unicode.ToUpper(first)) + "."
}

// shownNumber returns how staff see a number that was typed in a failed search, cut to 40 bytes. It returns "?" for text without a digit,
// which may be a name.
func shownNumber(number string) string {
	if !strings.ContainsFunc(number, unicode.IsDigit) {
		return "?"
	}
	return text.Truncate(text.Escape(number), 40)
}
