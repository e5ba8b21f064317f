package rest_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/gen/site"
	"latchkey.dev/internal/api/rest"
)

func newDocs(t *testing.T) *rest.Docs {
	t.Helper()
	d, err := rest.NewDocs(site.Files)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func get(d *rest.Docs, path string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	for _, p := range d.Paths() {
		mux.Handle(p, d)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func docs(t *testing.T, path string) (http.Header, string) {
	t.Helper()
	w := get(newDocs(t), path)
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Header(), w.Body.String()
}

func TestDocsRenderEachPath(t *testing.T) {
	d := newDocs(t)
	for _, pattern := range d.Paths() {
		path := strings.TrimPrefix(pattern, "GET ")
		first, second := get(d, path), get(d, path)
		if first.Code != 200 || first.Body.Len() == 0 || first.Body.String() != second.Body.String() {
			t.Errorf("%s: %d with %d bytes, then %d with %d bytes", path, first.Code, first.Body.Len(), second.Code, second.Body.Len())
		}
	}
}

func TestDocsListEveryOperation(t *testing.T) {
	for page, spec := range map[string]string{"/docs": "/openapi.yaml", "/docs/property": "/openapi/property.yaml", "/docs/admin": "/openapi/admin.yaml", "/docs/guest": "/openapi/guest.yaml", "/docs/kiosk": "/openapi/kiosk.yaml"} {
		t.Run(page, func(t *testing.T) { listsEveryOperation(t, page, spec) })
	}
	_, page := docs(t, "/docs")
	for _, want := range []string{"filter[type]", "Idempotency-Key", "pmsMeta", "client-token: $CLIENT_TOKEN", "<code>processed</code>", "latchkey.partner.v1.ReservationService/UpsertReservation"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not shown", want)
		}
	}
}

func listsEveryOperation(t *testing.T, pagePath, specPath string) {
	header, page := docs(t, pagePath)
	_, spec := docs(t, specPath)
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID string } `yaml:"paths"`
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal([]byte(spec), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatal(err)
	}
	for path, verbs := range doc.Paths {
		if !strings.Contains(page, "<code>"+path+"</code>") {
			t.Errorf("%s is not shown", path)
		}
		if len(verbs) == 0 {
			t.Errorf("%s has no operation", path)
		}
	}
	for name := range doc.Components.Schemas {
		if !strings.Contains(page, `id="message-`+name+`"`) {
			t.Errorf("%s is not shown", name)
		}
	}
	for _, want := range []string{"FAILED_PRECONDITION", "datesNotValid", "UNAUTHORIZED", "<td>413</td>", "bodyTooLarge", "<td>408</td>", "bodyTooSlow", "The body is over 1 MiB."} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not shown", want)
		}
	}
	for _, not := range []string{`href="http`, `src="`, "<script", "ZgotmplZ", "updateMask<"} {
		if strings.Contains(page, not) {
			t.Errorf("the page holds %s", not)
		}
	}
	if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self';") {
		t.Errorf("policy %q", header.Get("Content-Security-Policy"))
	}
}

// The page lists every reason of the proto with its meaning.
func TestDocsExplainEveryReason(t *testing.T) {
	_, page := docs(t, "/docs")
	values := errorsv1.Reason(0).Descriptor().Values()
	for i := 1; i < values.Len(); i++ {
		words := strings.Split(strings.ToLower(strings.TrimPrefix(string(values.Get(i).Name()), "REASON_")), "_")
		for i := range words[1:] {
			words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
		}
		_, after, ok := strings.Cut(page, `<code>`+strings.Join(words, "")+`</code></dt><dd>`)
		if !ok || len(after) < 10 || strings.HasPrefix(after, "<") {
			t.Errorf("%s is not explained", values.Get(i).Name())
		}
	}
}

