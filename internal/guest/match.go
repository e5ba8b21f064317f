package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

const (
	// maxSameNumber bounds the stays with the typed number that a search compares. It does not find further ones.
	maxSameNumber = 100
	// workUnit is what the work of a search is rounded up to, in persons who are decrypted and compared. So the time of an answer does not
	// tell whether a number is known, nor how many guests its stay has.
	workUnit = 16
	// maxBookers is how many different bookers can have one number of a channel. With more, no stay is found by it. Some PMSs send the same
	// text, such as "0" or "none", for every booking without a channel: with it, a name alone would find a stay.
	maxBookers = 5
)

// match is a stay that a search found, with its booker.
type match struct {
	row    *ent.Reservation
	booker reservation.Booker
}

// withNumber returns the stays that a search can find with the typed number, which is the PMS's or the channel's, at most maxSameNumber.
func (q Search) withNumber(tx *db.Tx) ([]*ent.Reservation, error) {
	spellings := numberSpellings(q.Number)
	folded := reservation.FoldNumber(q.Number)
	rows, err := q.findable(tx).Where(entreservation.Or(
		entreservation.PmsNumberIn(spellings...), entreservation.ChannelNumberIn(spellings...),
		entreservation.FoldedNumber(folded), entreservation.FoldedChannelNumber(folded))).
		Order(entreservation.ByID()).Limit(maxSameNumber).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("find a stay by its number: %w", err)
	}
	return rows, nil
}

// findable returns the query for the stays of the property that a search can find: confirmed or started, not over and not erased.
func (q Search) findable(tx *db.Tx) *ent.ReservationQuery {
	return tx.Reservation.Query().Where(entreservation.PropertyID(q.PropertyID),
		entreservation.StateIn(string(access.Confirmed), string(access.Started)), entreservation.ToAtGT(tx.Now()), entreservation.ErasedAtIsNil())
}

// reload returns a stay that matched, as stored now, or nil if a search can no longer find it.
func (q Search) reload(tx *db.Tx, matched *ent.Reservation) (*ent.Reservation, error) {
	row, err := q.findable(tx).Where(entreservation.ID(matched.ID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the stay that a search found: %w", err)
	}
	return row, nil
}

// matches returns the stays whose booker or guest has the searched family name, or a part of it. It leaves out those that only a
// placeholder number finds: see isPlaceholder. work is how many persons were decrypted and compared, with the decoys: a multiple of
// workUnit.
func (q Search) matches(tx *db.Tx, keys *keyring.Ring, rows []*ent.Reservation) (out []match, work int, err error) {
	ctx := tx.Context()
	guests, err := q.guestsOf(tx, rows)
	if err != nil {
		return nil, 0, err
	}
	asked, same := askedNames(q.FamilyName), map[string]bool{}
	compare := func(reservationID, last, second string) {
		work++
		full := sameName(asked, last+" "+second)
		same[reservationID] = sameName(asked, last) || full || samePart(asked, last) || same[reservationID]
	}
	for _, g := range guests {
		answers, err := Answers(ctx, keys, g)
		if err != nil {
			return nil, 0, err
		}
		compare(g.ReservationID, answers[rule.LastName], answers[rule.SecondLastName])
	}
	bookers := make([]reservation.Booker, len(rows))
	for i, row := range rows {
		if bookers[i], err = (reservation.Service{Keys: keys}).Booker(ctx, row); err != nil {
			return nil, 0, err
		}
		compare(row.ID, bookers[i].LastName, "")
	}
	if err := q.compareDecoys(ctx, keys, workUnit-work%workUnit, func(last string) { compare("", last, "") }); err != nil {
		return nil, 0, err
	}
	placeholder := q.isPlaceholder(rows, bookers)
	for i, row := range rows {
		if same[row.ID] && !(placeholder && q.isOnlyOfChannel(row)) {
			out = append(out, match{row, bookers[i]})
		}
	}
	return out, work, nil
}

// isPlaceholder reports whether the typed number is one that a channel gives to many bookings, such as 0: too many different bookers have
// it as the number of their channel. bookers has the booker of each of rows.
func (q Search) isPlaceholder(rows []*ent.Reservation, bookers []reservation.Booker) bool {
	names := map[string]bool{}
	for i, row := range rows {
		if q.isOnlyOfChannel(row) {
			names[strings.Join(foldName(bookers[i].LastName), " ")] = true
		}
	}
	return len(names) > maxBookers
}

// isOnlyOfChannel reports whether a row that was found by the typed number has it from the channel (the agency), and not from the PMS. It
// only compares with the PMS's number.
func (q Search) isOnlyOfChannel(row *ent.Reservation) bool {
	return reservation.FoldNumber(row.PmsNumber) != reservation.FoldNumber(q.Number)
}

// guestsOf returns the guests of some stays who answered. It runs the same query without stays, so that the time does not tell whether a
// number exists.
func (q Search) guestsOf(tx *db.Tx, rows []*ent.Reservation) ([]*ent.Guest, error) {
	ids := []string{""}
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	guests, err := tx.Guest.Query().Where(entguest.PropertyID(q.PropertyID), entguest.ReservationIDIn(ids...), entguest.PersonNotNil()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the guests of stays: %w", err)
	}
	return guests, nil
}

// compareDecoys decrypts and compares an invented name n times, so that a search for an unknown reservation number takes as long as one for
// a known number.
func (q Search) compareDecoys(ctx context.Context, keys *keyring.Ring, n int, compare func(last string)) error {
	const purpose = "decoy"
	raw, err := json.Marshal(reservation.Booker{LastName: "Decoy"})
	if err != nil {
		return err
	}
	sealed, err := keys.Seal(ctx, q.PropertyID, purpose, raw)
	if err != nil {
		return fmt.Errorf("seal a decoy: %w", err)
	}
	for range n {
		raw, err := keys.Open(ctx, q.PropertyID, purpose, sealed)
		var decoy reservation.Booker
		if err == nil {
			err = json.Unmarshal(raw, &decoy)
		}
		if err != nil {
			return fmt.Errorf("open a decoy: %w", err)
		}
		compare(decoy.LastName)
	}
	return nil
}

// askedNames returns the comparable forms of a typed family name and of its first words. For "García López" it also returns "garcia",
// because an identity card may have more family names than the booking.
func askedNames(typed string) []string {
	var out []string
	words := strings.Fields(typed)
	words = words[:min(len(words), maxNameWords)]
	for n := len(words); n > 0; n-- {
		out = append(out, foldName(strings.Join(words[:n], " "))...)
	}
	return out
}

// maxNameWords is how many words of a typed family name are compared at most. The others are ignored.
const maxNameWords = 6

// minFamilyName is the shortest part of a family name that counts as one, in letters. Shorter ones are often particles, such as van or del.
const minFamilyName = 4

// samePart reports whether a part of a name, such as one of two family names, has one of the forms in asked, which are from foldName.
// Spaces and hyphens separate the parts. Parts with fewer than minFamilyName letters do not count.
func samePart(asked []string, name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) })
	return slices.ContainsFunc(parts, func(part string) bool { return utf8.RuneCountInString(part) >= minFamilyName && sameName(asked, part) })
}

// sameName reports whether a name has one of the forms in asked, which are from foldName.
func sameName(asked []string, name string) bool {
	return slices.ContainsFunc(foldName(name), func(folded string) bool { return slices.Contains(asked, folded) })
}
