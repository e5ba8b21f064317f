package staff

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/staff/credential"
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
		_, err := CreateProperty(tx, made, Settings{Name: &name, TimeZone: ptr("Europe/Lisbon")})
		return err
	})
	return made
}

func TestProblemIsNotifiedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		tell := func(text string) {
			write(t, d, func(tx *db.Tx) error {
				return Notify(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: text, OnceKey: p + "/k"})
			})
		}
		texts := func(property string, unread bool) []string {
			rows, err := Notices(t.Context(), d.Read(), property, unread, Page{Size: 10})
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
				if err := Notify(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: key, OnceKey: key}); err != nil {
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
				if n, err := ForgetNotices(tx, step.before, 3); err != nil || n != step.want {
					t.Errorf("forgot %d, %v, want %d", n, err, step.want)
				}
			}
			return Notify(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: "stands still", OnceKey: p + "/stands"})
		})
		if left, err := Notices(t.Context(), d.Read(), p, false, Page{Size: 10}); err != nil || len(left) != 1 || left[0].Text != "stands still" {
			t.Errorf("left %v, %v: want what stands to be told anew", left, err)
		}
	})
}

func TestNoticesPage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := hotel(t, d, "A")
		for range 5 {
			write(t, d, func(tx *db.Tx) error { return Notify(tx, Notice{PropertyID: p, Kind: "k", Subject: "s", Text: "x"}) })
		}
		seen, after := map[string]bool{}, ""
		for range 3 {
			rows, err := Notices(t.Context(), d.Read(), p, false, Page{Size: 2, After: after})
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

func TestAuthenticate(t *testing.T) {
	now := clock.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := testKeys(t, d)
		p := hotel(t, d, "A")
		var staffToken, operator, client string
		var staffID, operatorID string
		write(t, d, func(tx *db.Tx) error {
			row, s, err := CreateToken(tx, keys, p, "desk", Operator, 0)
			if err != nil {
				return err
			}
			staffToken, staffID = s, row.ID
			row, s, err = CreateOperatorToken(tx, keys, "ops", 0)
			if err != nil {
				return err
			}
			operator, operatorID = s, row.ID
			_, client, err = credential.Mint(tx, keys, credential.Spec{Kind: credential.Client, AppID: "app_1"})
			return err
		})
		refused := func(what, secret string) {
			t.Helper()
			_, err := Authenticate(t.Context(), d, keys, secret)
			if !errors.Is(err, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "")) {
				t.Errorf("%s: got %v", what, err)
			}
		}
		a, err := Authenticate(t.Context(), d, keys, staffToken)
		if diff := cmp.Diff(actor.Actor{Kind: actor.Staff, ID: staffID, PropertyID: p, Role: Operator, TokenID: staffID}, a); err != nil || diff != "" {
			t.Errorf("staff: %v %s", err, diff)
		}
		a, err = Authenticate(t.Context(), d, keys, operator)
		if diff := cmp.Diff(actor.Actor{Kind: actor.Operator, ID: operatorID, TokenID: operatorID}, a); err != nil || diff != "" {
			t.Errorf("operator: %v %s", err, diff)
		}
		refused("none", "")
		refused("another area's", client)
		refused("another prefix", "lko_"+strings.TrimPrefix(staffToken, "lkp_"))
		refused("cut short", staffToken[:len(staffToken)-1])
		refused("one letter changed", changeLast(staffToken))

		write(t, d, func(tx *db.Tx) error { _, err := RevokeToken(tx, p, staffID); return err })
		refused("revoked", staffToken)
		write(t, d, func(tx *db.Tx) error { _, err := RevokeOperatorToken(tx, operatorID); return err })
		refused("revoked operator", operator)

		var short string
		write(t, d, func(tx *db.Tx) error {
			var err error
			_, short, err = CreateToken(tx, keys, p, "", Viewer, time.Hour)
			return err
		})
		now.Advance(time.Hour - time.Microsecond)
		if _, err := Authenticate(t.Context(), d, keys, short); err != nil {
			t.Errorf("right before its end: %v", err)
		}
		now.Advance(time.Microsecond)
		refused("ended", short)
	}, dbtest.Clock(now))
}

// Changes by an operator's command are attributed to the operator, and other tokens cannot imitate such a session.
func TestSessionIsAttributedToTheOperator(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := testKeys(t, d)
		p := hotel(t, d, "A")
		var secret string
		write(t, d, func(tx *db.Tx) (err error) {
			_, secret, err = CreateSession(tx, keys, p, "operator:tok_ana", Owner, 15*time.Minute)
			return err
		})
		a, err := Authenticate(t.Context(), d, keys, secret)
		if err != nil || a.Kind != actor.Staff || a.PropertyID != p || a.Role != Owner || a.Author() != "operator:tok_ana" || a.Subject() != "staff:"+a.ID {
			t.Errorf("got %+v, %v", a, err)
		}
		for what, make := range map[string]func(tx *db.Tx) error{
			"a name that says so": func(tx *db.Tx) error {
				_, _, err := CreateToken(tx, keys, p, "command line of operator:tok_bob", Owner, 0)
				return err
			},
			"without an end": func(tx *db.Tx) error {
				_, _, err := CreateSession(tx, keys, p, "operator:socket", Owner, 0)
				return err
			},
			"for a day": func(tx *db.Tx) error {
				_, _, err := CreateSession(tx, keys, p, "operator:socket", Owner, 24*time.Hour)
				return err
			},
		} {
			if err := d.Write(t.Context(), make); !fault.Has(err, fault.InvalidFields) {
				t.Errorf("%s: got %v", what, err)
			}
		}
	})
}

