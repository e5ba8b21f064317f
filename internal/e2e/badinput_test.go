package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// refused is a bad REST request and its expected error.
type refused struct {
	name    string
	verb    string // left out: PATCH
	path    string // left out: /v1/reservations
	headers map[string]string
	body    any // of PATCH /v1/reservations: fields over those of a good reservation; nil there takes one out
	raw     string
	status  int // left out: 400
	reason  string
	fields  map[string]string // exactly these; nil: not checked
}

func good(id string) map[string]any {
	return map[string]any{
		"pmsMeta": map[string]any{"id": id}, "pmsNumber": "1", "booker": map[string]any{"lastName": "Ada"},
		"state": "confirmed", "fromDate": "2190-01-01", "toDate": "2190-01-02",
	}
}

func long(n int) string { return strings.Repeat("ü", n) }

// fields is a reservation like a good one, with changes; nil takes a field out.
type fields map[string]any

func meta(more map[string]any) map[string]any {
	out := map[string]any{"id": "BAD"}
	maps.Copy(out, more)
	return out
}

var badReservations = []refused{
	{name: "everything at once", body: fields{
		"pmsMeta": meta(map[string]any{"id": nil, "companionIds": []any{"", 7}, "updatedAt": "yesterday"}), "pmsNumber": 12, "booker": map[string]any{"email": "no-address", "mobile": true},
		"state": "gone", "fromDate": "2190-13-01", "toDate": nil, "adultCount": 2.5, "childCount": -1, "price": "12", "owing": 1.234, "owingCurrency": "EUR",
		"sourceName": long(256), "channelManager": "a\x00b",
	}, reason: "invalidFields", fields: map[string]string{
		"pmsMeta.id": "required", "pmsMeta.companionIds[0]": "required", "pmsMeta.companionIds[1]": "wrongType", "pmsMeta.updatedAt": "badFormat",
		"pmsNumber": "wrongType", "booker.lastName": "required", "booker.email": "badFormat", "booker.mobile": "wrongType", "state": "wrongValue",
		"fromDate": "badFormat", "to": "required", "adultCount": "wrongType", "childCount": "outOfRange", "price": "wrongType", "owing": "outOfRange",
		"sourceName": "tooLong", "channelManager": "notPrintable",
	}},
	{name: "nothing at all", raw: `{}`, reason: "invalidFields", fields: map[string]string{
		"pmsMeta.id": "required", "pmsNumber": "required", "booker.lastName": "required", "state": "required", "from": "required", "to": "required"}},
	{name: "unknown state", body: fields{"state": "checkedIn"}, reason: "invalidFields", fields: map[string]string{"state": "wrongValue"}},
	{name: "no state", body: fields{"state": nil}, reason: "invalidFields", fields: map[string]string{"state": "required"}},
	{name: "both of from", body: fields{"from": "2190-01-03T15:00:00Z"}, reason: "invalidFields", fields: map[string]string{"from": "conflicting"}},
	{name: "both of to", body: fields{"to": "2190-01-05T15:00:00Z"}, reason: "invalidFields", fields: map[string]string{"to": "conflicting"}},
	{name: "neither of from", body: fields{"fromDate": nil}, reason: "invalidFields", fields: map[string]string{"from": "required"}},
	{name: "from after to", body: fields{"fromDate": "2190-01-03"}, reason: "datesNotValid", fields: map[string]string{"fromDate": "datesNotValid"}},
	{name: "from at to", body: fields{"fromDate": nil, "toDate": nil, "from": "2190-01-02T00:00:00+02:00", "to": "2190-01-01T22:00:00Z"}, reason: "datesNotValid", fields: map[string]string{"from": "datesNotValid"}},
	{name: "from without an offset", body: fields{"fromDate": nil, "from": "2190-01-01T15:00:00"}, reason: "invalidFields", fields: map[string]string{"from": "badFormat"}},
	{name: "a day that is none", body: fields{"fromDate": "2190-02-30"}, reason: "invalidFields", fields: map[string]string{"fromDate": "badFormat"}},
	{name: "the year 9999", body: fields{"toDate": "9999-12-31"}, reason: "invalidFields", fields: map[string]string{"toDate": "outOfRange"}},
	{name: "a number as date", body: fields{"fromDate": 20260101}, reason: "invalidFields", fields: map[string]string{"fromDate": "wrongType"}},
	{name: "updated in the future", body: fields{"pmsMeta": meta(map[string]any{"updatedAt": time.Now().Add(24 * time.Hour).Format(time.RFC3339)})}, reason: "invalidFields", fields: map[string]string{"pmsMeta.updatedAt": "inFuture"}},
	{name: "owing without a currency", body: fields{"owing": 1}, reason: "invalidFields", fields: map[string]string{"owingCurrency": "required"}},
	{name: "a currency that is none", body: fields{"owing": 1, "owingCurrency": "XQZ"}, reason: "invalidFields", fields: map[string]string{"owingCurrency": "wrongValue"}},
	{name: "half a yen", body: fields{"owing": 0.5, "owingCurrency": "JPY"}, reason: "invalidFields", fields: map[string]string{"owing": "outOfRange"}},
	{name: "more than all the money", body: fields{"owing": 1e300, "owingCurrency": "EUR"}, reason: "invalidFields", fields: map[string]string{"owing": "outOfRange"}},
	{name: "no number", raw: `{"pmsMeta":{"id":"BAD"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02","price":"NaN"}`, reason: "invalidFields", fields: map[string]string{"price": "wrongType"}},
	{name: "beyond every number", raw: `{"pmsMeta":{"id":"BAD"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02","price":1e999}`, reason: "invalidFields"},
	{name: "closer to nothing than any number", raw: `{"pmsMeta":{"id":"BAD"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02","price":1e-999}`, reason: "invalidFields", fields: map[string]string{"price": "outOfRange"}},
	{name: "more guests than a house", body: fields{"adultCount": 1 << 40}, reason: "invalidFields", fields: map[string]string{"adultCount": "outOfRange"}},
	{name: "an unknown space of the property", body: fields{"parentSpaceId": "spc_01hzzzzzzzzzzzzzzzzzzzzzzz"}, status: 404, reason: "spaceNotFound"},
	{name: "our space and theirs", body: fields{"parentSpaceId": "spc_0", "pmsMeta": meta(map[string]any{"spaceId": "R101"})}, reason: "invalidFields", fields: map[string]string{"parentSpaceId": "conflicting"}},
	{name: "two rooms", body: fields{"roomId": "R101", "pmsMeta": meta(map[string]any{"parentSpaceId": "R102"})}, reason: "invalidFields", fields: map[string]string{"roomId": "conflicting"}},
	{name: "an over-long number", body: fields{"pmsNumber": long(256)}, reason: "invalidFields", fields: map[string]string{"pmsNumber": "tooLong"}},
	{name: "an over-long id", body: fields{"pmsMeta": map[string]any{"id": long(256)}}, reason: "invalidFields", fields: map[string]string{"pmsMeta.id": "tooLong"}},
	{name: "too many companions", body: fields{"pmsMeta": meta(map[string]any{"companionIds": slices.Repeat([]string{"c"}, 101)})}, reason: "invalidFields", fields: map[string]string{"pmsMeta.companionIds": "tooMany"}},
	{name: "a NUL", body: fields{"pmsNumber": "1\x002"}, reason: "invalidFields", fields: map[string]string{"pmsNumber": "notPrintable"}},
	{name: "a NUL in the id", body: fields{"pmsMeta": map[string]any{"id": "B\x00AD"}}, reason: "invalidFields", fields: map[string]string{"pmsMeta.id": "notPrintable"}},
	{name: "what controls a terminal", body: fields{"pmsNumber": "\x1b]0;PWNED\a", "sourceName": "a\u202eb", "channelNumber": "1\n2",
		"booker": map[string]any{"firstName": "\u009b2J", "lastName": "A\x7f", "mobile": "\u2066"}, "pmsMeta": meta(map[string]any{"companionIds": []any{"c", "\t"}})},
		reason: "invalidFields", fields: map[string]string{"pmsNumber": "notPrintable", "sourceName": "notPrintable", "channelNumber": "notPrintable",
			"booker.firstName": "notPrintable", "booker.lastName": "notPrintable", "booker.mobile": "notPrintable", "pmsMeta.companionIds[1]": "notPrintable"}},
	{name: "broken UTF-8", raw: "{\"pmsMeta\":{\"id\":\"BAD\"},\"pmsNumber\":\"1\xff\",\"booker\":{\"lastName\":\"A\"},\"state\":\"confirmed\",\"fromDate\":\"2190-01-01\",\"toDate\":\"2190-01-02\"}", reason: "invalidFields", fields: map[string]string{"pmsNumber": "notPrintable"}},
	{name: "half a surrogate", raw: `{"pmsMeta":{"id":"BAD"},"pmsNumber":"1\ud800","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}`, reason: "invalidFields", fields: map[string]string{"pmsNumber": "notPrintable"}},
	{name: "an array for an object", body: fields{"booker": []any{}}, reason: "invalidFields", fields: map[string]string{"booker": "wrongType", "booker.lastName": "required"}},
	{name: "an object for a string", body: fields{"pmsNumber": map[string]any{}}, reason: "invalidFields", fields: map[string]string{"pmsNumber": "wrongType"}},
	{name: "a word for a list", body: fields{"pmsMeta": meta(map[string]any{"companionIds": "c"})}, reason: "invalidFields", fields: map[string]string{"pmsMeta.companionIds": "wrongType"}},
	{name: "half an object", raw: `{"pmsMeta":{"id":"BAD"}`, reason: "badJson"},
	{name: "no object", raw: `[]`, reason: "badJson"},
	{name: "null", raw: `null`, reason: "badJson"},
	{name: "nothing", raw: ``, reason: "invalidFields"},
	{name: "text", raw: `hello`, reason: "badJson"},
	{name: "two objects", raw: `{} {}`, reason: "badJson"},
	{name: "a comma too much", raw: `{"state":"confirmed",}`, reason: "badJson"},
	{name: "a deep hole", raw: strings.Repeat(`{"booker":`, 20000) + `1` + strings.Repeat(`}`, 20000), reason: "badJson"},
	{name: "an encoded body", raw: `{}`, headers: map[string]string{"Content-Encoding": "gzip"}, reason: "badJson"},
	{name: "1.1 MiB", raw: `{"pmsMeta":{"id":"BAD"},"pmsNumber":"` + strings.Repeat("a", 1100<<10) + `"}`, status: 413, reason: "bodyTooLarge"},
	{name: "101 items", path: "/v1/reservations/batch", body: map[string]any{"reservations": slices.Repeat([]any{good("BAD")}, 101)}, reason: "invalidFields", fields: map[string]string{"reservations": "tooMany"}},
	{name: "no item", path: "/v1/reservations/batch", body: map[string]any{"reservations": []any{}}, reason: "invalidFields", fields: map[string]string{"reservations": "tooFew"}},
	{name: "items that are none", path: "/v1/reservations/batch", body: map[string]any{"reservations": "BAD"}, reason: "invalidFields", fields: map[string]string{"reservations": "wrongType"}},
	{name: "an idempotency key with a blank", headers: map[string]string{"Idempotency-Key": "a b"}, body: fields{}, reason: "invalidFields", fields: map[string]string{"Idempotency-Key": "badFormat"}},
	{name: "an endless idempotency key", headers: map[string]string{"Idempotency-Key": strings.Repeat("k", 256)}, body: fields{}, reason: "invalidFields", fields: map[string]string{"Idempotency-Key": "badFormat"}},
}

