package notice

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

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
	dbtest.Insert(t, d, "properties", dbtest.Values{"id": made, "name": name, "time_zone": "Europe/Lisbon"})
	return made
}

func TestProblemIsNotifiedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		tell := func(text string) {
			write(t, d, func(tx *db.Tx) error {
				return Add(tx, Notice{PropertyID: p, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": text}, OnceKey: p + "/k"})
			})
		}
		texts := func(propertyID string, unread bool) []string {
			rows, err := List(d.View(t.Context()), propertyID, Filter{UnreadOnly: unread}, 10, "")
			if err != nil {
				t.Fatal(err)
			}
			list := []string{}
			for _, n := range rows {
				list = append(list, n.Parameters["lock"].(string))
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
				t.Errorf("another property marked %d notices of the first one", n)
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
		tell("read, but still open")
		write(t, d, func(tx *db.Tx) error { return Resolve(tx, p, p+"/k") })
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

// Streams are notified of a resolved problem, and of nothing if none was open. Another property resolves nothing.
func TestResolvedProblemsAreNotified(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		add := func() {
			write(t, d, func(tx *db.Tx) error {
				return Add(tx, Notice{PropertyID: p, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": "x"}, OnceKey: p + "/k"})
			})
		}
		for _, step := range []struct {
			name    string
			resolve func(tx *db.Tx) error
			want    []watch.Key
		}{
			{"by another property", func(tx *db.Tx) error { return Resolve(tx, other, p+"/k") }, nil},
			{"by its key", func(tx *db.Tx) error { return Resolve(tx, p, p+"/k") }, []watch.Key{{PropertyID: p, Topic: watch.Notices}}},
			{"by its subject", func(tx *db.Tx) error { return ResolveAbout(tx, p, "batteryLow", "s") }, []watch.Key{{PropertyID: p, Topic: watch.Notices}}},
		} {
			add()
			if diff := cmp.Diff(step.want, dbtest.Notified(d, func() { write(t, d, step.resolve) })); diff != "" {
				t.Errorf("%s: %s", step.name, diff)
			}
			open, err := IsOpen(d.View(t.Context()), p+"/k")
			if err != nil || open != (step.want == nil) {
				t.Errorf("%s: open %v, %v", step.name, open, err)
			}
			if got := dbtest.Notified(d, func() { write(t, d, step.resolve) }); step.want != nil && got != nil {
				t.Errorf("%s a second time: %v", step.name, got)
			}
		}
	})
}

func TestOldNoticesAreDeleted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		write(t, d, func(tx *db.Tx) error {
			for _, key := range []string{"", "", "", p + "/open", p + "/resolved"} {
				if err := Add(tx, Notice{PropertyID: p, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": key}, OnceKey: key}); err != nil {
					return err
				}
			}
			if err := Resolve(tx, p, p+"/resolved"); err != nil {
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
			return Add(tx, Notice{PropertyID: p, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": "blocked"}, OnceKey: p + "/open"})
		})
		if left, err := List(d.View(t.Context()), p, Filter{}, 10, ""); err != nil || len(left) != 1 || left[0].Parameters["lock"] != "blocked" {
			t.Errorf("left %v, %v: want the open notices to be sent again", left, err)
		}
	})
}

func TestNoticesPage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		for range 5 {
			write(t, d, func(tx *db.Tx) error {
				return Add(tx, Notice{PropertyID: p, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": "x"}})
			})
		}
		seen, after := map[string]bool{}, ""
		for range 3 {
			rows, err := List(d.View(t.Context()), p, Filter{}, 2, after)
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
		if n, err := Unread(d.View(t.Context()), p, nil); n != 5 || err != nil {
			t.Errorf("unread %d, %v", n, err)
		}
		if n, err := Unread(d.View(t.Context()), p, []string{"batteryLow"}); n != 0 || err != nil {
			t.Errorf("unread without the kind %d, %v", n, err)
		}
	})
}

func TestANoticeHasTheParametersOfItsText(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		for what, n := range map[string]Notice{
			"an unknown kind":       {Kind: "batteryEmpty"},
			"a missing parameter":   {Kind: "batteryLow"},
			"one parameter more":    {Kind: "batteryLow", Params: message.Params{"lock": "a", "pin": "1"}},
			"a part without a text": {Kind: "guessing", Params: message.Params{"what": message.Message{Kind: "guessing.here"}}},
		} {
			n.PropertyID, n.Subject = p, "s"
			if err := d.Write(t.Context(), func(tx *db.Tx) error { return Add(tx, n) }); err == nil {
				t.Errorf("%s is stored", what)
			}
		}
	})
}

// A notice from before there were parameters keeps its text.
func TestText(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		lisbon, err := time.LoadLocation("Europe/Lisbon")
		if err != nil {
			t.Fatal(err)
		}
		until := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		write(t, d, func(tx *db.Tx) error {
			err := tx.Notice.Create().SetID(id.New(id.Notice)).SetPropertyID(p).SetKind("batteryLow").SetSubject("s").SetText("As stored.").SetCreatedAt(tx.Now()).Exec(tx.Context())
			if err != nil {
				return err
			}
			if err := Add(tx, Notice{PropertyID: p, Subject: "s", Kind: "slotsFull", Params: message.Params{"doors": Doors([]string{"Room 1", "", "Gate"})}}); err != nil {
				return err
			}
			what := message.Message{Kind: "guessing.pausedEarlier", Params: message.Params{"lock": `Front "1"`, "until": until}}
			return Add(tx, Notice{PropertyID: p, Subject: "s", Kind: "guessing", Params: message.Params{"what": what}})
		})
		rows, err := List(d.View(t.Context()), p, Filter{}, 10, "")
		if err != nil || len(rows) != 3 {
			t.Fatalf("%v, %v", rows, err)
		}
		reader := message.Reader{Zone: lisbon}
		want := `Wrong PINs were typed at lock “Front "1"”. Its keypad was paused until 1 Jul 2026, 13:00:00 and refused every PIN until then. The bridge reported it only now.`
		if got := Text(rows[0], reader); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := Text(rows[1], reader); !strings.HasPrefix(got, "A lock of this stay has no free slot") || !strings.HasSuffix(got, " Affected: “Room 1” “Gate”.") {
			t.Errorf("%q", got)
		}
		if got := Text(&Row{Kind: "slotsFull", Parameters: message.Params{}}, reader); !strings.HasSuffix(got, "is cleared.") {
			t.Errorf("stored without the parameter: %q", got)
		}
		if got := Text(rows[2], reader); got != "As stored." {
			t.Errorf("%q", got)
		}
	})
}

// All open problems of a property count, however old their notices are, up to a limit.
func TestCountOpen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		add := func(n int, onceKey func(i int) string) {
			t.Helper()
			write(t, d, func(tx *db.Tx) error {
				for i := range n {
					if err := Add(tx, Notice{PropertyID: p, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": "1"}, OnceKey: onceKey(i)}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		is := func(want int, wantMore bool) {
			t.Helper()
			n, more, err := CountOpen(d.View(t.Context()), p)
			if err != nil || n != want || more != wantMore {
				t.Errorf("%d open, more: %t, %v; want %d, %t", n, more, err, want, wantMore)
			}
		}
		is(0, false)
		write(t, d, func(tx *db.Tx) error {
			return Add(tx, Notice{PropertyID: p, Kind: BackupCodeUsed, Subject: "s", Params: message.Params{"what": "x"}, OnceKey: p + "/used"})
		})
		is(0, false) // nothing ends it
		add(1, func(int) string { return p + "/first" })
		add(mostOpen, func(int) string { return "" }) // newer, and no problems that last
		is(1, false)
		add(mostOpen-1, func(i int) string { return fmt.Sprint(p, "/", i) })
		is(mostOpen, false)
		add(1, func(int) string { return p + "/last" })
		is(mostOpen, true)
		write(t, d, func(tx *db.Tx) error { return Resolve(tx, p, p+"/first") })
		is(mostOpen, false)
	})
}

// A call for help is open until a person marks it as read, with and without a OnceKey. An alarm is not, because nothing ends it.
func TestCallForHelpIsOpenUntilRead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		write(t, d, func(tx *db.Tx) error {
			return errors.Join(
				Add(tx, Notice{PropertyID: p, Kind: CheckInHelp, Subject: "s", Params: message.Params{"number": "7"}}),
				Add(tx, Notice{PropertyID: p, Kind: KioskHelp, Subject: "s", Params: message.Params{"kiosk": "Lobby"}, OnceKey: p + "/help"}),
				Add(tx, Notice{PropertyID: p, Kind: BackupCodeUsed, Subject: "s", Params: message.Params{"what": "x"}, OnceKey: p + "/used"}))
		})
		is := func(want int) {
			t.Helper()
			rows, err := List(d.View(t.Context()), p, Filter{}, 10, "")
			n := 0
			for _, row := range rows {
				if IsProblemOpen(row) {
					n++
				}
			}
			counted, _, wrong := CountOpen(d.View(t.Context()), p)
			if err != nil || wrong != nil || n != want || counted != want {
				t.Errorf("%d open, %v; %d counted, %v; want %d", n, err, counted, wrong, want)
			}
		}
		is(2)
		write(t, d, func(tx *db.Tx) error { _, err := MarkRead(tx, p); return err })
		is(0)
	})
}

// The alarm of a jammed lock happened once. That a lock of a stay is jammed is a problem until its bolt moves.
func TestAJammedLockOfAStayIsOpen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		for i, subject := range []string{id.New(id.Lock), id.New(id.Reservation)} {
			write(t, d, func(tx *db.Tx) error {
				return Add(tx, Notice{PropertyID: p, Kind: LockJammed, Subject: subject, Params: message.Params{"what": message.Message{Kind: "jammed.stay"}}, OnceKey: p + subject})
			})
			rows, err := List(d.View(t.Context()), p, Filter{}, 1, "")
			n, _, wrong := CountOpen(d.View(t.Context()), p)
			if err != nil || wrong != nil || n != i || IsProblemOpen(rows[0]) != (i == 1) {
				t.Errorf("%s: %d open, %v, %v", subject, n, err, wrong)
			}
		}
	})
}