func changeLast(s string) string {
	last := byte('a')
	if s[len(s)-1] == last {
		last = 'b'
	}
	return s[:len(s)-1] + string(last)
}

func TestTokensBelongToTheirProperty(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := testKeys(t, d)
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		var made string
		write(t, d, func(tx *db.Tx) error {
			row, secret, err := CreateToken(tx, keys, p, "desk", Owner, time.Hour)
			if err == nil {
				made = row.ID
				if row.Hint != secret[:8] || !row.ExpiresAt.Equal(tx.Now().Add(time.Hour)) {
					t.Errorf("hint %q, expires %v", row.Hint, row.ExpiresAt)
				}
			}
			return err
		})
		err := d.Write(t.Context(), func(tx *db.Tx) error { _, err := RevokeToken(tx, other, made); return err })
		if !fault.Has(err, fault.TokenNotFound) {
			t.Errorf("another property revokes it: %v", err)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error { _, err := RevokeOperatorToken(tx, made); return err })
		if !fault.Has(err, fault.TokenNotFound) {
			t.Errorf("revoked as an operator's: %v", err)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error { _, _, err := CreateToken(tx, keys, "prp_none", "", Owner, 0); return err })
		if !fault.Has(err, fault.PropertyNotFound) {
			t.Errorf("for no property: %v", err)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error { _, _, err := CreateToken(tx, keys, p, "", "god", 0); return err })
		if !fault.Has(err, fault.InvalidFields) {
			t.Errorf("for no role: %v", err)
		}
		for property, want := range map[string]int{p: 1, other: 0} {
			if rows, err := Tokens(t.Context(), d.Read(), property, time.Now()); len(rows) != want || err != nil {
				t.Errorf("%d tokens, %v, want %d", len(rows), err, want)
			}
		}
	})
}

func TestSweepKeepsWhatIsValid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := testKeys(t, d)
		p := hotel(t, d, "A")
		write(t, d, func(tx *db.Tx) error {
			for _, ttl := range []time.Duration{0, time.Minute, time.Minute, time.Minute, 100 * 24 * time.Hour} {
				if _, _, err := CreateToken(tx, keys, p, "", Viewer, ttl); err != nil {
					return err
				}
			}
			for _, want := range []int{2, 1, 0} {
				if n, err := credential.Sweep(tx, tx.Now().Add(time.Hour), 2); n != want || err != nil {
					t.Errorf("swept %d, %v, want %d of the three that ended, two at a time", n, err, want)
				}
			}
			return nil
		})
	})
}

func TestCreatePropertyNamesEveryWrongSetting(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := CreateProperty(tx, id.New(id.Property), Settings{
				TimeZone: ptr("Local"), CheckInTime: ptr("24:00"), CheckOutTime: ptr("9:00"), EarlyInMinutes: ptr(-1), LateOutMinutes: ptr(1441),
				PINLength: ptr(5), OwingPolicy: ptr("maybe"), OwingThresholdMinor: ptr(int64(-1)),
			})
			return err
		})
		f, ok := fault.Of(err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
		want := []string{"timeZone", "checkInTime", "checkOutTime", "earlyInMinutes", "lateOutMinutes", "pinLength", "owingPolicy", "owingThresholdMinor", "name"}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUpdatePropertyKeepsWhatIsLeftOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		write(t, d, func(tx *db.Tx) error {
			row, err := UpdateProperty(tx, p, Settings{LateOutMinutes: ptr(30), GatesAlone: ptr(true)})
			if err == nil && (row.Name != "A" || row.TimeZone != "Europe/Lisbon" || row.LateOutMinutes != 30 || !row.GatesAlone || row.CheckInTime != "15:00") {
				t.Errorf("got %+v", row)
			}
			return err
		})
		if row, err := Property(t.Context(), d.Read(), other); err != nil || row.LateOutMinutes != 0 {
			t.Errorf("the other: %+v, %v", row, err)
		}
		err := d.Write(t.Context(), func(tx *db.Tx) error { _, err := UpdateProperty(tx, "prp_none", Settings{Name: ptr("x")}); return err })
		if !fault.Has(err, fault.PropertyNotFound) {
			t.Errorf("got %v", err)
		}
		rows, err := Properties(t.Context(), d.Read(), Page{Size: 1, After: p})
		if err != nil || len(rows) != 1 || rows[0].ID != other {
			t.Errorf("second page: %v, %v", rows, err)
		}
	})
}
