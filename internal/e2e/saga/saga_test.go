// Package saga kills the server, as a real process, at each step of a check-in, and checks what guest, PMS and mailbox see.
package saga

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/smtptest"
)

func TestMain(m *testing.M) { program.Main(m) }

// guestSteps are the guest's steps at which the server is killed: together with the call, or after its answer.
var guestSteps = []step{opening, opened, saving, saved, starting, started, confirming, confirmed, accepting, accepted, completing, completed, revealing}

// deskMoments are the moments at which the PMS holds a call or has answered it.
var deskMoments = []moment{statusAsked, statusAnswered, checkInAsked, checkInDone, checkInSaid, startedSent, startedStored}

var mailSteps = []smtptest.Step{smtptest.Recipient, smtptest.Taken, smtptest.Answered}

// point is a point of one guest's check-in at which the server is killed.
type point struct {
	name string
	from step // from is the step of the guest from which on the point counts; empty: at once
}

// isInvitation reports whether the server is killed while it mails the guest's invitation.
func (p point) isInvitation() bool { return strings.HasPrefix(p.name, "mail ") && p.from == "" }

// points are the points of the test. The second question to the PMS follows the last press. First come the mails and calls whose
// effect is not known after the kill: they are repeated only half a minute later.
func points() (all []point) {
	for _, s := range mailSteps {
		all = append(all, point{name: "mail " + string(s)}, point{"mail " + string(s), completing}) // the invitation and the code
	}
	for _, m := range deskMoments {
		all = append(all, point{name: string(m)})
	}
	for _, m := range []moment{statusAsked, statusAnswered} {
		all = append(all, point{string(m), completing})
	}
	for _, s := range guestSteps {
		all = append(all, point{name: string(s)})
	}
	return all
}

// kills is the number of kills at random times: LATCHKEY_SOAK, else 0.
func kills(t *testing.T) int {
	t.Helper()
	text, set := os.LookupEnv("LATCHKEY_SOAK")
	if !set {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("LATCHKEY_SOAK=%q: want how often to kill, such as 50", text)
	}
	return n
}

// The server is killed at each point of a check-in. Each guest is checked in once, and gets no mail twice. With LATCHKEY_SOAK, it is also
// killed at random times, and PostgreSQL is tested too.
func TestKillAtEachStep(t *testing.T) {
	t.Parallel()
	random := kills(t)
	engines := []string{"sqlite"}
	if random > 0 {
		engines = dbtest.Engines
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			all := points()
			w := open(t, engine, len(all)+random)
			r := &run{world: w}
			r.invite(all)
			for i, p := range all {
				r.killAt(i, p)
			}
			rng := rand.New(rand.NewPCG(14, 14))
			for i := range random {
				r.killAtRandom(len(all)+i, rng)
			}
			r.all.Wait()
			r.judge(t.Context())
		})
	}
}

// run is a test with its guests.
type run struct {
	*world
	guests []*guest
	all    sync.WaitGroup
}

// invite books the stays of the guests whose points come after the invitation, and waits for their invitations. Later, each guest would
// wait for the next run of the invitations.
func (r *run) invite(all []point) {
	var booked sync.WaitGroup
	for i, p := range all {
		if p.isInvitation() {
			continue
		}
		booked.Go(func() {
			if err := r.book(r.t.Context(), r.guest(i)); err != nil {
				r.t.Error(err)
			}
		})
	}
	booked.Wait()
	for i, p := range all {
		if p.isInvitation() {
			continue
		}
		r.must(program.Await(r.t.Context(), guestID(i)+" is invited", func() (bool, error) {
			return len(r.mailsTo(guestID(i)+mailDomain)) > 0, nil
		}))
	}
}

func (r *run) guest(i int) *guest {
	return &guest{w: r.world, number: fmt.Sprint(1000 + i), room: roomID(i), id: guestID(i), email: guestID(i) + mailDomain}
}

// send lets a guest book a room, if it is not booked yet, and check in, in the background. The function is called around each of the
// guest's steps.
func (r *run) send(i int, at func(step)) {
	g := r.guest(i)
	g.at = at
	r.guests = append(r.guests, g)
	r.all.Go(func() {
		if err := g.checkIn(r.t.Context()); err != nil {
			r.t.Error(err)
		}
	})
}

