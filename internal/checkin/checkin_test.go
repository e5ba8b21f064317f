package checkin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
)

func eur(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: "EUR"} }

func TestDecide(t *testing.T) {
	fifty := Policy{Owing: OwingThreshold, Threshold: eur(5000)}
	refused := fault.New(fault.Precondition, PartnerError, "refused").Put(MetaReason, "noSuchGuest").Put(MetaMessage, "who?")
	for name, c := range map[string]struct {
		status  Status
		err     error
		last    *money.Amount
		policy  Policy
		reasons []fault.Reason
	}{
		"all paid, room ready":       {status: Status{eur(0), true}},
		"credit":                     {status: Status{eur(-500), true}},
		"owing blocks by default":    {status: Status{eur(1), true}, reasons: []fault.Reason{fault.Owing}},
		"owing, rule block":          {status: Status{eur(1), true}, policy: Policy{Owing: OwingBlocks}, reasons: []fault.Reason{fault.Owing}},
		"owing, unknown rule":        {status: Status{eur(1), true}, policy: Policy{Owing: "maybe"}, reasons: []fault.Reason{fault.Owing}},
		"owing, rule allow":          {status: Status{eur(99999), true}, policy: Policy{Owing: OwingAllowed}},
		"at the threshold":           {status: Status{eur(5000), true}, policy: fifty},
		"above the threshold":        {status: Status{eur(5001), true}, policy: fifty, reasons: []fault.Reason{fault.Owing}},
		"threshold, other currency":  {status: Status{money.Amount{Minor: 1, Currency: "USD"}, true}, policy: fifty, reasons: []fault.Reason{fault.Owing}},
		"threshold below zero":       {status: Status{eur(0), true}, policy: Policy{OwingThreshold, eur(-1)}},
		"room not ready":             {status: Status{eur(0), false}, reasons: []fault.Reason{fault.RoomNotReady}},
		"allow, room not ready":      {status: Status{eur(5), false}, policy: Policy{Owing: OwingAllowed}, reasons: []fault.Reason{fault.RoomNotReady}},
		"owing and not ready":        {status: Status{eur(5), false}, reasons: []fault.Reason{fault.Owing, fault.RoomNotReady}},
		"an error blocks":            {err: errors.New("x"), reasons: []fault.Reason{PartnerError}},
		"an error blocks with allow": {err: refused, policy: Policy{Owing: OwingAllowed}, reasons: []fault.Reason{PartnerError}},
		"an error blocks, last paid": {err: refused, last: new(money.Amount), reasons: []fault.Reason{PartnerError}},
		"no answer blocks":           {err: fault.New(fault.Unavailable, PartnerUnavailable, "x"), reasons: []fault.Reason{PartnerUnavailable}},
		"not registered":             {err: ErrNotRegistered},
		"not registered, paid":       {err: ErrNotRegistered, last: new(eur(0))},
		"not registered, owing":      {err: ErrNotRegistered, last: new(eur(1)), reasons: []fault.Reason{fault.Owing}},
		"not registered, threshold":  {err: ErrNotRegistered, last: new(eur(5000)), policy: fifty},
		"not registered, allowed":    {err: ErrNotRegistered, last: new(eur(1)), policy: Policy{Owing: OwingAllowed}},
	} {
		got := Decide(c.status, c.err, LastKnown{Owing: c.last}, c.policy)
		if diff := cmp.Diff(c.reasons, got.Reasons); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if blocked := len(c.reasons) > 0; got.Allowed == blocked || (got.GuestSentence != "") != blocked || (got.Fault() != nil) != blocked {
			t.Errorf("%s: %+v", name, got)
		}
		source := FromPMS
		if errors.Is(c.err, ErrNotRegistered) {
			source = FromReservation
		}
		if got.Source != source {
			t.Errorf("%s: rests on %s, want %s", name, got.Source, source)
		}
	}
}

func TestTheGuestReadsOurWordsOnly(t *testing.T) {
	refused := fault.New(fault.Precondition, PartnerError, "HTTP 409").Put(MetaReason, "noSuchGuest").Put(MetaMessage, "Jane Doe is banned")
	v := Decide(Status{}, refused, LastKnown{}, Policy{})
	if v.PartnerReason != "noSuchGuest" || v.PartnerMessage != "Jane Doe is banned" {
		t.Errorf("staff do not see the partner's words: %+v", v)
	}
	for _, word := range []string{"Jane", "banned", "noSuchGuest", "HTTP"} {
		if strings.Contains(v.GuestSentence+v.Fault().Error(), word) {
			t.Errorf("the guest reads %q: %s", word, v.GuestSentence)
		}
	}
	owing := Decide(Status{eur(1), true}, nil, LastKnown{}, Policy{}).GuestSentence
	room := Decide(Status{eur(0), false}, nil, LastKnown{}, Policy{}).GuestSentence
	both := Decide(Status{eur(1), false}, nil, LastKnown{}, Policy{}).GuestSentence
	if owing == room || owing == both || room == both || owing == v.GuestSentence {
		t.Error("two causes read the same")
	}
}

