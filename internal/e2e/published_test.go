package e2e

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"latchkey.dev/internal/e2e/e2etest"
)

// fillIDs fills the ids of the demo property into a text.
func fillIDs(w *e2etest.World, text string) string {
	for name, v := range w.Spaces {
		text = strings.ReplaceAll(text, "{"+name+"}", v)
	}
	text = strings.NewReplacer("{today}", e2etest.LocalDate(0), "{later}", e2etest.LocalDate(2), "{property}", w.PropertyID, "{integration}", w.IntegrationID, "{pms}", w.PMSURL()).Replace(text)
	return text
}

const (
	plannedRoom = `"access":{"status":"none","doors":[
		{"doorId":"{Room 101}","name":"Room 101","kind":"room","pin":"planned","smartKey":"planned","reason":"notCheckedIn"},
		{"doorId":"{Front door}","name":"Front door","kind":"gate","pin":"planned","smartKey":"planned","reason":"notCheckedIn"}],"reasons":["notCheckedIn"]}`
	bedPlan = `"access":{"status":"issued",` + bedDoors
	// A reset is updating while a lock may hold the former PIN.
	resetBed = `"access":{"status":"<reset>",` + bedDoors + `,"updatedAt":"<time>"}`
	bedDoors = `"window":{"from":"<time>","to":"{later}T11:00:00Z","timeZone":"Europe/Lisbon"},"doors":[
		{"doorId":"{Bed A}","name":"Bed A","kind":"bed","pin":"<pinned>","smartKey":"planned"},
		{"doorId":"{Dorm 4}","name":"Dorm 4","kind":"room","pin":"<pinned>","smartKey":"planned"},
		{"doorId":"{Front door}","name":"Front door","kind":"gate","pin":"<pinned>","smartKey":"planned"}],"reasons":[]`
	issuedBed = bedPlan + `}`
	readBed   = bedPlan + `,"updatedAt":"<time>"}`
	ours      = `"id":"<rsv>","propertyId":"{property}","hostelId":"{property}","createdAt":"<time>","updatedAt":"<time>"`
	byTime    = ours + `,"pmsMeta":{"id":"TIME","groupId":"G7","parentSpaceId":"R101","companionIds":["C1","C2"],"updatedAt":"2026-01-02T03:04:05Z"},
		"pmsNumber":"10017","booker":{"firstName":"Ada","lastName":"Lovelace","email":"ada@example.com","mobile":"+351 910 000 000"},"state":"confirmed",
		"from":"2190-07-01T14:00:00+01:00","to":"2190-07-03T11:00:00+01:00","adultCount":2,"childCount":0,"price":120.5,"owing":0,"owingCurrency":"EUR",
		"sourceName":"Web","channelManager":"Siteminder","channelNumber":"SM-1","roomId":"R101"`
	byDay = ours + `,"pmsMeta":{"id":"DAY","spaceId":"D4-A","companionIds":[]},"pmsNumber":"10018","booker":{"lastName":"Byron"},"state":"started",
		"from":"{today}T15:00:00Z","to":"{later}T11:00:00Z","fromDate":"{today}","toDate":"{later}","bedId":"D4-A"`
)

// sample is one published request with the shape of its answer; a reason instead where it is refused.
type sample struct {
	call            func(speaker) func(*testing.T, string) ([]byte, string)
	in, out, reason string
}