// killAt lets one more guest check in, kills the server at the point of this guest and starts it again. The earlier guests go on meanwhile.
func (r *run) killAt(i int, p point) {
	r.t.Helper()
	var dead <-chan struct{}
	armed := make(chan struct{})
	arm := sync.OnceFunc(func() {
		dead = r.arm(p.name, guestID(i))
		close(armed)
	})
	if p.from == "" {
		arm()
	}
	r.send(i, func(s step) {
		if s == p.from {
			arm()
		}
		if isBefore(s) {
			go r.reach(string(s), guestID(i)) // the kill meets the call anywhere on its way
		} else {
			r.reach(string(s), guestID(i))
		}
	})
	timeout := time.After(program.Patience)
	for _, reached := range []func() <-chan struct{}{func() <-chan struct{} { return armed }, func() <-chan struct{} { return dead }} {
		select {
		case <-reached():
		case <-timeout:
			r.t.Fatalf("guest %s did not reach the point %q from %q", guestID(i), p.name, p.from)
		}
	}
	r.must(r.server.Start(r.t.Context()))
}

// isBefore reports whether a step of the guest is before its answer.
func isBefore(s step) bool {
	return slices.Contains([]step{opening, saving, starting, confirming, clearing, signing, accepting, completing, revealing}, s)
}

// killAtRandom lets one more guest check in, and kills the server at a random time of the check-in.
func (r *run) killAtRandom(i int, rng *rand.Rand) {
	r.t.Helper()
	r.send(i, func(step) {})
	<-time.After(time.Duration(rng.Int64N(int64(1500 * time.Millisecond))))
	r.server.Kill()
	r.must(r.server.Start(r.t.Context()))
}

// mailPatience is the timeout of waits for mails. PostgreSQL may have other processes, so the job of a killed process waits.
var mailPatience = map[string]time.Duration{"sqlite": program.Patience, "postgres": 8 * time.Minute}

// awaitMails is [program.Await] for what follows from mails.
func (w *world) awaitMails(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, mailPatience[w.engine])
	defer cancel()
	for {
		if err := program.Await(ctx, what, holds); err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// judge checks what is left when all guests have gone on as far as they could.
func (r *run) judge(ctx context.Context) {
	t := r.t
	var mails []*propertyv1.Mail
	err := r.awaitMails(ctx, "each guest has a mail with the code, and no mail waits", func() (ok bool, err error) {
		mails, err = r.mails()
		return err == nil && !slices.ContainsFunc(mails, isUnsent) && countKeys(mails) >= len(r.guests), err
	})
	if err != nil {
		t.Fatalf("%v: %s", err, list(mails))
	}
	for _, g := range r.guests {
		calls, effects := r.desk.seen(g.id)
		slices.Sort(calls)
		if len(effects) != 1 || len(slices.Compact(calls)) != 1 || r.desk.CheckInCount(g.id) != 1 {
			t.Errorf("%s: the PMS saw calls with the keys %v and effects of %v", g.number, calls, effects)
		}
	}
	r.judgeMails(mails)
	if t.Failed() {
		t.Log(list(mails))
	}
}

func countKeys(mails []*propertyv1.Mail) (n int) {
	for _, m := range mails {
		if m.GetKind() == "key" {
			n++
		}
	}
	return n
}

func isUnsent(m *propertyv1.Mail) bool { return m.GetState() == "waiting" || m.GetState() == "sending" }

func list(mails []*propertyv1.Mail) (text string) {
	for _, m := range mails {
		text += fmt.Sprintf("%s %s %s: %s after %d attempts %s\n", m.GetReservationId(), m.GetKind(), m.GetMaskedTo(), m.GetState(), m.GetAttempts(), m.GetFailure())
	}
	return text
}

// judgeMails checks that the mail server took no mail twice, each mail that was sent, and none that staff do not know of.
func (r *run) judgeMails(mails []*propertyv1.Mail) {
	taken := map[string]int{}
	for _, l := range r.letters() {
		taken[l.id]++
		if taken[l.id] > 1 {
			r.t.Errorf("the mail %s to %s was sent twice", l.id, l.to)
		}
	}
	once := map[string]bool{}
	for _, m := range mails {
		n := taken[messageID(m)]
		delete(taken, messageID(m))
		about := m.GetReservationId() + " " + m.GetKind()
		switch {
		case m.GetState() == "sent" && n != 1, m.GetState() == "canceled" && n != 0:
			r.t.Errorf("%s is %s and was taken %d times", about, m.GetState(), n)
		case m.GetState() == "failed" && !slices.Contains(r.notices(m.GetReservationId()), "mailFailed"):
			r.t.Errorf("%s has failed, and staff have no notice", about)
		}
		if m.GetKind() != "link" && n > 0 { // a guest may ask for another link
			if once[about] {
				r.t.Errorf("%s: a second mail", about)
			}
			once[about] = true
		}
	}
	for id := range taken {
		r.t.Errorf("staff do not see the mail %s", id)
	}
	if keys := countKeys(mails); keys != len(r.guests) {
		r.t.Errorf("%d mails with a code for %d guests", keys, len(r.guests))
	}
}
