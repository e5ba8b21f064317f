package mail

import "testing"

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
