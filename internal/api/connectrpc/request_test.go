package connectrpc_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/gen/latchkey/partner/v1/partnerv1connect"
)

func TestUnknownMethodsAreUnimplemented(t *testing.T) {
	srv := start(t, &service{})
	for name, options := range protocols {
		for _, method := range []string{"Nothing", "", "upsertreservation", "%FF"} {
			client := connect.NewClient[partnerv1.ListSpacesRequest, partnerv1.ListSpacesResponse](h2c(t), srv.URL+"/latchkey.partner.v1.ReservationService/"+method, options...)
			_, err := client.CallUnary(t.Context(), connect.NewRequest(&partnerv1.ListSpacesRequest{}))
			if code, reason, _ := details(t, err); code != connect.CodeUnimplemented || reason != "unimplemented" {
				t.Errorf("%s, %q: %v", name, method, err)
			}
		}
	}
	// ResetKeyChain is in the service's description, but the implementation does not offer it.
	other := partnerv1connect.NewReservationServiceClient(srv.Client(), srv.URL, connect.WithInterceptors(token{}))
	if _, err := other.ResetKeyChain(t.Context(), &partnerv1.ResetKeyChainRequest{PmsId: "r", Reset_: "pin"}); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Error(err)
	}
}

func TestUnknownMethodErrorFormats(t *testing.T) {
	srv := start(t, &service{})
	for _, c := range []struct{ verb, kind string }{{http.MethodPost, "application/json"}, {http.MethodPost, "application/proto"}, {http.MethodPost, "text/plain"}, {http.MethodGet, ""}, {http.MethodDelete, ""}} {
		req, err := http.NewRequestWithContext(t.Context(), c.verb, srv.URL+"/latchkey.partner.v1.ReservationService/Nothing", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", c.kind)
		req.Header.Set("X-Request-Id", "mine")
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Code, Message string
			Details       []struct{ Type, Value string }
		}
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotImplemented || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("X-Request-Id") != "mine" ||
			e.Code != "unimplemented" || len(e.Details) == 0 || e.Details[0].Type != "google.rpc.ErrorInfo" {
			t.Errorf("%v: %d %v %+v", c, resp.StatusCode, resp.Header, e)
		}
	}
}

// A request that is refused before it becomes a call has one reason and one request id.
func TestRefusedRequestsHaveAReason(t *testing.T) {
	srv := start(t, &service{})
	for _, c := range []struct {
		method, contentType string
		status              int
		reason              string
	}{
		{"GET", "application/json", 405, "methodNotAllowed"},
		{"GET", "", 405, "methodNotAllowed"},
		{"PUT", "application/grpc", 405, "methodNotAllowed"},
		{"POST", "text/plain", 415, "invalidFields"},
		{"POST", "", 415, "invalidFields"},
		{"POST", "application/x-www-form-urlencoded", 415, "invalidFields"},
		{"POST", "application/connect+json", 415, "invalidFields"},
		{"POST", "application/grpc+thrift", 415, "invalidFields"},
		{"POST", "application/json; charset=latin1", 415, "invalidFields"},
		{"POST", "application/json", 401, "invalidCredentials"},
		{"POST", "application/json; charset=UTF-8", 401, "invalidCredentials"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL+partnerv1.ReservationService_GetReservation_FullMethodName, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("X-Request-Id", "mine-1")
		_, reason, res := answered(t, srv.Client(), r)
		if ids := res.Header.Values("X-Request-Id"); res.StatusCode != c.status || reason != c.reason || len(ids) != 1 || ids[0] != "mine-1" || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %q: %d %s, %v; want %d %s", c.method, c.contentType, res.StatusCode, reason, res.Header, c.status, c.reason)
		}
		if (c.status == 405) != (res.Header.Get("Allow") == "POST") || (c.status == 415) != (res.Header.Get("Accept-Post") != "") {
			t.Errorf("%s %q: %v", c.method, c.contentType, res.Header)
		}
	}
}

// Messages that are too large to read are refused with a reason, and callers without credentials as such.
func TestTooLargeMessagesHaveAReason(t *testing.T) {
	srv := start(t, &service{})
	noise := make([]byte, 5<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, options := range protocols {
		for what, text := range map[string]string{"that packs well": strings.Repeat("x", 5<<20), "of noise": hex.EncodeToString(noise)} {
			big := &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsNumber: text}}
			client := partnerv1connect.NewReservationServiceClient(h2c(t), srv.URL, append(options, connect.WithInterceptors(token{}))...)
			_, err := client.UpsertReservation(t.Context(), big)
			if code, reason, _ := details(t, err); code != connect.CodeResourceExhausted || reason != "bodyTooLarge" {
				t.Errorf("%s, a message %s: %v %s", name, what, code, reason)
			}
			_, err = partnerv1connect.NewReservationServiceClient(h2c(t), srv.URL, options...).UpsertReservation(t.Context(), big)
			if code, reason, _ := details(t, err); code != connect.CodeUnauthenticated || reason != "invalidCredentials" {
				t.Errorf("%s, a stranger's: %v %s", name, code, reason)
			}
		}
	}
}

func TestInvalidHeadersHaveAReason(t *testing.T) {
	srv := start(t, &service{})
	for _, c := range []struct {
		header, value, code, reason string
		status                      int
	}{
		{"Connect-Timeout-Ms", "0", "deadline_exceeded", "deadlineExceeded", 504},
		{"Connect-Timeout-Ms", "soon", "invalid_argument", "invalidFields", 400},
		{"Connect-Timeout-Ms", "12345678901", "invalid_argument", "invalidFields", 400},
		{"Connect-Timeout-Ms", "60000", "", "", 200},
		{"Content-Encoding", "br", "unimplemented", "unimplemented", 501},
		{"Content-Encoding", "identity", "", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+partnerv1.ReservationService_UpsertReservation_FullMethodName, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Access-Token", "at")
		r.Header.Set(c.header, c.value)
		code, reason, res := answered(t, srv.Client(), r)
		if res.StatusCode != c.status || res.Header.Get("Content-Type") != "application/json" || code != c.code || reason != c.reason || res.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %s: %d %q %q %v", c.header, c.value, res.StatusCode, code, reason, res.Header)
		}
	}
}

// answered returns the code and the reason of an answer, empty for a success.
func answered(t *testing.T, client *http.Client, r *http.Request) (code, reason string, res *http.Response) {
	t.Helper()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var e struct {
		Code    string
		Details []struct {
			Type  string
			Debug struct{ Reason string }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
		t.Errorf("%s: %d, no JSON: %v", r.URL, res.StatusCode, err)
	}
	for _, d := range e.Details {
		if d.Type == "google.rpc.ErrorInfo" {
			reason = d.Debug.Reason
		}
	}
	return e.Code, reason, res
}
