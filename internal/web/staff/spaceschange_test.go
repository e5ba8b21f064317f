package staff

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// mappedHouse is a property with the rooms a to d. A change of the mapping is refused as outdated.
type mappedHouse struct{ house }

func (h *mappedHouse) BatchSetMappings(_ context.Context, r *propertyv1.BatchSetMappingsRequest, _ ...grpc.CallOption) (*propertyv1.BatchSetMappingsResponse, error) {
	if r.GetValidateOnly() {
		return &propertyv1.BatchSetMappingsResponse{Preview: &propertyv1.MappingPreview{}}, nil
	}
	return nil, fault.New(fault.Precondition, fault.Outdated, "changed")
}

// chosenAt returns the id of the space of the PMS that a page shows as the choice for a room.
func chosenAt(t *testing.T, page, room string) string {
	t.Helper()
	row, _, _ := strings.Cut(rowOf(t, page, "Room "+room), "</select>")
	m := regexp.MustCompile(`value="([^"]*)" selected`).FindStringSubmatch(row)
	if m == nil {
		return ""
	}
	return m[1]
}

// The way back from a preview, and the answer to a change that is outdated, keep the choices of the person. A choice is lost only if a mapping that
// it is about has changed.
func TestChoicesAreKept(t *testing.T) {
	h := &mappedHouse{house{rights: []string{"readProperty", "manageSpaces"}}}
	for _, room := range []string{"a", "b", "c", "d"} {
		h.rooms = append(h.rooms, &propertyv1.Space{Id: "spc_" + room, Type: "Room", Name: "Room " + room, IsActive: true})
		h.atPMS = append(h.atPMS, &propertyv1.PartnerSpace{ExternalId: "pms-" + room, Type: "Room", Name: "Number " + room, State: "unmapped", IsActive: true})
	}
	h.atPMS = append(h.atPMS, &propertyv1.PartnerSpace{ExternalId: "pms-x", Type: "Room", Name: "Number x", State: "unmapped", IsActive: true})
	form := url.Values{"pms": {"int_1"}, "do": {"rows"}, "lastChange": {"mch_1"}, "space": {"spc_a", "spc_b", "spc_c", "spc_d"}}
	for _, room := range []string{"a", "b", "c", "d"} {
		form.Set("was.spc_"+room, "")
		form.Set("map.spc_"+room, "pms-"+room)
	}
	form.Set("map.spc_d", "pms-x")
	api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Mappings: h, Locks: h, Gates: h}

	form.Set("preview", "yes")
	preview := serve(t, api, "/app/spaces", form).Body.String()
	if !strings.Contains(preview, `name="map.spc_a" value="pms-a"`) || !strings.Contains(preview, `name="preview" value="back"`) {
		t.Errorf("no way back from the preview: %s", preview)
	}
	form.Set("preview", "back")
	back := serve(t, api, "/app/spaces", form)
	for room, want := range map[string]string{"a": "pms-a", "b": "pms-b", "c": "pms-c", "d": "pms-x"} {
		if got := chosenAt(t, back.Body.String(), room); back.Code != http.StatusOK || got != want {
			t.Errorf("back from the preview, room %s has %q, want %q", room, got, want)
		}
	}

	// Meanwhile another person maps room b, and the space that was chosen for room c.
	form.Del("preview")
	h.atPMS[4].State, h.atPMS[4].SpaceId = "mapped", new("spc_b")
	h.atPMS[2].State, h.atPMS[2].SpaceId = "mapped", new("spc_e")
	refused := serve(t, api, "/app/spaces", form)
	for room, want := range map[string]string{"a": "pms-a", "b": "pms-x", "c": "", "d": ""} {
		if got := chosenAt(t, refused.Body.String(), room); refused.Code != http.StatusConflict || got != want {
			t.Errorf("after the refusal, room %s has %q, want %q", room, got, want)
		}
	}
}

// brokenPMS is a property whose PMS does not answer getSpaces.
type brokenPMS struct{ house }

func (*brokenPMS) ReadSpaces(context.Context, *propertyv1.ReadSpacesRequest, ...grpc.CallOption) (*propertyv1.ReadSpacesResponse, error) {
	return nil, fault.New(fault.Unavailable, fault.PartnerUnavailable, "an English sentence").Put("problem", "Der Name des Servers ist nicht bekannt")
}

func (*brokenPMS) ListIntegrations(context.Context, *propertyv1.ListIntegrationsRequest, ...grpc.CallOption) (*propertyv1.ListIntegrationsResponse, error) {
	return &propertyv1.ListIntegrationsResponse{Data: &propertyv1.IntegrationList{List: []*propertyv1.Integration{{
		Id: "int_1", AppId: new("app_1"), Name: "PMS",
	}}}}, nil
}

// Why the rooms of the PMS cannot be read is in English, for its vendor, and in the language of the page.
func TestUnreadSpacesSayWhy(t *testing.T) {
	h := &brokenPMS{house{rights: []string{"readProperty", "manageSpaces"}}}
	api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Mappings: h, Locks: h, Gates: h}
	for language, translated := range map[string]bool{"en": false, "de": true} {
		body := serveIn(t, api, language, "/app/spaces/read", url.Values{"pms": {"int_1"}}).Body.String()
		if !strings.Contains(body, `<bdi lang="en">an English sentence</bdi>`) || strings.Contains(body, "(Der Name des Servers ist nicht bekannt.)") != translated {
			t.Errorf("%s: %s", language, body)
		}
	}
}
