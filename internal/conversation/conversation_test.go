package conversation_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

const hotel = "prp_1"

type fixture struct {
	*testing.T
	d     *db.DB
	keys  *keyring.Ring
	clock *clock.Fixed
}

// each runs a test on every database, with two guests of one stay.
func each(t *testing.T, f func(x *fixture)) {
	t.Helper()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := clock.At(noon)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at.Set(noon)
		x := &fixture{t, d, dbtest.Keys(t, d, hotel), at}
		dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": hotel})
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": "int_1", "property_id": hotel})
		dbtest.Insert(t, d, "reservations", dbtest.Values{"id": "rsv_1", "property_id": hotel, "integration_id": "int_1"})
		for _, id := range []string{"gst_1", "gst_2"} {
			dbtest.Insert(t, d, "guests", dbtest.Values{"id": id, "property_id": hotel, "reservation_id": "rsv_1"})
		}
		f(x)
	}, dbtest.Clock(at))
}

func of(guestID string) conversation.Key {
	return conversation.Key{PropertyID: hotel, ReservationID: "rsv_1", GuestID: guestID}
}

func (x *fixture) send(guestID string, from conversation.Side, text string) (m conversation.Message, err error) {
	err = x.d.Write(x.Context(), func(tx *db.Tx) error {
		m, err = conversation.Send(tx, x.keys, conversation.Message{Key: of(guestID), Sender: from, Text: text})
		return err
	})
	return m, err
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// texts returns the conversation of a guest as "number sender text read".
func (x *fixture) texts(guestID string, after, limit int) (out []string, more bool) {
	x.Helper()
	list, more, err := conversation.List(x.d.View(x.Context()), x.keys, of(guestID), after, limit)
	x.must(err)
	for _, m := range list {
		out = append(out, fmt.Sprint(m.Number, " ", m.Sender, " ", m.Text, " ", m.ReadAt != nil))
	}
	return out, more
}

// A conversation is deleted as a whole when the stay ended and its newest message was written long enough ago, with the notice about it.
func TestDeleteEnded(t *testing.T) {
	each(t, func(x *fixture) {
		end := x.clock.Now().Add(24 * time.Hour)
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			if err := tx.Reservation.Update().SetToAt(end).Exec(tx.Context()); err != nil {
				return err
			}
			return notice.Add(tx, notice.Notice{PropertyID: hotel, Kind: notice.MessageUnread, Subject: "rsv_1", OnceKey: conversation.NoticeKey(of("gst_1")), Params: message.Params{"number": "1"}})
		}))
		for _, guestID := range []string{"gst_1", "gst_1", "gst_2"} {
			_, err := x.send(guestID, conversation.Guest, "Hello")
			x.must(err)
		}
		x.clock.Set(end.Add(time.Hour))
		_, err := x.send("gst_2", conversation.Property, "You left a book.")
		x.must(err)
		for _, step := range []struct {
			before time.Time
			gone   int
			left   [2]int
		}{{end, 0, [2]int{2, 2}}, {end.Add(time.Second), 1, [2]int{0, 2}}, {end.Add(time.Second), 0, [2]int{0, 2}}, {end.Add(2 * time.Hour), 1, [2]int{0, 0}}} {
			ended, err := conversation.ListEnded(x.d.View(x.Context()), hotel, step.before, 10)
			x.must(err)
			n := len(ended)
			notified := dbtest.Notified(x.d, func() { x.delete(step.before, ended...) })
			for _, k := range ended {
				if !slices.Contains(notified, watch.Key{PropertyID: hotel, Topic: watch.Messages, ID: k.GuestID}) {
					x.Errorf("the deletion of the messages of %s notifies %v", k.GuestID, notified)
				}
			}
			one, _ := x.texts("gst_1", 0, 10)
			two, _ := x.texts("gst_2", 0, 10)
			if n != step.gone || len(one) != step.left[0] || len(two) != step.left[1] {
				x.Errorf("before %v: %d deleted, left %v and %v", step.before, n, one, two)
			}
		}
		if open, err := notice.IsOpen(x.d.View(x.Context()), conversation.NoticeKey(of("gst_1"))); err != nil || open {
			x.Errorf("the notice about deleted messages is open: %v, %v", open, err)
		}
		for want := 3; want < 5; want++ { // the numbers of deleted messages are not used again
			if m, err := x.send("gst_1", conversation.Guest, "Again"); err != nil || m.Number != want {
				x.Errorf("the next message has the number %d, want %d: %v", m.Number, want, err)
			}
		}
	})
}

