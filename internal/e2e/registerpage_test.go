package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

// TestRegisterByPage reads the guest register on its page and as a file: each read needs a reason and is in the audit log.
func TestRegisterByPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	days := func(first, last, reason string) url.Values {
		return url.Values{"firstArrivalOn": {first}, "lastArrivalOn": {last}, "reason": {reason}}
	}
	for _, path := range []string{"/app/register", "/app/register/csv"} {
		for _, c := range []struct {
			form url.Values
			text string
		}{
			{days("2026-11-01", "2026-11-30", "ab"), "Enter the reason, in 3 to 200 characters."},
			{days("2026-11-01", "2026-11-30", strings.Repeat("a", 201)), "Enter the reason, in 3 to 200 characters."},
			{days("2026-11-30", "2026-11-01", "inspection"), "Last day of arrival"},
			{days("", "2026-11-30", "inspection"), "First day of arrival"},
			{days("2026-02-30", "2026-11-30", "inspection"), "First day of arrival"},
		} {
			if a := s.do(http.MethodPost, path, c.form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, c.text) || !strings.Contains(a.text, `aria-invalid="true"`) {
				t.Errorf("%s %.80v: %d to %q: %s", path, c.form, a.status, a.moved, a.text)
			}
		}
	}
	if a := s.do(http.MethodPost, "/app/register", days("2026-11-01", "2026-11-30", "inspection on paper")); a.status != http.StatusOK || !strings.Contains(a.text, "0 forms") {
		t.Errorf("the page: %d to %q: %s", a.status, a.moved, a.text)
	}
	a := s.do(http.MethodPost, "/app/register/csv", days("2026-11-01", "2026-11-30", "inspection by file"))
	if a.status != http.StatusOK || a.text != "\ufeffarrivalOn,departureOn,state,number,role,rule,signedAt,eraseAt\n" {
		t.Errorf("the file: %d %q", a.status, a.text)
	}
	audit := s.do(http.MethodGet, "/app/audit", nil).text
	for _, reason := range []string{"inspection on paper", "inspection by file"} {
		if !strings.Contains(audit, reason) {
			t.Errorf("the audit log lacks the read with the reason %q", reason)
		}
	}
}
