package notice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/test/dbtest"
)

func ptr[T any](v T) *T { return &v }

func write(t *testing.T, d *db.DB, fn func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// hotel makes a property and returns its id.
func hotel(t *testing.T, d *db.DB, name string) string {
	t.Helper()
	made := id.New(id.Property)
	write(t, d, func(tx *db.Tx) error {
		_, err := property.Create(tx, made, property.Settings{Name: &name, TimeZone: ptr("Europe/Lisbon")})
		return err
	})
	return made
}

func TestProblemIsNotifiedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		tell := func(text string) {
			write(t, d, func(tx *db.Tx) error {
				return Add(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: text, OnceKey: p + "/k"})
			})
		}
		texts := func(propertyID string, unread bool) []string {
			rows, err := List(t.Context(), d.Read(), propertyID, unread, 10, "")
			if err != nil {
				t.Fatal(err)
			}
			list := []string{}
			for _, n := range rows {
				list = append(list, n.Text)
			}
			return list
		}
		tell("first")
		tell("again")
		if diff := cmp.Diff([]string{"first"}, texts(p, true)); diff != "" {
			t.Fatal(diff)
		}
		write(t, d, func(tx *db.Tx) error {
			n, err := MarkRead(tx, other)
			if n != 0 {
				t.Errorf("another property marked %d of ours", n)
			}
			return err
		})
		write(t, d, func(tx *db.Tx) error {
			n, err := MarkRead(tx, p)
			if n != 1 {
				t.Errorf("marked %d, want 1", n)
			}
			return err
		})
		tell("read, but it stands")
		write(t, d, func(tx *db.Tx) error { return Settle(tx, p+"/k") })
		tell("came back")
		if diff := cmp.Diff([]string{"came back", "first"}, texts(p, false)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"came back"}, texts(p, true)); diff != "" {
			t.Error(diff)
		}
		if got := texts(other, false); len(got) != 0 {
			t.Errorf("another property sees %v", got)
		}
	})
}

func TestOldNoticesAreDeleted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		write(t, d, func(tx *db.Tx) error {
			for _, key := range []string{"", "", "", p + "/stands", p + "/stood"} {
				if err := Add(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: key, OnceKey: key}); err != nil {
					return err
				}
			}
			if err := Settle(tx, p+"/stood"); err != nil {
				return err
			}
			for _, step := range []struct {
				before time.Time
				want   int
			}{{tx.Now(), 0}, {tx.Now().Add(time.Hour), 3}, {tx.Now().Add(time.Hour), 2}, {tx.Now().Add(time.Hour), 0}} {
				if n, err := Forget(tx, step.before, 3); err != nil || n != step.want {
					t.Errorf("forgot %d, %v, want %d", n, err, step.want)
				}
			}
			return Add(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: "stands still", OnceKey: p + "/stands"})
		})
		if left, err := List(t.Context(), d.Read(), p, false, 10, ""); err != nil || len(left) != 1 || left[0].Text != "stands still" {
			t.Errorf("left %v, %v: want what stands to be told anew", left, err)
		}
	})
}

func TestNoticesPage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		for range 5 {
			write(t, d, func(tx *db.Tx) error { return Add(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: "x"}) })
		}
		seen, after := map[string]bool{}, ""
		for range 3 {
			rows, err := List(t.Context(), d.Read(), p, false, 2, after)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range rows {
				seen[n.ID] = true
				after = n.ID
			}
		}
		if len(seen) != 5 {
			t.Errorf("pages show %d of 5", len(seen))
		}
		if n, err := Unread(t.Context(), d.Read(), p); n != 5 || err != nil {
			t.Errorf("unread %d, %v", n, err)
		}
	})
}

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"日本", 4, "日"}, {"é", 1, ""}} {
		if got := truncate(c.s, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
