package kiosk

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/test/dbtest"
)

const hotel = "prp_hotel"

// tablet is an enrolled tablet with the service that it calls. The end-to-end tests call the service through a server; they leave out what
// depends on time or on the endpoints of the PMS.
type tablet struct {
	*testing.T
	*Kiosks
	ctx   context.Context
	clock *clock.Fixed
	id    string
	key   *ecdsa.PrivateKey
}

// each enrols a tablet through the service, on every database.
func each(t *testing.T, f func(h *tablet)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			c := clock.At(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
			d := dbtest.Open(t, engine, dbtest.Clock(c))
			keys := dbtest.Keys(t, d)
			h := &tablet{T: t, Kiosks: &Kiosks{DB: d, Answers: &idem.Answers{DB: d, Keys: keys}, Keys: keys}, clock: c}
			var code kiosk.Code
			h.must(d.Write(t.Context(), func(tx *db.Tx) error {
				err := tx.Property.Create().SetID(hotel).SetName("Hotel").SetTimeZone("Europe/Lisbon").Exec(tx.Context())
				if err == nil {
					_, code, err = kiosk.Create(tx, keys, hotel, "Lobby")
				}
				return err
			}))
			var err error
			h.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			h.must(err)
			public, err := x509.MarshalPKIXPublicKey(&h.key.PublicKey)
			h.must(err)
			enrolled, err := h.EnrolKiosk(t.Context(), &kioskv1.EnrolKioskRequest{Code: code.Text, PublicKey: public})
			h.must(err)
			caller, err := kiosk.Authenticate(d.View(t.Context()), keys, enrolled.GetData().GetToken())
			h.must(err)
			h.id, h.ctx = enrolled.GetData().GetKioskId(), actor.With(t.Context(), caller)
			f(h)
		})
	}
}

func (h *tablet) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// start returns what the start page of the tablet shows.
func (h *tablet) start() *kioskv1.Kiosk {
	h.Helper()
	got, err := h.GetKiosk(h.ctx, &kioskv1.GetKioskRequest{})
	h.must(err)
	return got.GetData()
}

func TestStartPage(t *testing.T) {
	each(t, func(h *tablet) {
		page := h.start()
		if page.GetId() != h.id || page.GetName() != "Lobby" || page.GetProperty().GetName() != "Hotel" || page.GetDoor() == "" || page.GetClosed() != "" ||
			!page.GetNow().AsTime().Equal(h.clock.Now()) {
			h.Errorf("the start page shows %v", page)
		}
		digest := sha256.Sum256([]byte(page.GetChallenge()))
		r, s, err := ecdsa.Sign(rand.Reader, h.key, digest[:])
		h.must(err)
		signature := make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
		h.must(h.DB.Write(h.ctx, func(tx *db.Tx) error {
			return kiosk.UseProof(tx, h.Keys, hotel, h.id, page.GetChallenge(), signature)
		}))
	})
}

// The start page says why check-in is closed. It fails if that cannot be found out.
func TestStartPageSaysWhyCheckInIsClosed(t *testing.T) {
	each(t, func(h *tablet) {
		var asked string
		h.Closed = func(_ *db.Tx, propertyID string) (fault.Reason, error) {
			asked = propertyID
			return fault.PartnerUnavailable, nil
		}
		if got := h.start().GetClosed(); got != string(fault.PartnerUnavailable) || asked != hotel {
			h.Errorf("closed because of %q, at the property %q", got, asked)
		}
		broken := errors.New("broken")
		h.Closed = func(*db.Tx, string) (fault.Reason, error) { return "", broken }
		if _, err := h.GetKiosk(h.ctx, &kioskv1.GetKioskRequest{}); !errors.Is(err, broken) {
			h.Errorf("got %v, want %v", err, broken)
		}
	})
}

// A call of the tablet is stored, unless a recent one is.
func TestCallsOfATabletAreStored(t *testing.T) {
	each(t, func(h *tablet) {
		seen := func() time.Time {
			row, err := kiosk.Get(h.DB.View(h.ctx), hotel, h.id)
			h.must(err)
			if row.SeenAt == nil {
				h.Fatal("no call is stored")
			}
			return *row.SeenAt
		}
		h.clock.Advance(time.Hour)
		h.start()
		first := seen()
		if !first.Equal(h.clock.Now()) {
			h.Errorf("the call at %v is stored as one at %v", h.clock.Now(), first)
		}
		h.clock.Advance(time.Second)
		h.start()
		if got := seen(); !got.Equal(first) {
			h.Errorf("a call one second later is stored, at %v", got)
		}
	})
}

// Presses of the button for help in the same minute make one notice.
func TestHelpIsRequestedOnceAMinute(t *testing.T) {
	each(t, func(h *tablet) {
		for i, want := range []int{1, 1, 2} {
			if i == 2 {
				h.clock.Advance(time.Minute)
			}
			_, err := h.RequestHelp(h.ctx, &kioskv1.RequestHelpRequest{})
			h.must(err)
			n, err := h.DB.View(h.ctx).Notice.Query().
				Where(entnotice.PropertyID(hotel), entnotice.Kind(string(notice.KioskHelp)), entnotice.Subject(h.id)).Count(h.ctx)
			h.must(err)
			if n != want {
				h.Errorf("after press %d there are %d notices, want %d", i+1, n, want)
			}
		}
	})
}

// Only a tablet has a start page, finds stays and asks for help.
func TestOtherCallersAreRefused(t *testing.T) {
	each(t, func(h *tablet) {
		for name, ctx := range map[string]context.Context{
			"no caller":                   h.Context(),
			"a guest":                     actor.With(h.Context(), actor.Actor{Kind: actor.Guest, ID: h.id, PropertyID: hotel}),
			"staff":                       actor.With(h.Context(), actor.Actor{Kind: actor.Staff, ID: h.id, PropertyID: hotel}),
			"a tablet without a property": actor.With(h.Context(), actor.Actor{Kind: actor.Kiosk, ID: h.id}),
		} {
			_, start := h.GetKiosk(ctx, &kioskv1.GetKioskRequest{})
			_, find := h.FindStay(ctx, &kioskv1.FindStayRequest{})
			_, help := h.RequestHelp(ctx, &kioskv1.RequestHelpRequest{})
			for method, err := range map[string]error{"GetKiosk": start, "FindStay": find, "RequestHelp": help} {
				if !fault.Has(err, fault.InvalidCredentials) {
					h.Errorf("%s by %s: got %v, want %s", method, name, err, fault.InvalidCredentials)
				}
			}
		}
	})
}
