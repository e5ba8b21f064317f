// Package smartkeys tests SmartKeys as a whole: a phone in software, the public APIs, a bridge with virtual locks.
package smartkeys

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/test/logtest"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/smartkey"
	"latchkey.dev/internal/test/dbtest"
)

// phone is a guest's phone.
type phone struct {
	*smartkey.Phone
	t    testing.TB
	w    *e2etest.World
	api  guestv1.SmartKeyServiceClient
	id   string
	keys *guestv1.SmartKey
}

func newPhone(t testing.TB, w *e2etest.World) *phone {
	t.Helper()
	p, err := smartkey.NewPhone(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &phone{Phone: p, t: t, w: w, api: guestv1.NewSmartKeyServiceClient(w.Public)}
}

// stay pushes a reservation and returns its id.
func stay(t testing.TB, w *e2etest.World, pmsID string, fields map[string]any) string {
	t.Helper()
	a := e2etest.PushReservation(t, w, pmsID, fields)
	id, _ := a.Data()["id"].(string)
	if id == "" {
		t.Fatalf("a reservation without an id: %v", a)
	}
	return id
}

// link is a link of staff's for a stay.
func link(t testing.TB, w *e2etest.World, reservationID string) string {
	t.Helper()
	l, err := staff(w).CreateSmartKeyLink(w.Staff(t.Context()), &propertyv1.CreateSmartKeyLinkRequest{ReservationId: reservationID})
	if err != nil {
		t.Fatal(err)
	}
	return l.GetLink()
}

func staff(w *e2etest.World) propertyv1.SmartKeyServiceClient {
	return propertyv1.NewSmartKeyServiceClient(w.Public)
}

// enrol joins a stay.
func (p *phone) enrol(link string) {
	p.t.Helper()
	ctx := p.t.Context()
	look, err := p.api.GetEnrolment(ctx, &guestv1.GetEnrolmentRequest{Link: link})
	if err != nil {
		p.t.Fatal(err)
	}
	proof, err := p.SignPossession(smartkey.PossessionSpec{Property: look.GetPropertyId(), Purpose: smartkey.Enrol, Challenge: look.GetChallenge()}, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.api.Enrol(ctx, &guestv1.EnrolRequest{Link: link, Possession: proof, Name: "Ada's phone"})
	if err != nil {
		p.t.Fatal(err)
	}
	p.id = answer.GetPhoneId()
	p.keep(answer.GetKey())
}

func (p *phone) keep(k *guestv1.SmartKey) {
	p.keys = k
	p.SetToken(k.GetToken())
}

// renew asks for the next token.
func (p *phone) renew() error {
	p.t.Helper()
	ctx := p.t.Context()
	c, err := p.api.Challenge(ctx, &guestv1.ChallengeRequest{PhoneId: p.id})
	if err != nil {
		return err
	}
	proof, err := p.SignPossession(smartkey.PossessionSpec{Property: c.GetPropertyId(), Purpose: smartkey.Renew, Challenge: c.GetChallenge()}, time.Now())
	if err != nil {
		return err
	}
	answer, err := p.api.Renew(ctx, &guestv1.RenewRequest{PhoneId: p.id, Possession: proof})
	if err == nil {
		p.keep(answer.GetKey())
	}
	return err
}

func (p *phone) door(name string) smartkey.Door {
	p.t.Helper()
	for _, d := range p.keys.GetDoors() {
		if d.GetName() == name {
			return smartkey.Door(d.GetDoor())
		}
	}
	p.t.Fatalf("the token has no door %q: %v", name, p.keys.GetDoors())
	return smartkey.Door{}
}

// greet asks for a greeting at a door.
func (p *phone) greet(door smartkey.Door) smartkey.Greeting {
	p.t.Helper()
	var out smartkey.Greeting
	p.w.Await("a greeting of the bridge", func(ctx context.Context) (bool, error) {
		g, err := p.api.Greet(ctx, &guestv1.GreetRequest{Token: p.Token(), Door: door[:]})
		if err != nil {
			return false, err
		}
		out, err = smartkey.DecodeGreeting(g.GetGreeting())
		return err == nil, err
	})
	return out
}

// use presents the token at a door.
func (p *phone) use(door smartkey.Door, op smartkey.Operation) *guestv1.PresentResponse {
	p.t.Helper()
	pr, err := p.Present(p.greet(door), door, op, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	return p.send(pr)
}

func (p *phone) send(pr smartkey.Presentation) *guestv1.PresentResponse {
	p.t.Helper()
	raw, err := pr.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.api.Present(p.t.Context(), &guestv1.PresentRequest{Presentation: raw})
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}

func (p *phone) wants(what string, got *guestv1.PresentResponse, reason smartkey.Reason, result string) {
	p.t.Helper()
	if got.GetReason() != string(reason) || got.GetResult() != result {
		p.t.Errorf("%s: %s, %s; want %s, %s", what, got.GetReason(), got.GetResult(), reason, result)
	}
}

func both(t *testing.T, f func(t *testing.T, w *e2etest.World)) {
	t.Helper()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		t.Parallel()
		f(t, e2etest.Open(t, e2etest.Database(url)))
	})
}

func TestAPhoneOpensItsDoors(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		id := stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})
		p := newPhone(t, w)
		l := link(t, w, id)
		p.enrol(l)
		room := p.door("Room 101")
		opened := w.Site.UnlockCount("Room 101")
		p.wants("check", p.use(room, smartkey.Check), smartkey.OK, "checked")
		if n := w.Site.UnlockCount("Room 101"); n != opened {
			t.Error("a check moved the lock")
		}
		p.wants("open", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
		if n := w.Site.UnlockCount("Room 101"); n != opened+1 {
			t.Errorf("the lock was opened %d times", n-opened)
		}
		// The same presentation again: the nonce is spent.
		pr, err := p.Present(p.greet(room), room, smartkey.Unlock, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		p.wants("open", p.send(pr), smartkey.OK, "opened")
		p.wants("again", p.send(pr), smartkey.Replayed, "refused")
		if n := w.Site.UnlockCount("Room 101"); n != opened+2 {
			t.Errorf("the lock was opened %d times", n-opened)
		}
		// Another phone that copied the token.
		thief := newPhone(t, w)
		thief.keep(p.keys)
		p.wants("copied", thief.use(room, smartkey.Unlock), smartkey.Cloned, "refused")
		// A second phone over the same link.
		second := newPhone(t, w)
		_, err = second.api.GetEnrolment(t.Context(), &guestv1.GetEnrolmentRequest{Link: l})
		if err == nil {
			t.Error("a link that was used can be used again")
		}
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		p.wants("renewed", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
	})
}

