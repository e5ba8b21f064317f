package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// Texts of answers are in the first language that the caller names and that has texts, else in English, over every protocol. Everything else
// of an answer stays.
func TestAnswersSpeakTheCallersLanguage(t *testing.T) {
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "L-1", map[string]any{"state": "started", "spaceId": "nowhere"})
	explain, notices := e2etest.FindRPC("latchkey.partner.v1.ReservationService/FindExplanation"), e2etest.FindRPC("latchkey.property.v1.NoticeService/ListNotices")
	find := explain.Request()
	if err := protojson.Unmarshal([]byte(`{"pmsId":"L-1"}`), find); err != nil {
		t.Fatal(err)
	}
	for _, p := range e2etest.Protocols {
		call := func(c e2etest.Caller, r e2etest.RPC, accept string) e2etest.Outcome {
			t.Helper()
			if accept != "" {
				c = c.WithHeader("accept-language", accept)
			}
			req := r.Request()
			if r.Name == explain.Name {
				req = find
			}
			got, err := w.Call(t.Context(), p, c, r, req)
			if err != nil || got.Reply == nil {
				t.Fatalf("%s %s: %v %v", p, r.Name, got, err)
			}
			return got
		}
		texts := map[string][2]string{}
		for _, accept := range []string{"", "de-AT, en;q=0.5", "ja, fr;q=0.8", "ja", "*", strings.Repeat("de,", 200) + "de", "de;q=x"} {
			e := call(w.Partner(), explain, accept).Reply.(*partnerv1.FindExplanationResponse).GetData()
			n := call(w.Owner(), notices, accept).Reply.(*propertyv1.ListNoticesResponse).GetData().GetList()
			n = slices.DeleteFunc(n, func(n *propertyv1.Notice) bool { return n.GetKind() != "roomNotAssigned" }) // the check of arrivals has notices of its own
			if len(n) != 1 || e.GetState() != "started" || len(e.GetSteps()) == 0 {
				t.Fatalf("%s: %v %v", p, n, e)
			}
			texts[accept] = [2]string{n[0].GetText(), e.GetSentence()}
		}
		for accept, want := range map[string]string{"de-AT, en;q=0.5": "Dieser Gast ist eingecheckt", "ja, fr;q=0.8": "L’arrivée de ce client", "": "This guest is checked in"} {
			if got := texts[accept]; !strings.HasPrefix(got[0], want) || (accept != "") == (got[1] == texts[""][1]) {
				t.Errorf("%s in %q: %q", p, accept, got)
			}
		}
		for _, accept := range []string{"ja", "*", strings.Repeat("de,", 200) + "de", "de;q=x"} {
			if texts[accept] != texts[""] {
				t.Errorf("%s in %.20q: %q", p, accept, texts[accept])
			}
		}
	}
}

// A guest's pages show the property's texts in their own language: that of the browser, else the property's. A text that has no translation is as
// the property wrote it.
func TestPagesShowTextsInTheirLanguage(t *testing.T) {
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "L-2", map[string]any{"state": "confirmed"})
	german, rules := "de", "Be quiet."
	_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{
			Language: &german, HouseRules: &rules, Texts: &propertyv1.TextsByLanguage{ByLanguage: map[string]*propertyv1.LocalTexts{"de": {HouseRules: "Leise sein."}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newSurfer(t, w)
	found := s.do(http.MethodPost, "/q/"+e2etest.EnrolTablet(t, w, "Lobby").Door, url.Values{"number": {"N-L-2"}, "name": {"Lovelace"}})
	stay, ok := strings.CutPrefix(found.moved, "/g/stays/")
	if !ok {
		t.Fatalf("the search leads to %q with %d: %s", found.moved, found.status, found.text)
	}
	id, _, _ := strings.Cut(stay, "/")
	for accept, want := range map[string]string{"de-AT, en;q=0.5": "Leise sein.", "": "Leise sein.", "fr": rules} {
		if got := s.do(http.MethodGet, "/g/stays/"+id+"/form/rules", nil, "Accept-Language", accept); !strings.Contains(got.text, want) {
			t.Errorf("%q: %d, %q is not in %s", accept, got.status, want, got.text)
		}
	}
}
