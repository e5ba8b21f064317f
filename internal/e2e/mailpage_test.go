package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/fault"
)

// TestMailSettingsOfTwoPeople refuses a change of mail settings that a colleague changed since they were shown, and names what changed.
func TestMailSettingsOfTwoPeople(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	mails := propertyv1.NewMailServiceClient(w.Public)
	change := func(etag, name string) (string, error) {
		a, err := mails.UpdateMailSettings(w.Staff(t.Context()), &propertyv1.UpdateMailSettingsRequest{Settings: &propertyv1.MailSettingsChange{FromName: &name}, Etag: etag})
		return a.GetData().GetEtag(), err
	}
	seen, err := mails.GetMailSettings(w.Staff(t.Context()), &propertyv1.GetMailSettingsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`name="etag" value="([^"]+)"`).FindStringSubmatch(s.do(http.MethodGet, "/app/settings/mail", nil).text)
	if form == nil || form[1] != seen.GetData().GetEtag() {
		t.Fatalf("the page has the etag %q, the API %q", form, seen.GetData().GetEtag())
	}
	after, err := change(seen.GetData().GetEtag(), "Hostel Miramar")
	if err != nil || after == seen.GetData().GetEtag() {
		t.Fatalf("a change: %q, %v", after, err)
	}
	if _, err := change(seen.GetData().GetEtag(), "Other"); err == nil || !strings.Contains(err.Error(), "fromName") || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("a stale etag: %v (%s expected)", err, fault.Outdated)
	}
	post := func(etag string) shown {
		return s.do(http.MethodPost, "/app/settings/mail", url.Values{
			"form": {"mail"}, "etag": {etag}, "settings.host": {""}, "settings.port": {"587"}, "settings.security": {"starttls"}, "settings.user": {""},
			"settings.fromAddress": {""}, "settings.fromName": {"Mine"}, "settings.replyTo": {"desk@example.com"},
		})
	}
	if a := post(form[1]); a.status != http.StatusConflict || !strings.Contains(a.text, "Hostel Miramar") || !strings.Contains(a.text, "desk@example.com") || !strings.Contains(a.text, after) {
		t.Errorf("the page with a stale etag: %d to %q: %s", a.status, a.moved, a.text)
	}
	if a := post(after); a.moved != "/app/settings/mail?done=saved" {
		t.Errorf("the page with the etag of now: %d to %q: %s", a.status, a.moved, a.text)
	}
}

// TestMappingChangesWithoutAPMS shows the changes of the first PMS if the address names none.
func TestMappingChangesWithoutAPMS(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	a := s.do(http.MethodGet, "/app/spaces/changes", nil)
	if a.status != http.StatusOK || !strings.Contains(a.text, "/app/spaces?pms="+w.IntegrationID) {
		t.Errorf("without a PMS: %d %s", a.status, a.text)
	}
	if a := s.do(http.MethodGet, "/app/spaces/changes?pms=itg_unknown", nil); a.status != http.StatusNotFound {
		t.Errorf("an unknown PMS: %d", a.status)
	}
}
