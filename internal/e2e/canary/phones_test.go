package canary

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/protobuf/proto"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/smartkey"
)

// nearby is the bridge's own interface for phones, over TLS.
func (f *flows) nearby() *agent.Local {
	f.t.Helper()
	certificate := httptest.NewTLSServer(nil) // for its certificate and for a client that knows it
	f.t.Cleanup(certificate.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	f.door, f.at = certificate.Client(), "https://"+l.Addr().String()+"/smartkey/v1/"
	return &agent.Local{Listener: tls.NewListener(l, &tls.Config{Certificates: certificate.TLS.Certificates})}
}

// learnDocument remembers a signed document, and its signature by itself: a part of it is as bad as all of it.
func (f *flows) learnDocument(what string, raw []byte) {
	f.t.Helper()
	if len(raw) < 64 {
		f.t.Fatalf("%s has %d bytes", what, len(raw))
	}
	f.secrets = append(f.secrets, of(what, raw), of("the signature of "+what, raw[len(raw)-64:]))
}

// noted is a call's answer, of which an error is captured.
func noted[R proto.Message](f *flows, what string) func(R, error) R {
	return func(answer R, err error) R {
		if err != nil {
			o, wrong := e2etest.GRPCOutcome(err)
			if wrong != nil {
				f.t.Error(wrong)
			}
			f.out.failed(what, o)
		}
		return answer
	}
}

// handset is a guest's phone.
type handset struct {
	*smartkey.Phone
	f   *flows
	api guestv1.SmartKeyServiceClient
}

func (f *flows) handset() *handset {
	f.t.Helper()
	p, err := smartkey.NewPhone(rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	return &handset{p, f, guestv1.NewSmartKeyServiceClient(f.Public)}
}

// possess is what the phone signs to show that it holds its key.
func (h *handset) possess(property string, why smartkey.Purpose, challenge []byte) []byte {
	h.f.t.Helper()
	raw, err := h.SignPossession(smartkey.PossessionSpec{Property: property, Purpose: why, Challenge: challenge}, time.Now())
	if err != nil {
		h.f.t.Fatal(err)
	}
	h.f.learnDocument("a possession", raw)
	return raw
}

func (h *handset) keep(k *guestv1.SmartKey) {
	h.f.t.Helper()
	h.SetToken(k.GetToken())
	h.f.learnDocument("a token", k.GetToken())
}

// present signs for a use of a door after a greeting, and encodes it all.
func (h *handset) present(greeting []byte, door smartkey.Door) []byte {
	h.f.t.Helper()
	g, err := smartkey.DecodeGreeting(greeting)
	if err != nil {
		h.f.t.Fatal(err)
	}
	pr, err := h.Present(g, door, smartkey.Unlock, time.Now())
	if err != nil {
		h.f.t.Fatal(err)
	}
	h.f.learnDocument("a proof", pr.Proof)
	raw, err := pr.Encode()
	if err != nil {
		h.f.t.Fatal(err)
	}
	return raw
}

// relayed uses a door through the server.
func (h *handset) relayed(door smartkey.Door) []byte {
	ctx := h.f.t.Context()
	g := noted[*guestv1.GreetResponse](h.f, "Greet")(h.api.Greet(ctx, &guestv1.GreetRequest{Token: h.Token(), Door: door[:]}))
	if len(g.GetGreeting()) == 0 {
		h.f.t.Fatal("the bridge gives no greeting")
	}
	raw := h.present(g.GetGreeting(), door)
	h.send(raw)
	return raw
}

func (h *handset) send(raw []byte) string {
	return noted[*guestv1.PresentResponse](h.f, "Present")(h.api.Present(h.f.t.Context(), &guestv1.PresentRequest{Presentation: raw})).GetReason()
}

// near calls the bridge itself.
func (f *flows) near(path string, body []byte) []byte {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.at+path, bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/cbor")
	resp, err := f.door.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	f.out.add("errors", raw) // an answer says why not, and nothing else
	return raw
}

func (f *flows) nearWants(what string, raw []byte, reason smartkey.Reason) {
	f.t.Helper()
	if a, err := smartkey.DecodeAnswer(f.near("presentation", raw)); err != nil || a.Reason != reason {
		f.t.Errorf("%s: %+v, %v; want %s", what, a, err, reason)
	}
}

// joins enrols a phone over a link that was made for a stay, and uses the link wrongly before and after.
func (f *flows) joins(reservationID string) (h *handset, keys *guestv1.SmartKey, phoneID string) {
	f.t.Helper()
	ctx := f.t.Context()
	maker := f.Owner().WithHeader("Idempotency-Key", "kanaria-link")
	path := "/v1/property/reservations/" + reservationID + "/smartkey-links"
	link := texts(f.call(maker, "POST", path, map[string]any{}).Raw, "link")
	f.learn("a link", link)
	f.call(maker, "POST", path, map[string]any{}) // shown once
	h = f.handset()
	look := noted[*guestv1.GetEnrolmentResponse](f, "GetEnrolment")(h.api.GetEnrolment(ctx, &guestv1.GetEnrolmentRequest{Link: link}))
	enrol := noted[*guestv1.EnrolResponse](f, "Enrol")
	good := h.possess(look.GetPropertyId(), smartkey.Enrol, look.GetChallenge())
	for _, wrong := range [][]byte{append(bytes.Clone(good), 0), h.possess(look.GetPropertyId(), smartkey.Renew, look.GetChallenge()), good[:70]} {
		enrol(h.api.Enrol(ctx, &guestv1.EnrolRequest{Link: link, Possession: wrong, Name: phone}))
	}
	joined := enrol(h.api.Enrol(ctx, &guestv1.EnrolRequest{Link: link, Possession: good, Name: phone}))
	if len(joined.GetKey().GetToken()) == 0 {
		f.t.Fatal("a phone got no token")
	}
	h.keep(joined.GetKey())
	enrol(h.api.Enrol(ctx, &guestv1.EnrolRequest{Link: link, Possession: good, Name: phone}))
	noted[*guestv1.GetEnrolmentResponse](f, "GetEnrolment")(h.api.GetEnrolment(ctx, &guestv1.GetEnrolmentRequest{Link: link}))
	f.call(e2etest.Anonymous(), "POST", "/v1/guest/smartkey/enrolment", map[string]any{"link": link})
	return h, joined.GetKey(), joined.GetPhoneId()
}

// phones is the life of a guest's phone: it joins, renews, opens doors through the server and at the bridge itself, is copied,
// used before and shut out.
func (f *flows) phones() {
	f.t.Helper()
	ctx := f.t.Context()
	stay := guest()
	stay["roomId"] = "R103"
	if a, err := f.PMS.Push(ctx, "K5", stay); err != nil || a.Status != 200 {
		f.t.Fatal(a, err)
	}
	f.pin("K5", "Room 103", "")
	id := f.must(f.Partner(), "GET", "/v1/reservations/find?pmsId=K5", nil)["id"].(string)
	h, keys, phoneID := f.joins(id)

	asked := noted[*guestv1.ChallengeResponse](f, "Challenge")(h.api.Challenge(ctx, &guestv1.ChallengeRequest{PhoneId: phoneID}))
	proof := h.possess(asked.GetPropertyId(), smartkey.Renew, asked.GetChallenge())
	renew := noted[*guestv1.RenewResponse](f, "Renew")
	if next := renew(h.api.Renew(ctx, &guestv1.RenewRequest{PhoneId: phoneID, Possession: proof})).GetKey(); next != nil {
		keys = next
		h.keep(keys)
	} else {
		f.t.Error("a phone could not renew")
	}
	renew(h.api.Renew(ctx, &guestv1.RenewRequest{PhoneId: phoneID, Possession: proof})) // answered before

	door := smartkey.Door(keys.GetDoors()[0].GetDoor())
	thief := f.handset()
	thief.SetToken(h.Token())
	used := h.relayed(door)
	if got := h.send(used); got != string(smartkey.Replayed) {
		f.t.Errorf("used before: %s", got)
	}
	thief.relayed(door)
	h.send(append(bytes.Clone(used), 0))
	h.send(h.Token())
	noted[*guestv1.GreetResponse](f, "Greet")(h.api.Greet(ctx, &guestv1.GreetRequest{Token: append(bytes.Clone(h.Token()), 0), Door: door[:]}))
	noted[*guestv1.GreetResponse](f, "Greet")(h.api.Greet(ctx, &guestv1.GreetRequest{Token: h.Token(), Door: make([]byte, 8)}))
	noted[*guestv1.GetListsResponse](f, "GetLists")(h.api.GetLists(ctx, &guestv1.GetListsRequest{Token: h.Token()}))

	here := h.present(f.near("greeting", nil), door)
	f.nearWants("at the door", here, smartkey.OK)
	f.nearWants("at the door again", here, smartkey.Replayed)
	f.nearWants("copied, at the door", thief.present(f.near("greeting", nil), door), smartkey.Cloned)
	f.nearWants("a token alone", h.Token(), smartkey.Malformed)

	if _, err := propertyv1.NewSmartKeyServiceClient(f.Public).RevokeSmartKeyPhone(f.Staff(ctx), &propertyv1.RevokeSmartKeyPhoneRequest{Id: phoneID}); err != nil {
		f.t.Fatal(err)
	}
	h.relayed(door)
	f.must(f.Owner(), "GET", "/v1/property/reservations/"+id+"/explain", nil)
	f.call(f.Owner(), "GET", "/v1/property/reservations/"+id+"/phones", nil)
	f.call(f.Owner(), "POST", "/v1/property/issuer-key:rotate", map[string]any{"atOnce": true})
	noted[*guestv1.GreetResponse](f, "Greet")(h.api.Greet(ctx, &guestv1.GreetRequest{Token: h.Token(), Door: door[:]})) // its key has left
}
