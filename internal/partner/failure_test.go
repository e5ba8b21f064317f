package partner

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

type failedCall struct{}

func (failedCall) Error() string { return "the partner's getSpaces answered with an error (HTTP 503)" }
func (failedCall) Problem() message.Message {
	return message.Message{Kind: "endpoint.status", Params: message.Params{"status": 503}}
}

// An endpoint and a webhook keep the English text of a failure and its problem, with its parameters.
func TestFailuresAreStored(t *testing.T) {
	each(t, func(x *fixture) {
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		long := strings.Repeat("x", 2*maxError)
		for name, c := range map[string]struct {
			failure      Failure
			text, german string
		}{
			"a failure": {FailureOf(fmt.Errorf("call: %w", failedCall{}), failedCall{}.Error(), "closed"), failedCall{}.Error(), "die Antwort war ein Fehler (HTTP 503); das PMS meldet „closed“"},
			"a text":    {FailureOf(errors.New(long), long, ""), long[:maxError], ""},
		} {
			x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p1, x.int1, GetSpaces, c.failure) })
			row, err := loadEndpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces)
			if err != nil {
				t.Fatal(err)
			}
			if german := (message.Reader{Language: "de"}).Text(row.LastProblem); row.LastError != c.text || german != c.german {
				t.Errorf("%s: %q, in German %q, want %q", name, row.LastError, german, c.german)
			}
		}
	})
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

// An endpoint that fails for longer than notices are kept is notified again, with its failures until then.
func TestFailingNoticeThatRetentionDeleted(t *testing.T) {
	each(t, func(x *fixture) {
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		failed := FailureOf(failedCall{}, failedCall{}.Error(), "")
		for _, forget := range []bool{false, true} {
			x.write(func(tx *db.Tx) error {
				if !forget {
					return nil
				}
				_, err := notice.Forget(tx, tx.Now().Add(time.Second), 10)
				return err
			})
			for range failuresToNotify + 1 {
				x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p1, x.int1, GetSpaces, failed) })
			}
			rows, err := notice.List(x.d.View(x.Context()), x.p1, notice.Filter{}, 10, "")
			if err != nil || len(rows) != 1 {
				t.Fatalf("deleted %t: %d notices, %v", forget, len(rows), err)
			}
			want := map[bool]string{false: "3 ", true: "5 "}[forget]
			if text := notice.Text(rows[0], message.Reader{Language: "en"}); !strings.Contains(text, want) {
				t.Errorf("deleted %t: %s", forget, text)
			}
		}
	})
}
