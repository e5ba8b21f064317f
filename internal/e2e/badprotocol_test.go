package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// gRPC and Connect give the same errors.
func TestBadInputOverEveryProtocol(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	r := e2etest.FindRPC("latchkey.partner.v1.ReservationService/UpsertReservation")
	for _, c := range []struct {
		name, body, reason string
		fields             []string
	}{
		{"everything missing", `{"reservation":{}}`, "invalidFields", []string{"booker.lastName", "from", "pmsMeta.id", "pmsNumber", "state", "to"}},
		{"no reservation", `{}`, "invalidFields", []string{"booker.lastName", "from", "pmsMeta.id", "pmsNumber", "state", "to"}},
		{"dates", `{"reservation":{"pmsMeta":{"id":"B"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-02","toDate":"2190-01-01"}}`, "datesNotValid", []string{"fromDate"}},
		{"state", `{"reservation":{"pmsMeta":{"id":"B"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"x","fromDate":"2190-01-01","toDate":"2190-01-02"}}`, "invalidFields", []string{"state"}},
		{"NUL", `{"reservation":{"pmsMeta":{"id":"B"},"pmsNumber":"\u0000","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}}`, "invalidFields", []string{"pmsNumber"}},
		{"a mask of nothing", `{"reservation":{"pmsMeta":{"id":"B"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"},"updateMask":"doors,pmsMeta,pmsNumber,booker,state,fromDate,toDate"}`, "invalidFields", []string{"updateMask"}},
	} {
		for _, p := range []e2etest.Protocol{e2etest.GRPC, e2etest.Connect} {
			o, err := w.Call(t.Context(), p, w.Partner(), r, e2etest.ParseRequest(t, r, c.body))
			if err != nil || o.Code != codes.InvalidArgument || o.Reason != c.reason || !slices.Equal(o.WrongFields(), c.fields) {
				t.Errorf("%s over %s: %v %v; want %s %v", c.name, p, o, err, c.reason, c.fields)
			}
			if o.RequestID == "" || o.RequestID != o.Header.Get("X-Request-Id") {
				t.Errorf("%s over %s: request id %q, header %v", c.name, p, o.RequestID, o.Header)
			}
		}
	}
	if text := e2etest.PartnerView(t, w); strings.Contains(text, `"B"`) {
		t.Error("something was stored:", text)
	}
}

func TestSizeLimitsOverEveryProtocol(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	one := e2etest.FindRPC("latchkey.partner.v1.ReservationService/UpsertReservation")
	batch := e2etest.FindRPC("latchkey.partner.v1.ReservationService/BatchUpsertReservations")
	huge := &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{Id: "BIG"}, PmsNumber: strings.Repeat("a", 1100<<10)}}
	many := &partnerv1.BatchUpsertReservationsRequest{Reservations: slices.Repeat([]*partnerv1.Reservation{{PmsMeta: &partnerv1.PmsMeta{Id: "MANY"}}}, 101)}
	for _, p := range e2etest.Protocols {
		if o, err := w.Call(t.Context(), p, w.Partner(), one, huge); err != nil || o.Code != codes.ResourceExhausted || o.Reason != "bodyTooLarge" || o.RequestID == "" || p == e2etest.REST && o.HTTP != 413 {
			t.Errorf("1.1 MiB over %s: %v %v", p, o, err)
		}
		o, err := w.Call(t.Context(), p, w.Partner(), batch, many)
		if err != nil || o.Code != codes.InvalidArgument || !maps.Equal(o.Fields, map[string]string{"reservations": "tooMany"}) {
			t.Errorf("101 items over %s: %v %v", p, o, err)
		}
	}
}

// Invalid protobuf, and invalid UTF-8 in protobuf.
func TestBrokenProtobuf(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	r := e2etest.FindRPC("latchkey.partner.v1.ReservationService/UpsertReservation")
	// reservation (1) { pms_number (5): "1\xff" }
	text := []byte{0x0a, 0x04, 0x2a, 0x02, '1', 0xff}
	for name, c := range map[string]struct {
		raw   []byte
		named []string
	}{"broken UTF-8": {text, []string{"reservation.pmsNumber"}}, "half a message": {text[:3], []string{}}, "noise": {[]byte{0xff, 0xff, 0xff, 0xff}, []string{}}} {
		over, err := w.CallRaw(t.Context(), w.Partner(), r, c.raw)
		if err != nil || over.Code != codes.InvalidArgument || over.Reason != "invalidFields" || !slices.Equal(over.WrongFields(), c.named) {
			t.Errorf("%s over gRPC: %v %v; want %v", name, over, err, c.named)
		}
		o, err := w.HTTPCall(t.Context(), w.Partner(), http.MethodPost, "/"+r.Name, "application/proto", c.raw)
		if err == nil {
			err = o.ReadConnect(r)
		}
		if err != nil || o.Code != codes.InvalidArgument || o.Reason != "invalidFields" || !slices.Equal(o.WrongFields(), c.named) {
			t.Errorf("%s over Connect: %v %v; want %v", name, o, err, c.named)
		}
		if o, err := w.CallRaw(t.Context(), e2etest.Anonymous(), r, c.raw); err != nil || o.Code != codes.Unauthenticated {
			t.Errorf("%s without a credential: %v %v", name, o, err)
		}
	}
}

// Only gRPC can send an invalid timestamp.
func TestInvalidTimestamps(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	none := &timestamppb.Timestamp{Seconds: -1 << 60}
	for rpc, c := range map[string]struct {
		req  proto.Message
		path string
	}{
		"ListReservations":  {&partnerv1.ListReservationsRequest{UpdatedSince: none}, "updatedSince"},
		"UpsertReservation": {&partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{Id: "NONE", UpdatedAt: none}}}, "pmsMeta.updatedAt"},
	} {
		o, err := w.Call(t.Context(), e2etest.GRPC, w.Partner(), e2etest.FindRPC("latchkey.partner.v1.ReservationService/"+rpc), c.req)
		if err != nil || o.Code != codes.InvalidArgument || o.Fields[c.path] != "badFormat" {
			t.Errorf("%s: %v %v", rpc, o, err)
		}
	}
}
