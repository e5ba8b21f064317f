package guest

import (
	"testing"

	"latchkey.dev/internal/actor"
)

// The booker of a reservation reads another one only if everything that makes them one booking is the same.
func TestIsTogether(t *testing.T) {
	own := booking{PropertyID: "prp_1", IntegrationID: "int_1", GroupID: "G", Address: []byte("ana"), Shown: true}
	with := func(change func(b *booking)) booking { b := own; change(&b); return b }
	for what, c := range map[string]struct {
		own, other booking
		want       bool
	}{
		"the same":                {own, own, true},
		"another property":        {own, with(func(b *booking) { b.PropertyID = "prp_2" }), false},
		"another PMS":             {own, with(func(b *booking) { b.IntegrationID = "int_2" }), false},
		"another group":           {own, with(func(b *booking) { b.GroupID = "H" }), false},
		"another booker":          {own, with(func(b *booking) { b.Address = []byte("bo") }), false},
		"a booker without a mail": {own, with(func(b *booking) { b.Address = nil }), false},
		"canceled":                {own, with(func(b *booking) { b.Shown = false }), false},
		"no groups":               {with(func(b *booking) { b.GroupID = "" }), with(func(b *booking) { b.GroupID = "" }), false},
		"no mails":                {with(func(b *booking) { b.Address = nil }), with(func(b *booking) { b.Address = nil }), false},
	} {
		if got := c.own.isTogether(c.other); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

func TestMayReadGroup(t *testing.T) {
	for what, c := range map[string]struct {
		a    actor.Actor
		want bool
	}{
		"the main guest by mail": {actor.Actor{Kind: actor.Guest, Origin: OriginMail}, true},
		"a companion":            {actor.Actor{Kind: actor.Guest, Origin: OriginMail, GuestID: "gst_2"}, false},
		"a QR code":              {actor.Actor{Kind: actor.Guest, Origin: OriginDoor}, false},
		"a phone of a kiosk":     {actor.Actor{Kind: actor.Guest, Origin: OriginDoor, HandedBy: "gse_1"}, false},
		"a kiosk":                {actor.Actor{Kind: actor.Guest, Origin: "ksk_1"}, false},
		"staff":                  {actor.Actor{Origin: OriginMail}, false},
	} {
		if got := mayReadGroup(c.a); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
