package credential

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
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
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

func TestAuthenticate(t *testing.T) {
	now := clock.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d)
		p := hotel(t, d, "A")
		dbtest.Insert(t, d, "apps", dbtest.Values{"id": "app_1"})
		var staffToken, operator, client string
		var staffID, operatorID string
		write(t, d, func(tx *db.Tx) error {
			row, s, err := CreateStaffToken(tx, keys, p, "desk", RoleOperator, 0)
			if err != nil {
				return err
			}
			staffToken, staffID = s, row.ID
			row, s, err = CreateOperatorToken(tx, keys, "ops", 0)
			if err != nil {
				return err
			}
			operator, operatorID = s, row.ID
			_, client, err = Mint(tx, keys, Spec{Kind: Client, AppID: "app_1"})
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
		if diff := cmp.Diff(actor.Actor{Kind: actor.Staff, ID: staffID, PropertyID: p, Role: RoleOperator, TokenID: staffID}, a); err != nil || diff != "" {
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

		write(t, d, func(tx *db.Tx) error { _, err := RevokeStaffToken(tx, p, staffID); return err })
		refused("revoked", staffToken)
		write(t, d, func(tx *db.Tx) error { _, err := RevokeOperatorToken(tx, operatorID); return err })
		refused("revoked operator", operator)

		var short string
		write(t, d, func(tx *db.Tx) error {
			var err error
			_, short, err = CreateStaffToken(tx, keys, p, "", RoleViewer, time.Hour)
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
		keys := dbtest.Keys(t, d)
		p := hotel(t, d, "A")
		var secret string
		write(t, d, func(tx *db.Tx) (err error) {
			_, secret, err = CreateCommandToken(tx, keys, p, "operator:tok_ana", RoleOwner, 15*time.Minute)
			return err
		})
		a, err := Authenticate(t.Context(), d, keys, secret)
		if err != nil || a.Kind != actor.Staff || a.PropertyID != p || a.Role != RoleOwner || a.Author() != "operator:tok_ana" || a.Subject() != "staff:"+a.ID {
			t.Errorf("got %+v, %v", a, err)
		}
		for what, make := range map[string]func(tx *db.Tx) error{
			"a name that says so": func(tx *db.Tx) error {
				_, _, err := CreateStaffToken(tx, keys, p, "command line of operator:tok_bob", RoleOwner, 0)
				return err
			},
			"without an end": func(tx *db.Tx) error {
				_, _, err := CreateCommandToken(tx, keys, p, "operator:socket", RoleOwner, 0)
				return err
			},
			"for a day": func(tx *db.Tx) error {
				_, _, err := CreateCommandToken(tx, keys, p, "operator:socket", RoleOwner, 24*time.Hour)
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
		keys := dbtest.Keys(t, d)
		p, other := hotel(t, d, "A"), hotel(t, d, "B")
		var made string
		write(t, d, func(tx *db.Tx) error {
			row, secret, err := CreateStaffToken(tx, keys, p, "desk", RoleOwner, time.Hour)
			if err == nil {
				made = row.ID
				if row.Hint != secret[:8] || !row.ExpiresAt.Equal(tx.Now().Add(time.Hour)) {
					t.Errorf("hint %q, expires %v", row.Hint, row.ExpiresAt)
				}
			}
			return err
		})
		err := d.Write(t.Context(), func(tx *db.Tx) error { _, err := RevokeStaffToken(tx, other, made); return err })
		if !fault.Has(err, fault.TokenNotFound) {
			t.Errorf("another property revokes it: %v", err)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error { _, err := RevokeOperatorToken(tx, made); return err })
		if !fault.Has(err, fault.TokenNotFound) {
			t.Errorf("revoked as an operator's: %v", err)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			_, _, err := CreateStaffToken(tx, keys, "prp_none", "", RoleOwner, 0)
			return err
		})
		if !fault.Has(err, fault.PropertyNotFound) {
			t.Errorf("for no property: %v", err)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error { _, _, err := CreateStaffToken(tx, keys, p, "", "god", 0); return err })
		if !fault.Has(err, fault.InvalidFields) {
			t.Errorf("for no role: %v", err)
		}
		for property, want := range map[string]int{p: 1, other: 0} {
			if rows, err := StaffTokens(d.View(t.Context()), property, time.Now()); len(rows) != want || err != nil {
				t.Errorf("%d tokens, %v, want %d", len(rows), err, want)
			}
		}
	})
}

func TestSweepKeepsWhatIsValid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d)
		p := hotel(t, d, "A")
		write(t, d, func(tx *db.Tx) error {
			for _, ttl := range []time.Duration{0, time.Minute, time.Minute, time.Minute, 100 * 24 * time.Hour} {
				if _, _, err := CreateStaffToken(tx, keys, p, "", RoleViewer, ttl); err != nil {
					return err
				}
			}
			for _, want := range []int{2, 1, 0} {
				if n, err := Sweep(tx, tx.Now().Add(time.Hour), 2); n != want || err != nil {
					t.Errorf("swept %d, %v, want %d of the three that ended, two at a time", n, err, want)
				}
			}
			return nil
		})
	})
}

func TestOf(t *testing.T) {
	for drawn, want := range map[keyring.Kind]Kind{
		keyring.ClientToken: Client, keyring.AccessToken: Access, keyring.APIKey: APIKey,
		keyring.OperatorToken: Operator, keyring.StaffToken: Staff, keyring.JoinCode: "",
	} {
		secret := keyring.NewToken(drawn)
		if got, ok := Of(secret); got != want || ok != (want != "") {
			t.Errorf("a %s token is %q, %v, want %q", drawn, got, ok, want)
		}
		if got, ok := Of(secret[1:]); ok {
			t.Errorf("a cut %s token is %q", drawn, got)
		}
	}
}
