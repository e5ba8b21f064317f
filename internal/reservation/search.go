package reservation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entname "latchkey.dev/ent/reservationname"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/text"
)

// Search narrows a list of the reservations of a property.
type Search struct {
	Text  string // words, each the beginning of a word of the booker's name; empty: all reservations
	Size  int
	Token string
}

// Found is a reservation with who booked it.
type Found struct {
	Row    *ent.Reservation
	Booker Booker
}

const (
	searchBatch = 200
	// mostSearched bounds the reservations that one call opens. It then answers with what it found, and a token to go on.
	mostSearched = 2000
)

// Search lists the reservations of a property that match, those that arrive last first, and gives the token of the next
// page. A page may hold fewer than Size and still not be the last.
func (k Keeper) Search(view *db.Tx, propertyID string, s Search) (found []Found, next string, err error) {
	words := text.Words(s.Text)
	if strings.TrimSpace(s.Text) != "" && len(words) == 0 {
		return nil, "", nil // nothing but punctuation
	}
	where := []predicate.Reservation{entreservation.PropertyID(propertyID)}
	for _, w := range words[:min(len(words), mostWords)] {
		where = append(where, entreservation.HasNamesWith(entname.PropertyID(propertyID), entname.Token(token(k.Keys, propertyID, beginning(w)))))
	}
	var at time.Time
	var id string
	if s.Token != "" {
		if at, id, err = OpenPageToken(s.Token); err != nil {
			return nil, "", err
		}
	}
	for searched := 0; searched < mostSearched; {
		page := where
		if id != "" {
			page = append(slices.Clip(where), before(at, id))
		}
		rows, err := view.Reservation.Query().Where(page...).Limit(searchBatch).
			Order(entreservation.ByFromAt(sql.OrderDesc()), entreservation.ByID(sql.OrderDesc())).All(view.Context())
		if err != nil {
			return nil, "", fmt.Errorf("search reservations: %w", err)
		}
		for _, row := range rows {
			if len(found) == s.Size {
				return found, PageToken(at, id), nil
			}
			at, id = row.FromAt, row.ID
			b, err := k.matching(view.Context(), row, words)
			if err != nil {
				return nil, "", err
			}
			if b != nil {
				found = append(found, Found{row, *b})
			}
		}
		if len(rows) < searchBatch {
			return found, "", nil
		}
		searched += len(rows)
	}
	return found, PageToken(at, id), nil
}

// before picks what comes after a place in a list by time of arrival, latest first.
func before(at time.Time, id string) predicate.Reservation {
	return entreservation.Or(entreservation.FromAtLT(at), entreservation.And(entreservation.FromAt(at), entreservation.IDLT(id)))
}

// matching opens the booker of a reservation; nil: the name does not match.
func (k Keeper) matching(ctx context.Context, row *ent.Reservation, words []string) (*Booker, error) {
	b, err := k.Booker(ctx, row)
	if err != nil {
		return nil, err
	}
	names := b.words()
	for _, w := range words {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, w) }) {
			return nil, nil
		}
	}
	return &b, nil
}