var samples = []sample{
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.upsert }, in: `{
		"pmsMeta":{"id":"TIME","groupId":"G7","parentSpaceId":"R101","companionIds":["C1","C2"],"updatedAt":"2026-01-02T03:04:05Z"},"pmsNumber":"10017",
		"booker":{"firstName":"Ada","lastName":"Lovelace","email":"ada@example.com","mobile":"+351 910 000 000"},"state":"confirmed",
		"from":"2190-07-01T15:00:00+02:00","to":"2190-07-03T10:00:00Z","adultCount":2,"childCount":0,"price":120.50,"owing":0,"owingCurrency":"EUR",
		"sourceName":"Web","channelManager":"Siteminder","channelNumber":"SM-1"}`,
		out: `{"data":{` + byTime + `,` + plannedRoom + `,"gatesPins":[],"companions":[]}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.upsert }, in: `{
		"pmsMeta":{"id":"DAY"},"bedId":"D4-A","pmsNumber":"10018","booker":{"lastName":"Byron"},"state":"started","fromDate":"{today}","toDate":"{later}"}`,
		out: `{"data":{` + byDay + `,` + issuedBed + `,"gatesPins":[],"companions":[]}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.upsert }, in: `{
		"pmsMeta":{"id":"TIME","updatedAt":"2026-01-02T03:04:04Z"},"state":"canceled"}`,
		out: `{"data":{` + byTime + `,` + plannedRoom + `,"gatesPins":[],"companions":[],"stale":true}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.find }, in: `{"pmsId":"DAY","extend":["pin","gatePins"]}`,
		out: `{"data":{` + byDay + `,"pin":"<pin>","gatesPins":[{"gateId":"{Front door}","gateName":"Front door","pin":"<pin>"}],"companions":[]}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.find }, in: `{"pmsId":"DAY","extend":["space","access"]}`,
		out: `{"data":{` + byDay + `,` + readBed + `,"gatesPins":[],"companions":[],"space":{"id":"{Bed A}","type":"Bed","name":"Bed A","parentSpaceId":"{Dorm 4}",
			"isPrivate":false,"isActive":true,"hasLock":true,"pmsSpaceId":"D4-A"}}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.list }, in: `{"state":"confirmed"}`,
		out: `{"data":{"list":[{` + byTime + `,"gatesPins":[],"companions":[]}],"nextPageToken":""}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.reset }, in: `{"pmsId":"DAY","reset":"pin,ekey"}`,
		out: `{"data":{"reservation":{` + byDay + `,` + resetBed + `,"pin":"<pin>","gatesPins":[{"gateId":"{Front door}","gateName":"Front door","pin":"<pin>"}],"companions":[]},"failures":[]}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.reset }, in: `{"pmsId":"TIME","reset":"pin,ekey,gatesKeyChain"}`,
		out: `{"data":{"reservation":{` + byTime + `,` + plannedRoom + `,"gatesPins":[],"companions":[]},"failures":["pin","ekey","gatesKeyChain"]}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.reset }, in: `{"pmsId":"DAY","reset":"door"}`, reason: "invalidFields"},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.get }, in: `{"id":"rsv_0","extend":[]}`, reason: "reservationNotFound"},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.find }, in: `{"pmsId":"NONE","extend":[]}`, reason: "reservationNotFound"},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.register },
		in: `{"action":"getCheckInStatus","url":"{pms}/check-in-status","method":"POST","token":"another"}`,
		out: `{"data":{"action":"getCheckInStatus","url":"{pms}/check-in-status","method":"POST","token":"another","integrationId":"{integration}","tokenIn":"query",
			"health":{"state":"unknown","consecutiveFailures":0}}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.register },
		in: `{"action":"getCheckInStatus","url":"{pms}/check-in-status","method":"GET","token":"pms-secret","tokenIn":"header"}`,
		out: `{"data":{"action":"getCheckInStatus","url":"{pms}/check-in-status","method":"GET","token":"pms-secret","integrationId":"{integration}","tokenIn":"header",
			"health":{"state":"unknown","consecutiveFailures":0}}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.remove }, in: `{"action":"checkIn"}`,
		out: `{"data":{"action":"checkIn","url":"{pms}/check-in","method":"POST","token":"pms-secret","integrationId":"{integration}","tokenIn":"query",
			"health":{"state":"unknown","consecutiveFailures":0}}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.remove }, in: `{"action":"checkIn"}`, reason: "endpointNotFound"},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.endpoints }, in: `{}`,
		out: `{"data":{"list":[
			{"action":"getSpaces","url":"{pms}/spaces","method":"GET","token":"pms-secret","integrationId":"{integration}","tokenIn":"query","health":{"state":"ok","consecutiveFailures":0,"lastSuccessAt":"<time>"}},
			{"action":"getCheckInStatus","url":"{pms}/check-in-status","method":"GET","token":"pms-secret","integrationId":"{integration}","tokenIn":"header","health":{"state":"unknown","consecutiveFailures":0}}],"total":2}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.register }, in: `{"action":"checkIn","url":"{pms}/check-in","token":"pms-secret"}`,
		out: `{"data":{"action":"checkIn","url":"{pms}/check-in","method":"POST","token":"pms-secret","integrationId":"{integration}","tokenIn":"query",
			"health":{"state":"unknown","consecutiveFailures":0}}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.spaces },
		in: `{"filter":{"type":"Bed","parentSpaceId":"{Dorm 4}"},"page":{"limit":2,"offset":1}}`,
		out: `{"data":{"list":[
			{"id":"{Bed C}","type":"Bed","name":"Bed C","parentSpaceId":"{Dorm 4}","isPrivate":false,"isActive":true,"hasLock":true,"pmsSpaceId":"D4-C"},
			{"id":"{Bed D}","type":"Bed","name":"Bed D","parentSpaceId":"{Dorm 4}","isPrivate":false,"isActive":true,"hasLock":true,"pmsSpaceId":"D4-D"}],"total":4}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.gates }, in: `{}`,
		out: `{"data":{"list":[{"id":"{Front door}","name":"Front door","hasLock":true}],"total":1}}`},
	{call: func(s speaker) func(*testing.T, string) ([]byte, string) { return s.integration }, in: `{}`,
		out: `{"data":{"id":"{integration}","appId":"<app>","name":"Sandbox PMS","propertyId":"{property}","propertyName":"Hostel Miramar","timeZone":"Europe/Lisbon",
			"checkInTime":"15:00","checkOutTime":"11:00","scopes":["reservations:write","reservations:read","pins:read","guests:read","endpoints:write","webhooks:write"],
			"endpoints":[
			{"action":"getSpaces","url":"{pms}/spaces","method":"GET","integrationId":"{integration}","tokenIn":"query","health":{"state":"ok","consecutiveFailures":0,"lastSuccessAt":"<time>"}},
			{"action":"getCheckInStatus","url":"{pms}/check-in-status","method":"GET","integrationId":"{integration}","tokenIn":"header","health":{"state":"unknown","consecutiveFailures":0}},
			{"action":"checkIn","url":"{pms}/check-in","method":"POST","integrationId":"{integration}","tokenIn":"query","health":{"state":"unknown","consecutiveFailures":0}}]}}`},
}

