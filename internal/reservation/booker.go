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

// Booker is the person who made a booking. The database holds it encrypted as one value.
type Booker struct {
	FirstName *string `json:"firstName,omitempty"`
	LastName  string  `json:"lastName"`
	Email     *string `json:"email,omitempty"`
	Mobile    *string `json:"mobile,omitempty"`
}

// Booker decrypts the booker of a stored reservation. The result is the zero value if the reservation has none, or if
// it was erased.
func (svc Service) Booker(ctx context.Context, row *ent.Reservation) (b Booker, err error) {
	if len(row.Booker) == 0 {
		return Booker{}, nil
	}
	raw, err := svc.Keys.Open(ctx, row.PropertyID, bookerPurpose(row.ID), row.Booker)
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		return Booker{}, fmt.Errorf("open the booker of %s: %w", row.ID, err)
	}
	return b, nil
}

// sealBooker encrypts a booker so that it can be decrypted only for this reservation.
func (svc Service) sealBooker(ctx context.Context, propertyID, reservationID string, b Booker) ([]byte, error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write the booker of %s: %w", reservationID, err)
	}
	sealed, err := svc.Keys.Seal(ctx, propertyID, bookerPurpose(reservationID), raw)
	if err != nil {
		return nil, fmt.Errorf("seal the booker of %s: %w", reservationID, err)
	}
	return sealed, nil
}

// CopyBooker re-encrypts sealed, the encrypted booker of the reservation fromID, for the reservation toID of the same property. It stores
// nothing.
func CopyBooker(ctx context.Context, keys *keyring.Ring, propertyID, fromID, toID string, sealed []byte) ([]byte, error) {
	raw, err := keys.Open(ctx, propertyID, bookerPurpose(fromID), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the booker of %s: %w", fromID, err)
	}
	return keys.Seal(ctx, propertyID, bookerPurpose(toID), raw)
}

// bookerPurpose returns the associated data of an encrypted booker, which binds the ciphertext to one reservation.
func bookerPurpose(reservationID string) string { return "booker/" + reservationID }

func (b Booker) equal(other Booker) bool { return reflect.DeepEqual(b, other) }

// words returns the words of the booker's names in the form in which a search compares them.
func (b Booker) words() []string {
	words := text.Words(b.LastName)
	if b.FirstName != nil {
		words = append(words, text.Words(*b.FirstName)...)
	}
	return words
}

// maxWords bounds the different prefixes of words of a booker's name that are indexed, and the words of a search that are looked up in the
// index. The decrypted name must match all words of the search.
const maxWords = 8

// indexPrefixes returns the first maxWords different prefixes of words of the names, under which a booker is indexed: see [indexPrefix].
func (b Booker) indexPrefixes() []string {
	var out []string
	for _, w := range b.words() {
		if s := indexPrefix(w); len(out) < maxWords && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// indexPrefix returns the part of a word that the name index stores: its first three letters, or the first letter in
// Chinese, Japanese and Korean. A shorter word is indexed whole. So the index reveals only that two names at a
// property begin with the same letters. A search decrypts all names with the same prefix.
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

// tokenSize is the stored length of a keyed hash in bytes: long enough that few prefixes share a hash.
const tokenSize = 8

// nameToken returns the keyed hash of the beginning of a name, under which the name index of a property stores it.
// beginning is the result of [indexPrefix].
func nameToken(keys *keyring.Ring, propertyID, beginning string) []byte {
	return keys.MAC("name/"+propertyID, beginning)[:tokenSize]
}

// indexNames replaces the index entries of the former booker by those of the new booker. former is nil for a new reservation.
func (svc Service) indexNames(tx *db.Tx, row *ent.Reservation, b Booker, former *Booker) error {
	wanted := b.indexPrefixes()
	if former != nil {
		if slices.Equal(wanted, former.indexPrefixes()) {
			return nil
		}
		_, err := tx.ReservationName.Delete().Where(entname.PropertyID(row.PropertyID), entname.ReservationID(row.ID)).Exec(tx.Context())
		if err != nil {
			return fmt.Errorf("remove names of %s from the index: %w", row.ID, err)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	args := []any{row.PropertyID, row.ID}
	for _, w := range wanted {
		args = append(args, nameToken(svc.Keys, row.PropertyID, w))
	}
	if _, err := tx.ExecContext(tx.Context(), insertNames(len(wanted)), args...); err != nil {
		return fmt.Errorf("index the names of %s: %w", row.ID, err)
	}
	return nil
}
