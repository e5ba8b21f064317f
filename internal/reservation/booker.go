package reservation

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"

	"latchkey.dev/ent"
	entname "latchkey.dev/ent/reservationname"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/text"
)

// Booker is who made a booking. The database holds it sealed, as one value.
type Booker struct {
	FirstName *string `json:"firstName,omitempty"`
	LastName  string  `json:"lastName"`
	Email     *string `json:"email,omitempty"`
	Mobile    *string `json:"mobile,omitempty"`
}

// Booker opens who booked a reservation.
func (k Service) Booker(ctx context.Context, row *ent.Reservation) (b Booker, err error) {
	raw, err := k.Keys.Open(ctx, row.PropertyID, bookerPurpose(row.ID), row.Booker)
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		return Booker{}, fmt.Errorf("open the booker of %s: %w", row.ID, err)
	}
	return b, nil
}

// sealBooker seals who booked the reservation of an id: what is sealed opens for no other.
func (k Service) sealBooker(ctx context.Context, propertyID, reservationID string, b Booker) ([]byte, error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write the booker of %s: %w", reservationID, err)
	}
	sealed, err := k.Keys.Seal(ctx, propertyID, bookerPurpose(reservationID), raw)
	if err != nil {
		return nil, fmt.Errorf("seal the booker of %s: %w", reservationID, err)
	}
	return sealed, nil
}

// CopyBooker seals what was sealed for one reservation for another of the same property.
func CopyBooker(ctx context.Context, keys *keyring.Ring, propertyID, fromID, toID string, sealed []byte) ([]byte, error) {
	raw, err := keys.Open(ctx, propertyID, bookerPurpose(fromID), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the booker of %s: %w", fromID, err)
	}
	return keys.Seal(ctx, propertyID, bookerPurpose(toID), raw)
}

func bookerPurpose(reservationID string) string { return "booker/" + reservationID }

func (b Booker) equal(other Booker) bool { return reflect.DeepEqual(b, other) }

// words are the words of the names of a booker.
func (b Booker) words() []string {
	words := text.Words(b.LastName)
	if b.FirstName != nil {
		words = append(words, text.Words(*b.FirstName)...)
	}
	return words
}

// mostWords bounds the words of a booker that can be searched for.
const maxWords = 8

// beginnings are what a booker is indexed under: see [beginning].
func (b Booker) indexPrefixes() []string {
	var out []string
	for _, w := range b.words() {
		if s := indexPrefix(w); len(out) < maxWords && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// beginning is what of a word is indexed: three letters, or one of a script whose words are that short. A word with fewer
// letters is indexed as a whole. The index then shows that two names of a property begin alike, and neither a name nor that
// two are equal; which of those that begin alike is meant is found by opening them.
func indexPrefix(word string) string {
	n := 3
	if first, _ := utf8.DecodeRuneInString(word); unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		n = 1
	}
	for i := range word {
		if n == 0 {
			return word[:i]
		}
		n--
	}
	return word
}

// tokenSize is how many bytes of a keyed hash are stored: enough to find few others with them.
const tokenSize = 8

// token is the keyed hash under which the beginning of a word is stored at one property.
func nameToken(keys *keyring.Ring, propertyID, beginning string) []byte {
	return keys.MAC("name/"+propertyID, beginning)[:tokenSize]
}

// indexNames stores what a booker can be found by, in place of what former could be found by.
func (k Service) indexNames(tx *db.Tx, row *ent.Reservation, b Booker, former *Booker) error {
	wanted := b.indexPrefixes()
	if former != nil {
		if slices.Equal(wanted, former.indexPrefixes()) {
			return nil
		}
		_, err := tx.ReservationName.Delete().Where(entname.PropertyID(row.PropertyID), entname.ReservationID(row.ID)).Exec(tx.Brief())
		if err != nil {
			return fmt.Errorf("remove names of %s from the index: %w", row.ID, err)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	statement, args := "INSERT INTO reservation_names (property_id, reservation_id, token) VALUES ", []any{row.PropertyID, row.ID}
	for i, w := range wanted {
		if i > 0 {
			statement += ", "
		}
		statement += "($1, $2, $" + placeholders(i+3, i+3)[1:] + ")"
		args = append(args, nameToken(k.Keys, row.PropertyID, w))
	}
	if _, err := tx.ExecContext(tx.Brief(), statement, args...); err != nil {
		return fmt.Errorf("index the names of %s: %w", row.ID, err)
	}
	return nil
}