func TestEndOfAccessEndsSmartKeys(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		ctx := w.Staff(t.Context())
		id := stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})
		p, companion := newPhone(t, w), newPhone(t, w)
		p.enrol(link(t, w, id))
		companion.enrol(link(t, w, id))
		room := p.door("Room 101")
		refused := func(what string, p *phone, door smartkey.Door, reason smartkey.Reason) {
			t.Helper()
			w.Await(what, func(context.Context) (bool, error) {
				return p.use(door, smartkey.Check).GetReason() == string(reason), nil
			})
			p.wants(what, p.use(door, smartkey.Unlock), reason, "refused")
		}
		p.wants("open", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
		companion.wants("open", companion.use(room, smartkey.Unlock), smartkey.OK, "opened")

		// One phone is shut out, the other is not.
		if _, err := staff(w).RevokeSmartKeyPhone(ctx, &propertyv1.RevokeSmartKeyPhoneRequest{Id: companion.id}); err != nil {
			t.Fatal(err)
		}
		refused("a phone that was shut out", companion, room, smartkey.Revoked)
		if companion.renew() == nil {
			t.Error("a phone that was shut out gets a new token")
		}
		p.wants("the other", p.use(room, smartkey.Unlock), smartkey.OK, "opened")

		// The door is reset.
		locks, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(ctx, &propertyv1.ListLocksRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, lk := range locks.GetData().GetList() {
			if lk.GetDoorName() == "Room 101" {
				if _, err := staff(w).RestartDoor(ctx, &propertyv1.RestartDoorRequest{LockId: lk.GetId()}); err != nil {
					t.Fatal(err)
				}
			}
		}
		refused("a door that was reset", p, room, smartkey.Superseded)
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		p.wants("renewed", p.use(room, smartkey.Unlock), smartkey.OK, "opened")

		// The guest moves.
		old := p.keys
		e2etest.PushReservation(t, w, "S", map[string]any{"state": "started", "roomId": "R102"})
		refused("the room that was left", p, room, smartkey.Revoked)
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		p.wants("the new room", p.use(p.door("Room 102"), smartkey.Unlock), smartkey.OK, "opened")
		now := p.keys
		p.keep(old)
		refused("the old token at the front door", p, p.door("Front door"), smartkey.Revoked)
		p.keep(now)

		// The key that signs is replaced at once: old tokens count for nothing.
		if _, err := staff(w).RotateIssuerKey(ctx, &propertyv1.RotateIssuerKeyRequest{AtOnce: true}); err != nil {
			t.Fatal(err)
		}
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		moved := p.door("Room 102")
		w.Await("the bridge has the new key", func(context.Context) (bool, error) { return p.use(moved, smartkey.Check).GetReason() == "ok", nil })
		p.wants("under the new key", p.use(moved, smartkey.Unlock), smartkey.OK, "opened")

		// The guest leaves.
		e2etest.PushReservation(t, w, "S", map[string]any{"state": "processed", "roomId": "R102"})
		refused("a guest who left", p, moved, smartkey.Revoked)
		if p.renew() == nil {
			t.Error("a guest who left gets a new token")
		}
	})
}

// TestNothingSecretIsLogged drives a phone's whole life with every word of server and bridge kept.
func TestNothingSecretIsLogged(t *testing.T) {
	var log logtest.Buffer
	w := e2etest.Open(t, func(c *sandbox.Config) {
		c.Options.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	id := stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})
	p := newPhone(t, w)
	l := link(t, w, id)
	p.enrol(l)
	room := p.door("Room 101")
	pr, err := p.Present(p.greet(room), room, smartkey.Unlock, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p.wants("open", p.send(pr), smartkey.OK, "opened")
	p.wants("again", p.send(pr), smartkey.Replayed, "refused")
	_, _ = p.api.GetEnrolment(t.Context(), &guestv1.GetEnrolmentRequest{Link: l})
	_, _ = p.api.Present(t.Context(), &guestv1.PresentRequest{Presentation: append(pr.Token, 0)})
	_, _ = p.api.Greet(t.Context(), &guestv1.GreetRequest{Token: pr.Token, Door: make([]byte, 8)})
	for what, raw := range map[string][]byte{"link": []byte(l), "token": pr.Token, "proof": pr.Proof} {
		tail := raw[len(raw)-16:]
		for _, form := range []string{string(raw), hex.EncodeToString(tail), base64.StdEncoding.EncodeToString(raw)[:40], fmt.Sprint(tail)} {
			if log.Has(strings.Trim(form, "[]")) {
				t.Errorf("a %s is in the log", what)
			}
		}
	}
	if !log.Has("smartkey") {
		t.Error("the log was not kept")
	}
}