func TestPublishedSamples(t *testing.T) {
	t.Parallel()
	speakers := map[string]func(*e2etest.World) speaker{
		"both header tokens": func(w *e2etest.World) speaker { return overREST(w, w.Partner()) },
		"bearer alone":       func(w *e2etest.World) speaker { return overREST(w, e2etest.Bearer("bearer", w.AccessToken)) },
		"grpc":               overGRPC,
		"connect":            func(w *e2etest.World) speaker { return overConnect(w, "connect") },
		"connect as JSON":    func(w *e2etest.World) speaker { return overConnect(w, "connect as JSON", connect.WithProtoJSON()) },
		"grpc-web":           func(w *e2etest.World) speaker { return overConnect(w, "grpc-web", connect.WithGRPCWeb()) },
		"grpc over http":     func(w *e2etest.World) speaker { return overConnect(w, "grpc over http", connect.WithGRPC()) },
	}
	for name, speaks := range speakers {
		t.Run(name, func(t *testing.T) {
			w := e2etest.Open(t)
			s := speaks(w)
			for i, one := range samples {
				in := fillIDs(w, one.in)
				raw, reason := one.call(s)(t, in)
				if reason != one.reason {
					t.Errorf("sample %d %s: refused with %q; want %q", i, in, reason, one.reason)
				} else if reason == "" {
					shaped(t, in, raw, fillIDs(w, one.out))
				}
			}
		})
	}
}

// What only JSON can say: a field named twice over, null, and a request that repeats a body word by word.
func TestPublishedBatch(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/reservations/batch", fillIDs(w, `{"reservations":[
		{"pmsMeta":{"id":"DAY","spaceId":"D4-A"},"pmsNumber":"10018","booker":{"lastName":"Byron"},"state":"started","fromDate":"{today}","toDate":"{later}"},
		{"pmsMeta":{"id":"BAD"},"pmsNumber":7,"state":"gone","from":"soon","extra":{"kept":[1,null]}},
		{"pmsMeta":{"id":"TWO","spaceId":"R102"},"pmsNumber":"10019","booker":{"lastName":"Hopper"},"state":"enquired","fromDate":"2190-01-01","toDate":"2190-01-02"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	shaped(t, "batch", o.Raw, fillIDs(w, `{"data":{"updatedReservations":[{`+byDay+`,`+issuedBed+`,"gatesPins":[],"companions":[]},
		{`+ours+`,"pmsMeta":{"id":"TWO","spaceId":"R102","companionIds":[]},"pmsNumber":"10019","booker":{"lastName":"Hopper"},"state":"enquired",
		 "from":"2190-01-01T15:00:00Z","to":"2190-01-02T11:00:00Z","fromDate":"2190-01-01","toDate":"2190-01-02","bedId":"R102","gatesPins":[],"companions":[],
		 "access":{"status":"none","doors":[
			{"doorId":"{Room 102}","name":"Room 102","kind":"room","pin":"none","smartKey":"none","reason":"notFirm"},
			{"doorId":"{Front door}","name":"Front door","kind":"gate","pin":"none","smartKey":"none","reason":"notFirm"}],"reasons":["notFirm"]}}],
		"failures":[{"requestData":{"pmsMeta":{"id":"BAD"},"pmsNumber":7,"state":"gone","from":"soon","extra":{"kept":[1,null]}},
		 "error":{"code":3,"title":"INVALID_ARGUMENT","message":"<text>","status":400,"reason":"invalidFields","requestId":"<req>","details":[
			{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"invalidFields","domain":"latchkey.dev","metadata":{}},
			{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
				{"field":"state","description":"<text>","reason":"wrongValue"},
				{"field":"pmsNumber","description":"<text>","reason":"wrongType"},
				{"field":"booker.lastName","description":"<text>","reason":"required"},
				{"field":"from","description":"<text>","reason":"badFormat"},
				{"field":"to","description":"<text>","reason":"required"}]},
			{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"<req>","servingData":""}]}}]}}`))
}

func TestFirstRegistrationShowsTheSigningSecretOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	own := w.Partner()
	for _, action := range []string{"getSpaces", "getCheckInStatus", "checkIn"} {
		if o, err := w.Do(t.Context(), own, "DELETE", "/v1/endpoints/"+action, nil); err != nil || !o.OK() {
			t.Fatal(o, err)
		}
	}
	// The secret is the integration's: it was shown when the world was set up, and is not shown again.
	o, err := w.Do(t.Context(), own, "PATCH", "/v1/endpoints", fillIDs(w, `{"action":"getSpaces","url":"{pms}/spaces","method":"GET","token":"pms-secret"}`))
	if err != nil || !o.OK() || strings.Contains(string(o.Raw), "signingSecret") {
		t.Error(o, err, string(o.Raw))
	}
	other := e2etest.ConnectApp(t, w, "Second PMS")
	o, err = w.Do(t.Context(), other, "PATCH", "/v1/endpoints", fillIDs(w, `{"action":"getSpaces","url":"{pms}/spaces","method":"GET","token":"pms-secret"}`))
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	shaped(t, "first registration", o.Raw, fillIDs(w, `{"signingSecret":"<secret>","data":{"action":"getSpaces","url":"{pms}/spaces","method":"GET","token":"pms-secret",
		"integrationId":"<int>","tokenIn":"query","health":{"state":"unknown","consecutiveFailures":0}}}`))
}

