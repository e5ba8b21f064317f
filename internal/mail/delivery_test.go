package mail

import (
	"strings"
	"testing"

	"latchkey.dev/internal/message"
)

// A mail counts as sent only if the guest can get it.
func TestDelivery(t *testing.T) {
	for _, c := range []struct {
		state  State
		outlet Outlet
		want   Delivery
	}{
		{Waiting, ToServer, OnItsWay}, {Waiting, ToOpenMailbox, OnItsWay}, {Waiting, ToMailbox, InMailbox},
		{InBox, ToServer, InMailbox}, {InBox, ToOpenMailbox, Delivered}, {InBox, ToMailbox, InMailbox},
		{Sending, ToServer, OnItsWay}, {Sending, ToMailbox, OnItsWay},
		{Sent, ToServer, Delivered}, {Sent, ToMailbox, Delivered},
		{Failed, ToServer, Undelivered}, {Bounced, ToMailbox, Undelivered}, {Canceled, ToServer, NoMail},
	} {
		if got := DeliveryOf(c.state, c.outlet); got != c.want {
			t.Errorf("a mail in state %s that goes to %d is %q, want %q", c.state, c.outlet, got, c.want)
		}
	}
}

// Staff ask a guest for another address only if the mail server refused it for good.
func TestProblemOfARefusedRecipient(t *testing.T) {
	for state, asks := range map[State]bool{Waiting: false, Bounced: true, Failed: true} {
		text := message.Reader{}.Text(ProblemText(&Row{Kind: string(Key), State: string(state), Failure: string(FailedRecipient)}))
		if text == "" || strings.Contains(text, "Ask the guest") != asks {
			t.Errorf("%s: %q", state, text)
		}
	}
	if text := (message.Reader{}).Text(ProblemText(&Row{State: string(Waiting)})); text != "" {
		t.Errorf("nothing failed, and: %q", text)
	}
}

// Staff ask no guest for another address if a mail to others was refused.
func TestProblemOfAnotherRecipient(t *testing.T) {
	for _, kind := range append([]Kind{""}, Kinds...) {
		isGuests := kind == Erasure || kind != "" && kind.HasLink()
		for _, f := range []Failure{FailedRecipient, FailedBefore} {
			if f == FailedBefore && !isGuests && kind != Staff {
				continue // it has no OnceKey, so it is sent in any case
			}
			m := FailureText(kind, f)
			text := message.Reader{}.Text(m)
			if asks := strings.Contains(text, "guest") || strings.Contains(text, "PMS"); asks != isGuests || !message.Has(m.Kind) {
				t.Errorf("a mail of the kind %q that failed as %s: %q", kind, f, text)
			}
		}
	}
}