// A conversation that has grown since it was found is kept, and so is one whose stay was prolonged.
func TestGrownConversationsAreKept(t *testing.T) {
	each(t, func(x *fixture) {
		setEnd := func(to time.Time) {
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) error { return tx.Reservation.Update().SetToAt(to).Exec(tx.Context()) }))
		}
		end := x.clock.Now().Add(time.Hour)
		setEnd(end)
		_, err := x.send("gst_1", conversation.Guest, "Hello")
		x.must(err)
		before := end.Add(time.Minute)
		ended, err := conversation.ListEnded(x.d.View(x.Context()), hotel, before, 10)
		x.must(err)
		x.clock.Set(before)
		setEnd(before)
		x.delete(before, ended...)
		setEnd(end)
		_, err = x.send("gst_1", conversation.Property, "Bye")
		x.must(err)
		x.delete(before, ended...)
		if left, _ := x.texts("gst_1", 0, 10); len(ended) != 1 || len(left) != 2 {
			x.Errorf("found %v, left %v", ended, left)
		}
	})
}

// delete deletes conversations whose time is over.
func (x *fixture) delete(before time.Time, ended ...conversation.Key) {
	x.Helper()
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		for _, k := range ended {
			if err := conversation.DeleteEnded(tx, k, before); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Each guest has a conversation of their own, whose messages have numbers without gaps. Who answers has read.
func TestConversation(t *testing.T) {
	each(t, func(x *fixture) {
		var changed []string
		x.d.Subscribe(conversation.Changed, func(key string) { changed = append(changed, key) })
		for i, m := range []struct {
			guest string
			from  conversation.Side
			text  string
		}{
			{"gst_1", conversation.Guest, " Where can I park?\n "}, {"gst_1", conversation.Guest, "And is it free?"},
			{"gst_2", conversation.Property, "Welcome"}, {"gst_1", conversation.Property, "Behind the house.\nIt is."},
		} {
			sent, err := x.send(m.guest, m.from, m.text)
			x.must(err)
			if want := map[int]int{0: 1, 1: 2, 2: 1, 3: 3}[i]; sent.Number != want || sent.Text != strings.TrimSpace(m.text) {
				x.Errorf("message %d is %+v", i, sent)
			}
		}
		got, more := x.texts("gst_1", 0, 10)
		if want := []string{"1 guest Where can I park? true", "2 guest And is it free? true", "3 property Behind the house.\nIt is. false"}; !slices.Equal(got, want) || more {
			x.Errorf("got %q, %v", got, more)
		}
		if got, more := x.texts("gst_1", 1, 1); !slices.Equal(got, []string{"2 guest And is it free? true"}) || !more {
			x.Errorf("a page is %q, %v", got, more)
		}
		if got, _ := x.texts("gst_2", 0, 10); !slices.Equal(got, []string{"1 property Welcome false"}) {
			x.Errorf("the other guest has %q", got)
		}
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error { return conversation.MarkRead(tx, of("gst_2"), conversation.Guest, 1) }))
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error { return conversation.MarkRead(tx, of("gst_2"), conversation.Guest, 1) })) // changes nothing
		if got, _ := x.texts("gst_2", 0, 10); !slices.Equal(got, []string{"1 property Welcome true"}) {
			x.Errorf("the other guest has %q", got)
		}
		if want := 5; len(changed) != want {
			x.Errorf("%d notifications, want %d: %q", len(changed), want, changed)
		}
		k, ok := conversation.ParseTopic(changed[0])
		if !ok || k != of("gst_1") {
			x.Errorf("the topic names %+v", k)
		}
	})
}

