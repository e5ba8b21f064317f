package conversation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
)

// Each conversation is found, also those whose messages are older than many newer ones, and on one page only.
func TestFindAllPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d, "prp_1")
		dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": "prp_1"})
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": "int_1", "property_id": "prp_1"})
		dbtest.Insert(t, d, "reservations", dbtest.Values{"id": "rsv_1", "property_id": "prp_1", "integration_id": "int_1"})
		w := &writer{T: t, d: d, keys: keys, numbers: map[string]int{}}
		w.write("gst_first", "towels, please")
		w.write("gst_both", "towels")
		for range 4 {
			w.write("gst_busy", slices.Repeat([]string{"noise"}, 1500)...)
		}
		w.write("gst_both", "more towels")
		w.write("gst_last", "hello")
		for name, c := range map[string]struct {
			s    Search
			want []string
		}{
			"all":              {Search{Limit: 2}, []string{"gst_last gst_both", "gst_busy gst_first", ""}},
			"unread":           {Search{Limit: 3, UnreadOnly: true}, []string{"gst_last gst_both gst_busy", "gst_first"}},
			"words":            {Search{Limit: 10, Query: "Towels"}, []string{"gst_both", "gst_first"}},
			"one by one":       {Search{Limit: 1, Query: "towels"}, []string{"gst_both", "", "gst_first", ""}},
			"words of nothing": {Search{Limit: 10, Query: "dinner"}, []string{"", ""}},
		} {
			if got := w.pages(c.s); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	})
}

// writer stores messages of guests, past the limits of a conversation.
type writer struct {
	*testing.T
	d       *db.DB
	keys    *keyring.Ring
	numbers map[string]int // the latest number of each guest
	all     int
}

func (w *writer) write(guestID string, texts ...string) {
	w.Helper()
	if w.numbers[guestID] == 0 {
		dbtest.Insert(w.T, w.d, "guests", dbtest.Values{"id": guestID, "property_id": "prp_1", "reservation_id": "rsv_1"})
	}
	err := w.d.Write(w.Context(), func(tx *db.Tx) error {
		var rows []*ent.MessageCreate
		for _, one := range texts {
			w.all++
			w.numbers[guestID]++
			messageID := fmt.Sprintf("msg_%06d", w.all)
			sealed, err := w.keys.Seal(tx.Context(), "prp_1", purpose(messageID), []byte(one))
			if err != nil {
				return err
			}
			rows = append(rows, tx.Message.Create().SetID(messageID).SetPropertyID("prp_1").SetReservationID("rsv_1").SetGuestID(guestID).
				SetNumber(w.numbers[guestID]).SetSender(string(Guest)).SetText(sealed).SetCreatedAt(time.Now()))
		}
		return tx.Message.CreateBulk(rows...).Exec(tx.Context())
	})
	if err != nil {
		w.Fatal(err)
	}
}

// pages returns the guests of each page of a search.
func (w *writer) pages(s Search) (pages []string) {
	w.Helper()
	for len(pages) < 10 {
		found, next, err := Find(w.d.View(w.Context()), w.keys, "prp_1", s)
		if err != nil {
			w.Fatal(err)
		}
		var guests string
		for i, one := range found {
			if i > 0 {
				guests += " "
			}
			guests += one.Last.GuestID
		}
		pages = append(pages, guests)
		if next == "" {
			return pages
		}
		s.Before = next
	}
	return pages
}