var badCalls = []refused{
	{name: "no such route", verb: "GET", path: "/v1/rooms", status: 404, reason: "routeNotFound"},
	{name: "no such path", verb: "GET", path: "/rooms", status: 404, reason: "routeNotFound"},
	{name: "a path that goes up", verb: "GET", path: "/v1/reservations/rsv_x/../find?pmsId=A", status: 404, reason: "routeNotFound"},
	{name: "a path with an empty part", verb: "GET", path: "//v1/reservations", status: 404, reason: "routeNotFound"},
	{name: "a slash at the end", verb: "GET", path: "/v1/reservations/", status: 404, reason: "routeNotFound"},
	{name: "another method", verb: "PUT", path: "/v1/reservations", raw: `{}`, status: 405, reason: "methodNotAllowed"},
	{name: "DELETE of all", verb: "DELETE", path: "/v1/reservations", status: 405, reason: "methodNotAllowed"},
	{name: "POST of a reservation", verb: "POST", path: "/v1/reservations", raw: `{}`, status: 405, reason: "methodNotAllowed"},
	{name: "another method in a header", verb: "POST", path: "/v1/reservations", raw: `{}`, headers: map[string]string{"X-HTTP-Method-Override": "PATCH"}, status: 405, reason: "methodNotAllowed"},
	{name: "another kind of answer", verb: "GET", path: "/v1/spaces", headers: map[string]string{"Accept": "text/html"}, status: 406, reason: "notAcceptable"},
	{name: "another kind of answer from nowhere", verb: "GET", path: "/v1/rooms", headers: map[string]string{"Accept": "text/plain"}, status: 404, reason: "routeNotFound"},
	{name: "find without an id", verb: "GET", path: "/v1/reservations/find", reason: "invalidFields", fields: map[string]string{"pmsId": "required"}},
	{name: "find with two ids", verb: "GET", path: "/v1/reservations/find?pmsId=a&pmsId=b", reason: "invalidFields", fields: map[string]string{"pmsId": "duplicate"}},
	{name: "an extension that is none", verb: "GET", path: "/v1/reservations/find?pmsId=a&extend=pin,door", reason: "invalidFields", fields: map[string]string{"extend[1]": "wrongValue"}},
	{name: "a limit that is none", verb: "GET", path: "/v1/spaces?page[limit]=many", reason: "invalidFields", fields: map[string]string{"page[limit]": "wrongType"}},
	{name: "a limit too high", verb: "GET", path: "/v1/spaces?page[limit]=201", reason: "invalidFields", fields: map[string]string{"page[limit]": "outOfRange"}},
	{name: "a negative page", verb: "GET", path: "/v1/spaces?page[offset]=-1", reason: "invalidFields", fields: map[string]string{"page[offset]": "outOfRange"}},
	{name: "a type that is none", verb: "GET", path: "/v1/spaces?filter[type]=Tent", reason: "invalidFields", fields: map[string]string{"filter[type]": "wrongValue"}},
	{name: "unknown parameters", verb: "GET", path: "/v1/spaces?utm_source=x&filter[color]=red", reason: "invalidFields", fields: map[string]string{"utm_source": "unsupported", "filter[color]": "unsupported"}},
	{name: "a broken query", verb: "GET", path: "/v1/spaces?filter[type]=%zz", reason: "invalidFields"},
	{name: "a NUL in a query", verb: "GET", path: "/v1/reservations/find?pmsId=%00", reason: "invalidFields", fields: map[string]string{"pmsId": "notPrintable"}},
	{name: "a NUL in a path", verb: "GET", path: "/v1/reservations/%00", reason: "invalidFields", fields: map[string]string{"id": "notPrintable"}},
	{name: "broken UTF-8 in a path", verb: "GET", path: "/v1/reservations/%ff", reason: "invalidFields", fields: map[string]string{"id": "notPrintable"}},
	{name: "a page token of another list", verb: "GET", path: "/v1/reservations?pageToken=zzz", reason: "invalidFields", fields: map[string]string{"pageToken": "badFormat"}},
	{name: "a time that is none", verb: "GET", path: "/v1/reservations?updatedSince=monday", reason: "invalidFields", fields: map[string]string{"updatedSince": "badFormat"}},
	{name: "a state that is none", verb: "GET", path: "/v1/reservations?state=gone", reason: "invalidFields", fields: map[string]string{"state": "wrongValue"}},
	{name: "another action", verb: "PATCH", path: "/v1/endpoints", raw: `{"action":"getGuests","url":"ftp://x","method":"PUT","tokenIn":"cookie","token":7}`, reason: "invalidFields",
		fields: map[string]string{"action": "wrongValue", "url": "unsupported", "method": "wrongValue", "tokenIn": "wrongValue", "token": "wrongType"}},
	{name: "an address that is none, and no action", verb: "PATCH", path: "/v1/endpoints", raw: `{"url":"ftp://x"}`, reason: "invalidFields", fields: map[string]string{"action": "wrongValue", "url": "unsupported"}},
	{name: "a check-in that is only read, at the address that is registered", verb: "PATCH", path: "/v1/endpoints", raw: `{"action":"checkIn","method":"GET"}`, reason: "invalidFields", fields: map[string]string{"method": "wrongValue"}},
	{name: "a private address", verb: "PATCH", path: "/v1/endpoints", raw: `{"action":"getSpaces","url":"https://10.0.0.1/spaces"}`, reason: "invalidFields", fields: map[string]string{"url": "wrongValue"}},
	{name: "another action's test", verb: "POST", path: "/v1/endpoints/getGuests:test", raw: `{}`, reason: "invalidFields", fields: map[string]string{"action": "wrongValue"}},
	{name: "an endless header", verb: "GET", path: "/v1/spaces", headers: map[string]string{"X-Request-Id": strings.Repeat("x", 200)}, status: 200},
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	if o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/reservations", good("KEPT")); err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	before := e2etest.PartnerView(t, w)
	for _, c := range slices.Concat(badReservations, badCalls) {
		t.Run(c.name, func(t *testing.T) {
			o := c.send(t, w)
			c.check(t, o)
		})
	}
	if after := e2etest.PartnerView(t, w); after != before {
		t.Errorf("something was stored:\n%s\nbefore:\n%s", after, before)
	}
}

