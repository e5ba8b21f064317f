package e2e

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// wireCodec is one way in which bytes of a caller reach a method.
type wireCodec struct {
	name string
	json bool
	send func(ctx context.Context, as e2etest.Caller, r e2etest.RPC, raw []byte) (e2etest.Outcome, error)
}

// content returns JSON for a codec of JSON, and the same message in protobuf for any other.
func (c wireCodec) content(t *testing.T, r e2etest.RPC, text string) []byte {
	t.Helper()
	if c.json {
		return []byte(text)
	}
	raw, err := proto.Marshal(e2etest.ParseRequest(t, r, text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// unread is a message that stays encoded, so that a client can send what is no message.
type unread struct{ raw []byte }

// unreadCodec is a codec of a Connect client for it.
type unreadCodec struct{ name string }

func (c unreadCodec) Name() string { return c.name }

func (unreadCodec) Marshal(v any) ([]byte, error) {
	if u, ok := v.(*unread); ok {
		return u.raw, nil
	}
	return nil, errors.New("not an unread message")
}

func (unreadCodec) Unmarshal(raw []byte, v any) error {
	if u, ok := v.(*unread); ok {
		u.raw = slices.Clone(raw)
		return nil
	}
	m, ok := v.(proto.Message) // the status of gRPC
	if !ok {
		return errors.New("not a message")
	}
	return proto.Unmarshal(raw, m)
}

// wireCodecs returns every protocol and codec of the API. REST has its own bodies: see reservationOf.
func wireCodecs(w *e2etest.World) []wireCodec {
	h2 := &http.Protocols{}
	h2.SetUnencryptedHTTP2(true)
	overHTTP2 := &http.Client{Transport: &http.Transport{Protocols: h2}}
	through := func(name, codec string, client *http.Client, options ...connect.ClientOption) wireCodec {
		return wireCodec{name, codec == "json", func(ctx context.Context, as e2etest.Caller, r e2etest.RPC, raw []byte) (e2etest.Outcome, error) {
			req := connect.NewRequest(&unread{raw})
			for k, v := range as.Headers {
				req.Header().Set(k, v)
			}
			all := append(slices.Clone(options), connect.WithCodec(unreadCodec{codec}))
			_, err := connect.NewClient[unread, unread](client, w.Base+"/"+r.Name, all...).CallUnary(ctx, req)
			if err == nil {
				return e2etest.Outcome{}, nil
			}
			return e2etest.ConnectOutcome(err)
		}}
	}
	return []wireCodec{
		through("Connect JSON", "json", http.DefaultClient), through("Connect protobuf", "proto", http.DefaultClient),
		through("gRPC-Web JSON", "json", http.DefaultClient, connect.WithGRPCWeb()), through("gRPC-Web protobuf", "proto", http.DefaultClient, connect.WithGRPCWeb()),
		through("gRPC JSON on the HTTP listener", "json", overHTTP2, connect.WithGRPC()), through("gRPC on the HTTP listener", "proto", overHTTP2, connect.WithGRPC()),
		{"gRPC", false, w.CallRaw},
		{"REST", true, func(ctx context.Context, as e2etest.Caller, r e2etest.RPC, raw []byte) (e2etest.Outcome, error) {
			return w.Do(ctx, as, http.MethodPatch, r.Routes[0].Path, string(reservationOf(raw)))
		}},
	}
}

// reservationOf returns what REST sends of a request of Connect in JSON: the field that the route of upserts names as its body.
func reservationOf(raw []byte) []byte {
	text, ok := strings.CutPrefix(string(raw), `{"reservation":`)
	if ok {
		text = strings.TrimSuffix(text, "}")
	}
	return []byte(text)
}

const upsertMethod, batchMethod, propertyMethod = "latchkey.partner.v1.ReservationService/UpsertReservation",
	"latchkey.partner.v1.ReservationService/BatchUpsertReservations", "latchkey.property.v1.PropertyService/UpdateProperty"

// What a caller may rely on holds for each protocol and codec.
func TestEveryCodecKeepsTheSameRules(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	r := e2etest.FindRPC(upsertMethod)
	for _, c := range wireCodecs(w) {
		t.Run(c.name, func(t *testing.T) {
			id := strings.ReplaceAll(c.name, " ", "-")
			call := func(as e2etest.Caller, raw []byte) e2etest.Outcome {
				t.Helper()
				o, err := c.send(t.Context(), as, r, raw)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			stored := func() string {
				t.Helper()
				o, err := w.Do(t.Context(), w.Partner(), "GET", "/v1/reservations/find?pmsId="+id, nil)
				if err != nil || !o.OK() {
					t.Fatal(o, err)
				}
				return string(o.Raw)
			}
			// A vocabulary is matched without regard to case, and answered in its own spelling.
			first := `{"reservation":{"pmsMeta":{"id":"` + id + `"},"pmsNumber":"1","booker":{"lastName":"Ada","email":"ada@example.com","mobile":"+351910000000"},"state":"Confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}}`
			if o := call(w.Partner(), c.content(t, r, first)); !o.OK() {
				t.Fatal(o)
			}
			if !strings.Contains(stored(), `"state":"confirmed"`) {
				t.Errorf("Confirmed is stored as %s", stored())
			}
			if c.json {
				// null clears a field. An unknown field is ignored. What is left out keeps its value.
				if o := call(w.Partner(), []byte(`{"reservation":{"pmsMeta":{"id":"`+id+`"},"colour":{"a":[1]},"booker":{"email":null}}}`)); !o.OK() {
					t.Fatal(o)
				}
				if text := stored(); strings.Contains(text, "ada@example.com") || !strings.Contains(text, "+351910000000") {
					t.Errorf("null leaves %s", text)
				}
			}
			c.namesEveryWrongField(t, call, w.Partner())
			c.admitsBeforeDecoding(t, call, w.Partner())
		})
	}
}

// namesEveryWrongField expects values of wrong types and values that break a rule in one answer.
func (c wireCodec) namesEveryWrongField(t *testing.T, call func(e2etest.Caller, []byte) e2etest.Outcome, as e2etest.Caller) {
	t.Helper()
	if c.json {
		o := call(as, []byte(`{"reservation":{"pmsMeta":{"id":7},"pmsNumber":1,"booker":{"lastName":["Ada"]},"state":"asleep","owing":"x","fromDate":"2190-01-01","toDate":"2190-01-02"}}`))
		for _, path := range []string{"pmsMeta.id", "pmsNumber", "booker.lastName", "owing"} {
			if o.Fields[path]+o.Fields["reservation."+path] != "wrongType" {
				t.Errorf("%s is not named: %v", path, o)
			}
		}
		if o.Reason != "invalidFields" || o.Fields["state"]+o.Fields["reservation.state"] != "wrongValue" {
			t.Errorf("the wrong value of state is not named: %v", o)
		}
		return
	}
	// Protobuf has types; its texts may be invalid.
	var inner []byte
	for _, field := range []protowire.Number{5, 7} {
		inner = protowire.AppendBytes(protowire.AppendTag(inner, field, protowire.BytesType), []byte("\xff"))
	}
	o := call(as, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
	if len(o.Fields) < 2 || o.Reason != "invalidFields" {
		t.Errorf("of two invalid texts are named %v", o)
	}
}

// admitsBeforeDecoding expects that a body that cannot be decoded matters only for a caller who may call.
func (c wireCodec) admitsBeforeDecoding(t *testing.T, call func(e2etest.Caller, []byte) e2etest.Outcome, as e2etest.Caller) {
	t.Helper()
	broken, large := []byte("\xff\xff"), []byte(strings.Repeat("x", 1<<20+1<<16))
	if c.json {
		broken = []byte(`{`)
	}
	for name, body := range map[string][]byte{"a broken body": broken, "a large body": large} {
		if o := call(e2etest.Caller{}, body); o.Reason != "invalidCredentials" {
			t.Errorf("%s of a stranger: %v", name, o)
		}
	}
	if o := call(as, broken); o.Reason != "badJson" && o.Reason != "invalidFields" {
		t.Errorf("a broken body: %v", o)
	}
	if o := call(as, large); o.Reason != "bodyTooLarge" {
		t.Errorf("a large body: %v", o)
	}
}

// The limit of calls refuses a call before its body is decoded.
func TestLimitsComeBeforeDecoding(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) {
		c.Server.Rate = config.Rate{PerMinute: 1000, Burst: 1000, BatchPerMinute: 1, StaffPerMinute: 1000, StaffBurst: 1000}
	})
	r := e2etest.FindRPC(batchMethod)
	for {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/reservations/batch", `{"reservations":[]}`)
		if err != nil {
			t.Fatal(err)
		}
		if o.Reason == "rateLimited" {
			break
		}
	}
	for _, c := range wireCodecs(w) {
		broken := []byte("\xff\xff")
		if c.json {
			broken = []byte(`{`)
		}
		if o, err := c.send(t.Context(), w.Partner(), r, broken); err != nil || o.Reason != "rateLimited" {
			t.Errorf("%s: %v %v", c.name, o, err)
		}
	}
}

// The API of a property refuses an unknown field of JSON in each protocol.
func TestPropertyRefusesUnknownFieldsInEveryCodec(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	r := e2etest.FindRPC(propertyMethod)
	for _, c := range wireCodecs(w) {
		if !c.json {
			continue
		}
		o, err := c.send(t.Context(), w.Owner(), r, []byte(`{"colour":"red"}`))
		if err != nil || o.Reason != "invalidFields" || len(o.Fields) == 0 {
			t.Errorf("%s: %v %v", c.name, o, err)
		}
	}
}