func TestAVerdictThatWasNeverMadeBlocks(t *testing.T) {
	if f := (Verdict{}).Fault(); f == nil || f.Message == "" {
		t.Errorf("got %v", f)
	}
}

// fakePMS gives set answers and records the requests.
type fakePMS struct {
	status     Status
	statusErr  error
	checkInErr error
	asked      []string
	keys       []string
	bodies     []Disclosure
}

func (f *fakePMS) CheckInStatus(_ context.Context, reservationID string) (Status, error) {
	f.asked = append(f.asked, reservationID)
	return f.status, f.statusErr
}

func (f *fakePMS) CheckIn(_ context.Context, key string, body Disclosure) error {
	f.keys, f.bodies = append(f.keys, key), append(f.bodies, body)
	return f.checkInErr
}

func TestAskingAgainAsksAgain(t *testing.T) {
	p := &fakePMS{statusErr: errors.New("down")}
	if Ask(t.Context(), p, "R1", LastKnown{}, Policy{}).Allowed {
		t.Error("an error lets the guest through")
	}
	p.statusErr, p.status = nil, Status{eur(0), true}
	if !Ask(t.Context(), p, "R1", LastKnown{}, Policy{}).Allowed {
		t.Error("the second answer did not count")
	}
	if diff := cmp.Diff([]string{"R1", "R1"}, p.asked); diff != "" {
		t.Error(diff)
	}
}

func TestComplete(t *testing.T) {
	allowed := Verdict{Allowed: true}
	blocked := Decide(Status{eur(1), true}, nil, LastKnown{}, Policy{})
	person := &Disclosure{ReservationID: "someone else's", MainCustomer: &Person{LastName: "Doe"}}
	for name, c := range map[string]struct {
		verdict    Verdict
		err        error
		disclosure *Disclosure
		bodies     []Disclosure
		want       Completion
	}{
		"blocked: not called":  {verdict: blocked, want: Completion{NotifyStaff: true, Reason: fault.Owing}},
		"no verdict":           {want: Completion{NotifyStaff: true, Reason: PartnerError}},
		"the id alone":         {verdict: allowed, bodies: []Disclosure{{ReservationID: "R1"}}, want: Completion{Accepted: true}},
		"with a disclosure":    {verdict: allowed, disclosure: person, bodies: []Disclosure{{ReservationID: "R1", MainCustomer: person.MainCustomer}}, want: Completion{Accepted: true}},
		"not registered":       {verdict: allowed, err: ErrNotRegistered, bodies: []Disclosure{{ReservationID: "R1"}}, want: Completion{AtDesk: true, NotifyStaff: true, Reason: EndpointNotRegistered}},
		"refused":              {verdict: allowed, err: fault.New(fault.Precondition, PartnerError, "x").Put(MetaReason, "full"), bodies: []Disclosure{{ReservationID: "R1"}}, want: Completion{NotifyStaff: true, Reason: PartnerError, PartnerReason: "full"}},
		"no answer":            {verdict: allowed, err: fault.New(fault.Unavailable, PartnerUnavailable, "x"), bodies: []Disclosure{{ReservationID: "R1"}}, want: Completion{NotifyStaff: true, Reason: PartnerUnavailable}},
		"an error of any kind": {verdict: allowed, err: context.Canceled, bodies: []Disclosure{{ReservationID: "R1"}}, want: Completion{NotifyStaff: true, Reason: PartnerError}},
	} {
		p := &fakePMS{checkInErr: c.err}
		got := Complete(t.Context(), p, c.verdict, "key-1", "R1", c.disclosure)
		if got.GuestSentence == "" {
			t.Errorf("%s: nothing is said to the guest", name)
		}
		got.GuestSentence = ""
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(c.bodies, p.bodies); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, key := range p.keys {
			if key != "key-1" {
				t.Errorf("%s: key %q", name, key)
			}
		}
	}
}