func (c refused) send(t *testing.T, w *e2etest.World) e2etest.Outcome {
	t.Helper()
	content, verb, path := c.body, c.verb, c.path
	if changes, ok := c.body.(fields); ok {
		all := good("BAD")
		for k, v := range changes {
			all[k] = v
			if v == nil {
				delete(all, k)
			}
		}
		content = map[string]any(all)
	}
	if verb == "" {
		verb = "PATCH"
	}
	if path == "" {
		path = "/v1/reservations"
	}
	if content == nil && verb != "GET" && verb != "DELETE" {
		content = c.raw
	}
	as := w.Partner()
	for k, v := range c.headers {
		as = as.WithHeader(k, v)
	}
	o, err := w.Do(t.Context(), as, verb, path, content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (c refused) check(t *testing.T, o e2etest.Outcome) {
	t.Helper()
	status := c.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if o.HTTP != status || o.Reason != c.reason {
		t.Errorf("%d %s; want %d %s: %s", o.HTTP, o.Reason, status, c.reason, o)
	}
	if c.fields != nil && !maps.Equal(o.Fields, c.fields) {
		t.Errorf("wrong fields\n %v; want\n %v", o.Fields, c.fields)
	}
	if status != http.StatusOK && (o.RequestID == "" || o.RequestID != o.Header.Get("X-Request-Id")) {
		t.Errorf("request id %q, in the header %q", o.RequestID, o.Header.Get("X-Request-Id"))
	}
	if o.Header.Get("Content-Type") != "application/json" || o.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", o.Header)
	}
	if status == http.StatusMethodNotAllowed && o.Header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
}

// A call that removes something must say so with an explicit empty value.
func TestRemovalMustBeExplicit(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	before := e2etest.PartnerView(t, w)
	for _, c := range []struct {
		rpc, body string
		fields    []string
	}{
		{"LockService/AssignLock", `{"id":"lck_0"}`, []string{"doorId"}},
		{"MappingService/BatchSetMappings", `{"integrationId":"int_0","mappings":[{"externalId":"R101","spaceId":""},{"externalId":"R102"}]}`, []string{"mappings[1].spaceId"}},
	} {
		r := e2etest.FindRPC("latchkey.property.v1." + c.rpc)
		for _, p := range []e2etest.Protocol{e2etest.REST, e2etest.GRPC, e2etest.Connect} {
			o, err := w.Call(t.Context(), p, w.Owner(), r, e2etest.ParseRequest(t, r, c.body))
			if err != nil || o.Reason != "invalidFields" || !slices.Equal(o.WrongFields(), c.fields) {
				t.Errorf("%s over %s: %v %v; want %v", c.rpc, p, o, err, c.fields)
			}
		}
	}
	if after := e2etest.PartnerView(t, w); after != before {
		t.Errorf("something was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// Violations of domain rules and of proto rules are reported together.
func TestDomainAndProtoViolationsAreReportedTogether(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	before := e2etest.PartnerView(t, w)
	for _, c := range []struct {
		path, body string
		fields     map[string]string
	}{
		{"spaces", `{"space":{"type":"Bed","name":""}}`, map[string]string{"space.name": "required", "space.parentSpaceId": "required"}},
		{"spaces", `{"space":{"type":"Room","name":"","parentSpaceId":"zz"}}`, map[string]string{"space.name": "required", "space.parentSpaceId": "conflicting"}},
		{"spaces", `{"space":{"type":"Room","name":7,"parentName":"zz"}}`, map[string]string{"space.name": "wrongType", "space.parentName": "conflicting"}},
		{"spaces", `{"space":{"type":"Bed","name":"","parentName":"zz","parentSpaceId":"zz"}}`, map[string]string{"space.name": "required", "space.parentName": "conflicting"}},
		{"spaces", `{"space":{"type":"Tent","name":"","parentSpaceId":"zz"}}`, map[string]string{"space.name": "required", "space.type": "wrongValue"}},
		{"spaces", `{}`, map[string]string{"space": "required"}},
		{"spaces:batchCreate", `{"spaces":[{"type":"Room","name":""},{"type":"Bed","name":"B"}]}`, map[string]string{"spaces[0].name": "required", "spaces[1].parentSpaceId": "required"}},
		{"integrations/int_0/mappings:batch", `{"mappings":[{"externalId":"A","spaceId":"s"},{"externalId":"A"}]}`, map[string]string{"mappings[1].spaceId": "required", "mappings[1].externalId": "duplicate"}},
	} {
		o, err := w.Do(t.Context(), w.Owner(), http.MethodPost, "/v1/property/"+c.path, c.body)
		if err != nil || o.HTTP != http.StatusBadRequest || o.Reason != "invalidFields" || !maps.Equal(o.Fields, c.fields) {
			t.Errorf("%s %s: %v %v %v; want %v", c.path, c.body, o, err, o.Fields, c.fields)
		}
	}
	if after := e2etest.PartnerView(t, w); after != before {
		t.Errorf("something was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// Values of a wrong type in the settings of a property are reported together with what the rules refuse.
func TestSettingsOfWrongTypesAreReported(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	before := e2etest.PartnerView(t, w)
	for _, c := range []struct {
		verb, path string
		as         e2etest.Caller
	}{
		{"PATCH", "/v1/property", w.Owner()},
		{"POST", "/v1/admin/properties", e2etest.Operator()},
		{"PATCH", "/v1/admin/properties/prp_0", e2etest.Operator()},
	} {
		want := map[string]string{"settings.name": "wrongType", "settings.timeZone": "wrongValue", "settings.lateOutMinutes": "outOfRange"}
		o, err := w.Do(t.Context(), c.as, c.verb, c.path, `{"settings":{"name":7,"timeZone":"Lisbon","lateOutMinutes":-1}}`)
		if err != nil || o.HTTP != http.StatusBadRequest || o.Reason != "invalidFields" || !maps.Equal(o.Fields, want) {
			t.Errorf("%s %s: %v %v %v; want %v", c.verb, c.path, o, err, o.Fields, want)
		}
	}
	if after := e2etest.PartnerView(t, w); after != before {
		t.Errorf("something was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// The property and admin areas refuse unknown fields, and name the missing required field.
func TestUnknownFieldsAreRefused(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	before := e2etest.PartnerView(t, w)
	for _, c := range []struct {
		verb, path, body string
		as               e2etest.Caller
		fields           map[string]string
	}{
		{"POST", "/v1/property/locks/lck_0:assign", `{"door":"spc_0"}`, w.Owner(), map[string]string{"doorId": "required", "door": "unsupported"}},
		{"PATCH", "/v1/property", `{"checkOutTime":"13:00","settings":{"checkOut":"13:00","lateOutMinutes":5}}`, w.Owner(), map[string]string{"checkOutTime": "unsupported", "settings.checkOut": "unsupported"}},
		{"POST", "/v1/property/gates", `{"name":"Garage","spaces":{"spaceIds":["spc_0"]}}`, w.Owner(), map[string]string{"spaces": "unsupported"}},
		{"PATCH", "/v1/property/gates/gat_0", `{"spaces":{"spaceIds":["spc_0"]}}`, w.Owner(), map[string]string{"spaces.spaceIds": "unsupported"}},
	} {
		o, err := w.Do(t.Context(), c.as, c.verb, c.path, c.body)
		if err != nil || o.HTTP != http.StatusBadRequest || o.Reason != "invalidFields" || !maps.Equal(o.Fields, c.fields) {
			t.Errorf("%s %s: %v %v %v; want %v", c.verb, c.path, o, err, o.Fields, c.fields)
		}
	}
	if after := e2etest.PartnerView(t, w); after != before {
		t.Errorf("something was changed:\n%s\nbefore:\n%s", after, before)
	}
}