func TestMergeOverJSON(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	base := map[string]any{"pmsMeta": map[string]any{"id": "M", "spaceId": "R101", "groupId": "G"}, "pmsNumber": "1", "booker": map[string]any{"lastName": "A", "email": "a@example.com"},
		"state": "confirmed", "fromDate": "2190-01-01", "toDate": "2190-01-05", "adultCount": 2, "owing": 10.5, "owingCurrency": "EUR"}
	for _, step := range []struct {
		change string
		want   map[string]any // by path; nil: not there
	}{
		{`{}`, map[string]any{"pmsMeta.groupId": "G", "owing": 10.5, "adultCount": 2.0, "fromDate": "2190-01-01", "from": "2190-01-01T15:00:00Z"}},
		{`{"adultCount":null,"pmsMeta":{"id":"M","groupId":null}}`, map[string]any{"adultCount": nil, "pmsMeta.groupId": nil, "pmsMeta.spaceId": "R101"}},
		{`{"owing":0}`, map[string]any{"owing": 0.0, "owingCurrency": "EUR"}},
		{`{"from":"2190-01-02T12:00:00+01:00"}`, map[string]any{"from": "2190-01-02T11:00:00Z", "fromDate": nil, "toDate": "2190-01-05"}},
		{`{"fromDate":"2190-01-03"}`, map[string]any{"from": "2190-01-03T15:00:00Z", "fromDate": "2190-01-03"}},
		{`{"booker":{"firstName":"B"}}`, map[string]any{"booker.firstName": "B", "booker.lastName": "A", "booker.email": "a@example.com"}},
		{`{"booker":{"email":null}}`, map[string]any{"booker.firstName": "B", "booker.email": nil}},
		{`{"roomId":"D4","bedId":"D4-B"}`, map[string]any{"pmsMeta.parentSpaceId": "D4", "pmsMeta.spaceId": "D4-B", "roomId": "D4", "bedId": "D4-B"}},
		{`{"parentSpaceId":"{Room 102}"}`, map[string]any{"parentSpaceId": w.Spaces["Room 102"], "pmsMeta.spaceId": nil, "pmsMeta.parentSpaceId": nil}},
	} {
		var change map[string]any
		if err := json.Unmarshal([]byte(fillIDs(w, step.change)), &change); err != nil {
			t.Fatal(err)
		}
		send := map[string]any{"pmsMeta": map[string]any{"id": "M"}}
		if step.change == `{}` {
			send = maps.Clone(base)
		}
		maps.Copy(send, change)
		o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/reservations", send)
		if err != nil || !o.OK() {
			t.Fatalf("%s: %v %v", step.change, o, err)
		}
		for path, want := range step.want {
			if got := e2etest.ValueAt(o.Data(), path); got != want {
				t.Errorf("after %s, %s is %v; want %v", step.change, path, got, want)
			}
		}
	}
}
