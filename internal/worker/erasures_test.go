package worker

import (
	"strings"
	"testing"
	"time"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
)

// requestErasure requests the erasure of the data of a stay's party, and returns its receipt.
func (p *post) requestErasure(reservationID string) (receipt string) {
	p.Helper()
	write(p.T, p.d, func(tx *db.Tx) error {
		if _, err := guest.LoadParty(tx, p.keys, "prp_one", reservationID); err != nil {
			return err
		}
		e, err := guest.RequestErasureFor(tx, p.keys, "prp_one", reservationID, "", "Ada")
		receipt = e.Receipt(p.keys)
		return err
	})
	return receipt
}

// sweepErasures runs the sweep once.
func (p *post) sweepErasures() error {
	return Erasures{Mails: p.mails, Log: quiet}.Sweep().Run(p.Context(), p.d)
}

// isErased reports whether the erasure with a receipt is done.
func (p *post) isErased(receipt string) bool {
	p.Helper()
	e, err := guest.FindReceipt(p.d.View(p.Context()), p.keys, receipt)
	if err != nil {
		p.Fatal(err)
	}
	return e.Row.FinishedAt != nil
}

// The mail that confirms an erasure goes out before the address is erased. With it go all other mails of the stay, also those that wait.
func TestErasureIsConfirmedByMail(t *testing.T) {
	eachPost(t, func(p *post) {
		stay := p.book("1", "ana@example.com", 48*time.Hour)
		p.invite()
		p.deliver()
		receipt := p.requestErasure(stay)
		for range 2 {
			if err := p.sweepErasures(); err != nil {
				t.Fatal(err)
			}
		}
		if p.isErased(receipt) || len(p.all()) != 2 {
			t.Fatalf("erased: %v, with %d mails", p.isErased(receipt), len(p.all()))
		}
		for _, row := range p.deliver() {
			text := p.text(row)
			if row.Kind == string(mail.Erasure) && (text.To != "ana@example.com" || !strings.Contains(text.Text, "https://stay.example/g/erasure/"+receipt) || strings.Contains(text.Text, "/g/l/")) {
				t.Errorf("the mail to %s: %s", text.To, text.Text)
			}
		}
		if err := p.sweepErasures(); err != nil {
			t.Fatal(err)
		}
		if !p.isErased(receipt) || len(p.all()) != 0 {
			t.Errorf("erased: %v, with %d mails", p.isErased(receipt), len(p.all()))
		}
	})
}

// The mail that confirms an erasure follows the booker's address.
func TestErasureIsConfirmedAtThePresentAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		receipt := p.requestErasure(p.book("1", "ana@example.com", 48*time.Hour))
		if err := p.sweepErasures(); err != nil {
			t.Fatal(err)
		}
		p.book("1", "bea@example.com", 48*time.Hour)
		all := p.deliver()
		if len(all) != 1 || all[0].State != string(mail.InBox) || p.text(all[0]).To != "bea@example.com" {
			t.Fatalf("the mail after the change: %v", all)
		}
		if err := p.sweepErasures(); err != nil || !p.isErased(receipt) {
			t.Errorf("erased: %v, %v", p.isErased(receipt), err)
		}
	})
}

// An erasure waits an hour for its mail, and no longer. The unsent invitation that it erases is sent to the other rooms that it lists.
func TestErasureDoesNotWaitForever(t *testing.T) {
	eachPost(t, func(p *post) {
		inGroup := func(r reservation.Patch) { r[reservation.GroupID] = "G" }
		first, second := p.book("1", "ana@example.com", 48*time.Hour, inGroup), p.book("2", "ana@example.com", 48*time.Hour, inGroup)
		p.settle()
		p.invite()
		listing := p.all()
		if len(listing) != 1 {
			t.Fatalf("%d invitations", len(listing))
		}
		erased, other := first, second
		if listing[0].ReservationID == second {
			erased, other = second, first
		}
		receipt := p.requestErasure(erased)
		for _, wait := range []time.Duration{0, acknowledgementPatience - time.Second, time.Second} {
			if p.isErased(receipt) {
				t.Fatal("it does not wait for the mail")
			}
			p.clock.Advance(wait)
			if err := p.sweepErasures(); err != nil {
				t.Fatal(err)
			}
		}
		if !p.isErased(receipt) {
			t.Fatal("it waits longer than an hour")
		}
		p.settle()
		p.invite()
		if all := p.all(); len(all) != 1 || all[0].ReservationID != other {
			t.Errorf("the other room is not invited again: %v", all)
		}
	})
}

// An erasure that fails is tried again, does not stop others, and is known to staff before it is late.
func TestErasureThatFails(t *testing.T) {
	eachPost(t, func(p *post) {
		broken, whole := p.requestErasure(p.book("1", "", time.Hour)), p.requestErasure(p.book("2", "", time.Hour))
		write(t, p.d, func(tx *db.Tx) error {
			e, err := guest.FindReceipt(tx, p.keys, broken)
			if err != nil {
				return err
			}
			return tx.Guest.Update().Where(entguest.PropertyID("prp_one"), entguest.ReservationID(e.Row.ReservationID)).SetPerson([]byte("broken")).Exec(tx.Context())
		})
		for range 2 {
			_ = p.sweepErasures()
		}
		if !p.isErased(whole) {
			t.Error("an erasure that fails stops the others")
		}
		late := func() (n int) {
			for _, row := range p.notices() {
				if row.Kind == string(notice.ErasureLate) && row.Parameters["number"] == "N1" {
					n++
				}
			}
			return n
		}
		p.clock.Advance(20*time.Hour - time.Second)
		if err := p.sweepErasures(); err == nil || late() != 0 {
			t.Errorf("%v, and %d notices before 20 hours", err, late())
		}
		p.clock.Advance(time.Second)
		for range 2 {
			if err := p.sweepErasures(); err == nil || late() != 1 {
				t.Errorf("%v, and %d notices after 20 hours", err, late())
			}
		}
		write(t, p.d, func(tx *db.Tx) error {
			pending, err := guest.ListPendingErasures(tx, "", 1)
			if err != nil {
				return err
			}
			return guest.WithdrawErasure(tx, actor.Actor{PropertyID: "prp_one", ReservationID: pending[0].ReservationID, Origin: guest.OriginMail})
		})
		if n, _, err := notice.CountOpen(p.d.View(t.Context()), "prp_one"); err != nil || n != 0 {
			t.Errorf("%d problems are open after the request was withdrawn, %v", n, err)
		}
	})
}

// Staff look for no address of a stay whose data were erased before the arrival.
func TestErasedStayNeedsNoAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day)
		p.invite()
		receipt := p.requestErasure(p.only())
		p.clock.Advance(2 * acknowledgementPatience)
		for range 2 {
			if err := p.sweepErasures(); err != nil {
				t.Fatal(err)
			}
			p.clock.Advance(2 * acknowledgementPatience)
		}
		p.change("1", "ana@example.com", 5*day)
		p.settle()
		p.invite()
		if !p.isErased(receipt) || len(p.notices()) != 0 || len(p.all()) != 0 {
			t.Errorf("erased: %t, with %d notices and %d mails", p.isErased(receipt), len(p.notices()), len(p.all()))
		}
	})
}
