package sandbox

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever is typed at the desk is answered, also what is no change.
func TestPMSRefusesInvalidEdits(t *testing.T) {
	desk := NewPMS("secret", nil).Handler()
	for _, body := range []string{"", "null", "[]", `"started"`, "{"} {
		w := httptest.NewRecorder()
		desk.ServeHTTP(w, httptest.NewRequest(http.MethodPatch, "/reservations/B-1", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: answered %d", body, w.Code)
		}
	}
}
