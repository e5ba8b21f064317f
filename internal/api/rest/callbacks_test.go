package rest_test

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
)

// The OpenAPI description of partners' endpoints has exactly the fields of the proto.
func TestCallbacksMatchTheProto(t *testing.T) {
	_, spec := docs(t, "/openapi.yaml")
	var doc struct {
		Paths map[string]map[string]struct {
			Callbacks map[string]map[string]map[string]struct {
				Parameters []struct{ Name string }
			}
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	if err := yaml.Unmarshal([]byte(spec), &doc); err != nil {
		t.Fatal(err)
	}
	calls := doc.Paths["/v1/endpoints"]["patch"].Callbacks
	for action, verb := range map[string]string{"getSpaces": "get", "getCheckInStatus": "get", "checkIn": "post"} {
		var names []string
		for _, p := range calls[action]["{$request.body#/url}"][verb].Parameters {
			names = append(names, p.Name)
		}
		for _, want := range []string{"token", "webhook-id", "webhook-timestamp", "webhook-signature", "latchkey-signature"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s: no parameter %s in %v", action, want, names)
			}
		}
	}
	messages := pmsv1.File_latchkey_pms_v1_pms_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		// These messages have no schema in the document.
		if slices.Contains([]protoreflect.Name{"GetSpacesRequest", "GetCheckInStatusRequest", "CheckInResponse"}, m.Name()) {
			continue
		}
		var want, got []string
		for j := range m.Fields().Len() {
			want = append(want, m.Fields().Get(j).JSONName())
		}
		for name := range doc.Components.Schemas["Pms"+string(m.Name())].Properties {
			got = append(got, name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%s has the fields %v in OpenAPI, %v in the proto", m.Name(), got, want)
		}
	}
	_, page := docs(t, "/docs")
	for _, want := range []string{"Calls to you", "roomReady", "webhook-signature", "latchkey-signature", "/proto/latchkey.binpb"} {
		if !strings.Contains(page, want) {
			t.Errorf("/docs lacks %s", want)
		}
	}
}

// Reading comes before changing, and answers have examples.
func TestDocsOrderOperations(t *testing.T) {
	_, page := docs(t, "/docs/property")
	get, remove := strings.Index(page, `<span class="verb GET">GET</span> <code>/v1/property/spaces/{id}</code>`), strings.Index(page, `<span class="verb DELETE">DELETE</span> <code>/v1/property/spaces/{id}</code>`)
	if get < 0 || remove < get {
		t.Errorf("GET at %d, DELETE at %d", get, remove)
	}
	for _, want := range []string{"<h2>API keys</h2>", "<h2>Rooms and beds</h2>", `"name": "Room 101"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
