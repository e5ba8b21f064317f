package staff

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
)

// entries returns what the audit log of a property has, the oldest first.
func (x *fixture) entries(propertyID string) (all []string) {
	x.Helper()
	list, err := audit.List(x.DB.View(x.Context()), propertyID, audit.Filter{}, 0, 100)
	x.must(err)
	for _, e := range slices.Backward(list) {
		all = append(all, e.Actor+" "+e.Action+" "+string(e.Outcome)+" "+e.From)
	}
	return all
}

// The log of each property of a person has the events of the account; failed sign-ins are recorded after the answer.
func TestAccountIsRecorded(t *testing.T) {
	each(t, func(x *fixture) {
		x.Failed = NewFailures(x.DB, x.Keys, nil)
		from := func(action string) PasswordSignIn {
			c := passwordSignIn("ada@example.com", password)
			c.Trace = Trace{action, "192.0.2.7"}
			return c
		}
		for _, p := range []string{hotel, hostel} {
			l := x.link(p)
			_, _, err := x.AcceptOwnerLink(x.Context(), FirstOwner{PasswordSignIn: from("join"), Secret: l.Secret, Name: "Ada"})
			x.must(err)
		}
		made, err := x.SignIn(x.Context(), from("signIn"))
		x.must(err)
		wrong := from("signIn")
		wrong.Password = "wrong password"
		unknown := wrong
		unknown.Email = "unknown@example.com"
		for _, c := range []PasswordSignIn{wrong, unknown} {
			if _, err := x.SignIn(x.Context(), c); !errors.Is(err, errSignIn) {
				x.Fatal(err)
			}
		}
		if n := len(x.Failed.queue); n != 1 {
			x.Errorf("%d failures wait", n)
		}
		x.Failed.record(x.Context(), <-x.Failed.queue)
		who := author(made.PersonID)
		want := []string{"test test done 192.0.2.7", who + " join done 192.0.2.7", who + " signIn done 192.0.2.7", who + " signIn refused 192.0.2.7"}
		for _, p := range []string{hotel, hostel} {
			if got := x.entries(p); !slices.Equal(got, want) {
				x.Errorf("%s: %q, want %q", p, got, want)
			}
		}
	})
}

func TestLastCallAtAProperty(t *testing.T) {
	each(t, func(x *fixture) {
		s := x.owner("ada@example.com", hotel)
		x.owner("ada@example.com", hostel)
		x.must(x.write(func(tx *db.Tx) error {
			return MarkUsed(tx, actor.Actor{PersonID: s.PersonID, TokenID: s.ID, PropertyID: hotel})
		}))
		for p, want := range map[string]bool{hotel: true, hostel: false} {
			members, err := ListMembers(x.DB.View(x.Context()), x.Keys, p)
			if err != nil || len(members) != 1 || (members[0].UsedAt != nil) != want {
				x.Errorf("%s: %+v, %v", p, members, err)
			}
		}
	})
}

// A call that names no property, such as the first one of a page, does not hide the calls at a property within the same minute.
func TestLastCallAfterOneWithoutProperty(t *testing.T) {
	each(t, func(x *fixture) {
		s := x.owner("ada@example.com", hotel)
		call := func(propertyID string) {
			a, err := x.authenticate(s.Token, propertyID)
			x.must(err)
			if UseIsOld(a, x.DB.View(x.Context()).Now()) {
				x.must(x.write(func(tx *db.Tx) error { return MarkUsed(tx, a) }))
			}
		}
		for range 3 {
			call("")
			call(hotel)
			members, err := ListMembers(x.DB.View(x.Context()), x.Keys, hotel)
			x.must(err)
			if used := members[0].UsedAt; used == nil || !used.Equal(x.DB.View(x.Context()).Now()) {
				x.Errorf("the last call was at %v", used)
			}
			x.clock.Advance(usedInterval)
		}
	})
}

// An entry of the audit log says what was done.
func TestRecordNeedsAnAction(t *testing.T) {
	each(t, func(x *fixture) {
		s := x.owner("ada@example.com", hotel)
		if err := x.write(func(tx *db.Tx) error { return Record(tx, x.Keys, s.PersonID, Trace{}, audit.Done) }); err == nil {
			x.Error("an entry without an action is stored")
		}
	})
}

// When the server stops, what waits is stored.
func TestFailuresAreDrained(t *testing.T) {
	each(t, func(x *fixture) {
		x.Failed = NewFailures(x.DB, x.Keys, slog.New(slog.DiscardHandler))
		s := x.owner("ada@example.com", hotel)
		before := len(x.entries(hotel))
		for range 3 {
			x.Failed.note(s.PersonID, traced)
		}
		ctx, stop := context.WithCancel(x.Context())
		stop()
		x.must(x.Failed.Run(ctx))
		if n := len(x.entries(hotel)) - before; n != 3 {
			x.Errorf("%d of 3 entries were stored", n)
		}
		over, end := context.WithTimeout(x.Context(), 0)
		defer end()
		x.Failed.note(s.PersonID, traced)
		x.Failed.drain(over)
		if n := len(x.Failed.queue); n != 1 {
			x.Errorf("%d entries wait after the limit", n)
		}
	})
}
