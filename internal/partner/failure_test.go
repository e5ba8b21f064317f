package partner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

type failedCall struct{}

func (failedCall) Error() string { return "the partner's getSpaces answered with an error (HTTP 503)" }
func (failedCall) Problem() message.Message {
	return message.Message{Kind: "endpoint.status", Params: message.Params{"status": 503}}
}

// A failure keeps its English text and its problem in the column of older versions, which stored the text alone.
func TestFailuresAreStored(t *testing.T) {
	failed := FailureOf(fmt.Errorf("call: %w", failedCall{}), failedCall{}.Error(), "closed")
	long := failed
	long.Text = strings.Repeat("x", 2*maxError)
	for name, c := range map[string]struct {
		stored, text, german string
	}{
		"a failure":              {failed.stored(), failedCall{}.Error(), "die Antwort war ein Fehler (HTTP 503); das PMS meldet „closed“"},
		"of an older version":    {"the partner's getSpaces could not be reached", "the partner's getSpaces could not be reached", ""},
		"JSON that is a text":    {`{"a":1}`, `{"a":1}`, ""},
		"longer than the column": {long.stored(), long.Text[:maxError], ""},
		"a success":              {Failure{}.stored(), "", ""},
	} {
		got := loadFailure(c.stored)
		if german := (message.Reader{Language: "de"}).Text(got.Problem); got.Text != c.text || german != c.german || len(c.stored) > maxError {
			t.Errorf("%s: %+v, in German %q, want %q", name, got, german, c.german)
		}
	}
	if raw, err := json.Marshal(failed); err != nil || string(raw) != failed.stored() {
		t.Errorf("stored as %s, %v", failed.stored(), err)
	}
}

// The notice about a failing endpoint is in the reader's language, also what failed.
func TestFailingNoticeIsTranslated(t *testing.T) {
	each(t, func(x *fixture) {
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		failed := FailureOf(failedCall{}, failedCall{}.Error(), "")
		for range failuresToNotify {
			x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p1, x.int1, GetSpaces, failed) })
		}
		rows, err := notice.List(x.d.View(x.Context()), x.p1, notice.Filter{}, 10, "")
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d notices, %v", len(rows), err)
		}
		if text := notice.Text(rows[0], message.Reader{Language: "de"}); !strings.Contains(text, "zuletzt: die Antwort war ein Fehler (HTTP 503)") {
			t.Error(text)
		}
	})
}