func TestOpenAPIIsRefined(t *testing.T) {
	header, spec := docs(t, "/openapi.yaml")
	if header.Get("Content-Type") != "application/yaml" {
		t.Errorf("content type %q", header.Get("Content-Type"))
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Required bool
			}
			Responses map[string]any
		}
		Components struct {
			SecuritySchemes map[string]any `yaml:"securitySchemes"`
			Schemas         map[string]struct {
				Properties map[string]struct{ Nullable bool }
			}
		}
		Security []map[string][]string
	}
	if err := yaml.Unmarshal([]byte(spec), &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range doc.Paths["/v1/spaces"]["get"].Parameters {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "filter[type] filter[floor] filter[parentSpaceId] page[limit] page[offset]" {
		t.Errorf("parameters of spaces: %s", got)
	}
	patch := doc.Paths["/v1/reservations"]["patch"]
	if len(patch.Parameters) != 1 || patch.Parameters[0].Name != "Idempotency-Key" || patch.Parameters[0].In != "header" {
		t.Errorf("parameters of the upsert: %v", patch.Parameters)
	}
	// A test of an endpoint does not support the Idempotency-Key header.
	for _, p := range doc.Paths["/v1/endpoints/{action}:test"]["post"].Parameters {
		if p.In == "header" {
			t.Errorf("a parameter of the test of an endpoint: %v", p)
		}
	}
	for _, p := range doc.Paths["/v1/reservations/find"]["get"].Parameters {
		if p.Required != (p.Name == "pmsId") {
			t.Errorf("a parameter of find: %v", p)
		}
	}
	for field, nullable := range map[string]bool{"Reservation.price": true, "Reservation.roomId": true, "Booker.email": true, "PmsMeta.groupId": true, "Reservation.state": false, "PmsMeta.id": false} {
		schema, name, _ := strings.Cut(field, ".")
		if p, ok := doc.Components.Schemas[schema].Properties[name]; !ok || p.Nullable != nullable {
			t.Errorf("%s: known %v, nullable %v", field, ok, p.Nullable)
		}
	}
	if _, ok := doc.Components.Schemas["ErrorAnswer"]; !ok || patch.Responses["default"] == nil || len(doc.Components.SecuritySchemes) != 4 || len(doc.Security) != 3 {
		t.Error("errors or credentials are not described")
	}
}

// Generators of clients refuse a document with a reference to a schema that it does not have.
func TestOpenAPIReferencesResolve(t *testing.T) {
	reference := regexp.MustCompile(`#/components/schemas/([A-Za-z0-9_.]+)`)
	for _, path := range []string{"/openapi.yaml", "/openapi/property.yaml", "/openapi/admin.yaml", "/openapi/guest.yaml", "/openapi/kiosk.yaml"} {
		_, spec := docs(t, path)
		var doc struct {
			Components struct{ Schemas map[string]any }
		}
		if err := yaml.Unmarshal([]byte(spec), &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		found := reference.FindAllStringSubmatch(spec, -1)
		if len(found) < 10 {
			t.Errorf("%s has %d references", path, len(found))
		}
		for _, ref := range found {
			if doc.Components.Schemas[ref[1]] == nil {
				t.Errorf("%s has no schema %s", path, ref[1])
				break
			}
		}
	}
}

// The documents list the fields that a call must send and those that every answer has. A field in the path is not in the body.
func TestOpenAPIRequiredFields(t *testing.T) {
	type schema struct {
		Properties map[string]any
		Required   []string
	}
	schemas := func(path string) map[string]schema {
		_, spec := docs(t, path)
		var doc struct {
			Components struct{ Schemas map[string]schema }
		}
		if err := yaml.Unmarshal([]byte(spec), &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return doc.Components.Schemas
	}
	guest, staff := schemas("/openapi/guest.yaml"), schemas("/openapi/property.yaml")
	for _, c := range []struct {
		name         string
		s            schema
		with, absent []string
	}{
		{"SaveStepRequest", guest["SaveStepRequest"], []string{"step"}, []string{"answers", "guestId"}},
		{"SignFormRequest", guest["SignFormRequest"], []string{"shown", "drawing"}, nil},
		{"Form", guest["Form"], []string{"guestId", "steps", "next"}, []string{"signature"}},
		{"CheckIn", guest["CheckIn"], []string{"stage", "stops"}, []string{"nextAskAt"}},
		{"UpdateCheckInSettingsRequest", staff["UpdateCheckInSettingsRequest"], []string{"settings"}, nil},
		{"CheckInSettingsChange", staff["CheckInSettingsChange"], nil, []string{"rule", "houseRules"}},
		{"StaffCheckIn", staff["StaffCheckIn"], []string{"stage", "guests"}, []string{"roomReady", "nextAskAt"}},
	} {
		for _, f := range c.with {
			if !slices.Contains(c.s.Required, f) || c.s.Properties[f] == nil {
				t.Errorf("%s.%s is not required: %v", c.name, f, c.s.Required)
			}
		}
		for _, f := range c.absent {
			if slices.Contains(c.s.Required, f) {
				t.Errorf("%s.%s is required", c.name, f)
			}
		}
	}
	if guest["SaveStepRequest"].Properties["guestId"] != nil {
		t.Error("a field of the path is in the body")
	}
	for _, path := range []string{"/openapi.yaml", "/openapi/property.yaml", "/openapi/admin.yaml", "/openapi/guest.yaml", "/openapi/kiosk.yaml"} {
		if _, spec := docs(t, path); !strings.Contains(spec, "name: Idempotency-Key") {
			t.Errorf("%s does not describe the Idempotency-Key", path)
		}
	}
}

// Some calls of guests carry their own proof, so a credential is optional in the description of the area.
func TestGuestsMayHaveASession(t *testing.T) {
	_, spec := docs(t, "/openapi/guest.yaml")
	var doc struct {
		Security   []map[string]any
		Components struct {
			SecuritySchemes map[string]any `yaml:"securitySchemes"`
		}
	}
	if err := yaml.Unmarshal([]byte(spec), &doc); err != nil || len(doc.Security) != 2 || len(doc.Security[0]) != 0 || len(doc.Components.SecuritySchemes) != 1 {
		t.Errorf("%v: security %v, schemes %v", err, doc.Security, doc.Components.SecuritySchemes)
	}
	if _, page := docs(t, "/docs/guest"); !strings.Contains(page, "Authorization") || !strings.Contains(page, "/v1/guest/stay/checkIn:complete") || !strings.Contains(page, "/v1/guest/smartkey/renewal") {
		t.Error("the page of the guest API does not name the credential, or lacks calls")
	}
}

// A file has an ETag. A client that sends it gets no content.
func TestDocsHaveETags(t *testing.T) {
	d := newDocs(t)
	for _, path := range []string{"/docs", "/openapi.yaml", "/docs/quick-start", "/proto/latchkey.binpb"} {
		etag := get(d, path).Header().Get("ETag")
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("If-None-Match", etag)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if len(etag) < 10 || w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s: ETag %q, then %d with %d bytes", path, etag, w.Code, w.Body.Len())
		}
	}
	if d := get(d, "/docs").Header().Get("ETag"); d == get(newDocs(t), "/guide").Header().Get("ETag") {
		t.Errorf("two pages have the ETag %s", d)
	}
}

// Each page has the one style sheet, which its policy allows.
func TestPagesHaveTheStyle(t *testing.T) {
	d := newDocs(t)
	if sheet := get(d, "/docs.css"); sheet.Header().Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(sheet.Body.String(), "body") {
		t.Errorf("the style sheet: %d %v", sheet.Code, sheet.Header())
	}
	for _, pattern := range d.Paths() {
		w := get(d, strings.TrimPrefix(pattern, "GET "))
		if w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			continue
		}
		if !strings.Contains(w.Body.String(), `<link rel="stylesheet" href="/docs.css">`) || !strings.Contains(w.Header().Get("Content-Security-Policy"), "style-src 'self'") {
			t.Errorf("%s lacks the style sheet, or its policy %s refuses it: run make generate", pattern, w.Header().Get("Content-Security-Policy"))
		}
	}
}
