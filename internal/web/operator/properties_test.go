package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// installation is a session of an operator, and two properties of which one is being deleted.
type installation struct {
	adminv1.OperatorSessionServiceClient
	adminv1.InstallationServiceClient
	adminv1.PropertyServiceClient
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (installation) GetOperatorSession(context.Context, *adminv1.GetOperatorSessionRequest, ...grpc.CallOption) (*adminv1.GetOperatorSessionResponse, error) {
	return &adminv1.GetOperatorSessionResponse{Data: &adminv1.OperatorSession{Id: new("ops_1")}}, nil
}

var (
	stored   = &propertyv1.Property{Id: "prp_1", Name: "Harbour Hostel", TimeZone: "Europe/Lisbon"}
	deleting = &propertyv1.Property{Id: "prp_2", Name: "Old Mill", TimeZone: "Europe/Lisbon", DeletingSince: timestamppb.New(noon)}
)

func (installation) ListPropertyStates(context.Context, *adminv1.ListPropertyStatesRequest, ...grpc.CallOption) (*adminv1.ListPropertyStatesResponse, error) {
	return &adminv1.ListPropertyStatesResponse{Data: &adminv1.PropertyStateList{List: []*adminv1.PropertyState{{Property: stored}, {Property: deleting}}}}, nil
}

func (installation) GetProperty(_ context.Context, r *adminv1.GetPropertyRequest, _ ...grpc.CallOption) (*adminv1.GetPropertyResponse, error) {
	if r.GetId() == stored.GetId() {
		return &adminv1.GetPropertyResponse{Data: stored}, nil
	}
	return &adminv1.GetPropertyResponse{Data: deleting}, nil
}

// DeleteProperty is refused for a property with this name.
func (installation) DeleteProperty(_ context.Context, r *adminv1.DeletePropertyRequest, _ ...grpc.CallOption) (*adminv1.DeletePropertyResponse, error) {
	if r.GetName() == "keys" {
		return nil, fault.New(fault.Precondition, fault.SmartkeysInUse, "an English sentence").Put("until", "2026-11-22T09:00:00Z")
	}
	return nil, fault.New(fault.Precondition, fault.CodesOnLocks, "an English sentence").Put("lockIds", "lck_1 lck_2").Put("locks", "2")
}

// load returns the page at a path as a signed-in operator gets it.
func load(t *testing.T, path string) string {
	t.Helper()
	status, body := answer(t, path, nil)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	return body
}

// answer returns the answer to a request of an operator who reads German, if a form is posted, and else English.
func answer(t *testing.T, path string, form url.Values) (status int, body string) {
	t.Helper()
	t.Helper()
	k, err := kit.New(kit.Options{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Secure: func(*http.Request) bool { return false }, Now: func() time.Time { return noon },
		As: func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
		Fault: func(err error) *fault.Fault {
			var f *fault.Fault
			errors.As(err, &f)
			return f
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := New(k, API{Sessions: installation{}, Installation: installation{}, Properties: installation{}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept-Language", "de")
	}
	r.AddCookie(&http.Cookie{Name: "lk-operator", Value: "a session"})
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// What blocks a deletion is in the language of the page.
func TestBlockedDeletionIsTranslated(t *testing.T) {
	for name, want := range map[string]string{
		"codes": "Vielleicht sind noch Codes auf 2 Schlössern (lck_1, lck_2).", "keys": "versuchen Sie es nach dem 22. Nov. 2026, 09:00 Uhr UTC noch einmal",
	} {
		status, body := answer(t, "/operator/properties/prp_1", url.Values{"do": {"delete"}, "name": {name}})
		if status != http.StatusConflict || !strings.Contains(body, want) || strings.Contains(body, "an English sentence") {
			t.Errorf("%s: %d: %s", name, status, body)
		}
	}
}

// The list marks a property whose deletion began and is not complete, and no other.
func TestListMarksAPropertyThatIsBeingDeleted(t *testing.T) {
	page := load(t, "/operator/properties")
	_, of, found := strings.Cut(page, "Old Mill")
	if !found || strings.Count(page, "Being deleted") != 1 || !strings.Contains(of, "Being deleted") || !strings.Contains(of, "21 Nov 2026, 12:00 UTC") {
		t.Error(page)
	}
}

// The page of such a property says so, and offers only to go on.
func TestPageOfAPropertyThatIsBeingDeleted(t *testing.T) {
	for id, begun := range map[string]bool{"prp_1": false, "prp_2": true} {
		page := load(t, "/operator/properties/"+id)
		for text, whenBegun := range map[string]bool{
			"The deletion began on 21 Nov 2026, 12:00 UTC": true, "Go on deleting": true, "Delete for good": false, "Make an owner": false, "Tokens for programs": false,
		} {
			if want := begun == whenBegun; strings.Contains(page, text) != want {
				t.Errorf("%s: %q, want %v: %s", id, text, want, page)
			}
		}
	}
}