// A message without a text, or beyond the bounds, is refused.
func TestBounds(t *testing.T) {
	each(t, func(x *fixture) {
		if _, err := x.send("gst_1", conversation.Guest, " \n "); !fault.Has(err, fault.InvalidFields) {
			x.Errorf("an empty message: %v", err)
		}
		for i := range 60 {
			if _, err := x.send("gst_1", conversation.Guest, fmt.Sprint(i)); err != nil {
				x.Fatal(err)
			}
		}
		if _, err := x.send("gst_1", conversation.Guest, "one more"); !fault.Has(err, fault.TooMany) {
			x.Errorf("a message too many: %v", err)
		}
		if _, err := x.send("gst_1", conversation.Property, "an answer"); err != nil {
			x.Errorf("the property cannot answer: %v", err)
		}
		x.clock.Advance(time.Hour + time.Second)
		if _, err := x.send("gst_1", conversation.Guest, "later"); err != nil {
			x.Errorf("an hour later: %v", err)
		}
	})
}

// Messages that are sent at the same time all get a number, and none twice.
func TestNumbersOfConcurrentMessages(t *testing.T) {
	each(t, func(x *fixture) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := x.send("gst_1", []conversation.Side{conversation.Guest, conversation.Property}[i%2], fmt.Sprint(i)); err != nil {
					x.Error(err)
				}
			})
		}
		all.Wait()
		got, _ := x.texts("gst_1", 0, 100)
		for i, one := range got {
			if !strings.HasPrefix(one, fmt.Sprint(i+1, " ")) {
				x.Errorf("message %d is %q", i+1, one)
			}
		}
		if len(got) != 20 {
			x.Errorf("%d messages", len(got))
		}
	})
}

// Staff find conversations by their words, in any case and with any accents, and see what they have not read.
func TestFind(t *testing.T) {
	each(t, func(x *fixture) {
		for i, m := range []struct {
			guest string
			from  conversation.Side
			text  string
		}{
			{"gst_1", conversation.Guest, "Wo ist das Frühstück?"}, {"gst_2", conversation.Guest, "Is there a café?"}, {"gst_1", conversation.Property, "Im Hof."}, {"gst_2", conversation.Guest, "Nearby"},
		} {
			if _, err := x.send(m.guest, m.from, m.text); err != nil {
				x.Fatal(i, err)
			}
		}
		for _, c := range []struct {
			search conversation.Search
			want   string
		}{
			{conversation.Search{Limit: 10}, "gst_2 2 Nearby, gst_1 0 Im Hof."},
			{conversation.Search{Limit: 10, UnreadOnly: true}, "gst_2 2 Nearby"},
			{conversation.Search{Limit: 10, Query: "FRUHSTUCK"}, "gst_1 0 Im Hof."},
			{conversation.Search{Limit: 10, Query: "cafe"}, "gst_2 2 Nearby"},
			{conversation.Search{Limit: 10, Query: "dinner"}, ""},
			{conversation.Search{Limit: 1}, "gst_2 2 Nearby"},
		} {
			found, next, err := conversation.Find(x.d.View(x.Context()), x.keys, hotel, c.search)
			x.must(err)
			var got []string
			for _, one := range found {
				got = append(got, fmt.Sprint(one.Last.GuestID, " ", one.Unread, " ", one.Last.Text))
			}
			if strings.Join(got, ", ") != c.want {
				x.Errorf("%+v: %q, want %s", c.search, got, c.want)
			}
			if c.search.Limit == 1 {
				c.search.Before = next
				rest, _, err := conversation.Find(x.d.View(x.Context()), x.keys, hotel, c.search)
				x.must(err)
				if len(rest) != 1 || rest[0].Last.GuestID != "gst_1" {
					x.Errorf("the second page is %+v", rest)
				}
			}
		}
		if found, _, err := conversation.Find(x.d.View(x.Context()), x.keys, "prp_2", conversation.Search{Limit: 10}); err != nil || len(found) != 0 {
			x.Errorf("another property finds %+v, %v", found, err)
		}
		if n, err := conversation.AllUnread(x.d.View(x.Context()), hotel); err != nil || n != 2 {
			x.Errorf("%d unread, %v", n, err)
		}
	})
}
