package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/mail"
)

// A property with a slow mail server leaves most of the job queue to the others.
func TestMailTurns(t *testing.T) {
	var turns mailTurns
	fill := func(propertyID string) (n int) {
		for turns.take(propertyID, false) {
			n++
		}
		return n
	}
	end := func(propertyID string, n int, took time.Duration) {
		for range n {
			turns.end(propertyID, took)
		}
	}
	if n := fill("slow"); n != maxSends {
		t.Errorf("%d turns at first, want %d", n, maxSends)
	}
	if n := fill("other"); n != maxSends {
		t.Errorf("%d turns of another property, want %d", n, maxSends)
	}
	end("slow", maxSends, slowSend)
	if n := fill("slow"); n != maxSlowSends {
		t.Errorf("%d turns after slow attempts, want %d", n, maxSlowSends)
	}
	urgent := 0
	for turns.take("slow", true) {
		urgent++
	}
	if urgent != urgentSends {
		t.Errorf("%d urgent turns beyond the others, want %d", urgent, urgentSends)
	}
	end("slow", urgentSends+maxSlowSends, slowSend-1)
	if n := fill("slow"); n != maxSends {
		t.Errorf("%d turns after quick attempts, want %d", n, maxSends)
	}
	end("slow", maxSends, 0)
	end("other", maxSends, 0)
	if len(turns.running)+len(turns.slow) != 0 {
		t.Errorf("left over: %v, %v", turns.running, turns.slow)
	}
}

// Of thousands of mails that wait for a turn, each try writes to the job queue: they do not all try every few seconds.
func TestMailsWithoutATurnWait(t *testing.T) {
	var turns mailTurns
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	if first := turns.wait("one", now); first < sendWait/2 || first > 2*sendWait {
		t.Errorf("the only mail waits %v", first)
	}
	const mails = 10_000
	tries := map[time.Duration]int{} // by the second in which they happen
	for range mails {
		tries[turns.wait("one", now).Truncate(time.Second)]++
	}
	for at, n := range tries {
		if n > int(time.Second/waitStep)+1 {
			t.Fatalf("%d mails try again within the second after %v", n, at)
		}
	}
	if other := turns.wait("other", now); other > 2*sendWait {
		t.Errorf("the mail of another property waits %v", other)
	}
	if later := turns.wait("one", now.Add(time.Hour)); later > 2*sendWait || len(turns.last) != 1 {
		t.Errorf("an hour later a mail waits %v, and %d properties are left", later, len(turns.last))
	}
}

// A link that a guest asked for is mailed while invitations have all turns of the property.
func TestUrgentMailHasATurn(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "ana@example.com", 5*day)
		p.invite()
		p.order()
		job := &mailJob{mails: p.mails}
		for job.turns.take("prp_one", false) {
		}
		states := map[string]string{}
		for _, row := range p.all() {
			err := job.Work(p.Context(), &river.Job[jobs.SendMail]{Args: jobs.SendMail{PropertyID: row.PropertyID, MailID: row.ID}})
			if snoozed := (*river.JobSnoozeError)(nil); err != nil && !errors.As(err, &snoozed) {
				p.Fatal(err)
			}
		}
		for _, row := range p.all() {
			states[row.Kind] = row.State
		}
		if states["invitation"] != string(mail.Waiting) || states["link"] != string(mail.InBox) {
			p.Errorf("mails: %v", states)
		}

		// Without a turn, the link does not queue behind thousands of invitations.
		for job.turns.take("prp_one", true) {
		}
		for range 10_000 {
			job.turns.wait("prp_one", time.Now())
		}
		for _, row := range p.all() {
			retry, err := job.takeTurn(p.Context(), jobs.SendMail{PropertyID: row.PropertyID, MailID: row.ID})
			if err != nil {
				p.Fatal(err)
			}
			if long := retry > 2*sendWait; retry <= 0 || long == (row.Kind == "link") {
				p.Errorf("the mail %s waits %v for a turn", row.Kind, retry)
			}
		}
	})
}
