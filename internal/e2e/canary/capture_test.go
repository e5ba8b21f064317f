package canary

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/telemetry"
)

// capture is what comes out of the product, by where: "log", "log without its last wall", "traces", "metrics", "errors",
// "files".
type capture struct {
	mu    sync.Mutex
	parts map[string]*bytes.Buffer
	spans *tracetest.InMemoryExporter
}

func newCapture() *capture {
	return &capture{parts: map[string]*bytes.Buffer{}, spans: tracetest.NewInMemoryExporter()}
}

// add notes what came out somewhere.
func (c *capture) add(part string, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts[part] == nil {
		c.parts[part] = &bytes.Buffer{}
	}
	c.parts[part].Write(text)
	c.parts[part].WriteByte('\n')
}

// sink writes to a part.
type sink struct {
	to   *capture
	part string
}

func (s sink) Write(p []byte) (int, error) {
	s.to.add(s.part, p)
	return len(p), nil
}

// logger logs everything, as the product writes it, and once more as it would be without the redaction by names and shapes.
func (c *capture) logger(t *testing.T) *slog.Logger {
	t.Helper()
	written, err := telemetry.Logger(sink{c, "log"}, "debug", "json")
	if err != nil {
		t.Fatal(err)
	}
	bare := slog.NewTextHandler(sink{c, "log without its last wall"}, &slog.HandlerOptions{Level: slog.LevelDebug})
	return slog.New(slog.NewMultiHandler(written.Handler(), bare))
}

func (c *capture) traces(t *testing.T) *sdk.TracerProvider {
	p := sdk.NewTracerProvider(sdk.WithSyncer(c.spans))
	t.Cleanup(func() { _ = p.Shutdown(context.WithoutCancel(t.Context())) })
	return p
}

// failed notes an answer that is an error.
func (c *capture) failed(what string, o e2etest.Outcome) {
	if !o.OK() {
		c.add("errors", fmt.Appendf(nil, "%s: %v %v %s", what, o, o.Header, o.Raw))
	}
}

// collect takes in what has gathered besides: traces and metrics.
func (c *capture) collect(t *testing.T, w *e2etest.World) {
	t.Helper()
	for _, s := range c.spans.GetSpans() {
		c.add("traces", fmt.Appendf(nil, "%q %v %q %+v %v", s.Name, s.Attributes, s.Status.Description, s.Events, s.Resource))
	}
	res, err := http.Get("http://" + w.Server.OpsAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	c.add("metrics", raw)
}

// disks takes in what lies on the disks.
func (c *capture) disks(t *testing.T, part string, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || slices.Contains([]string{".key", ".json"}, filepath.Ext(path)) {
				return err // the key files hold keys, and what the virtual locks hold is theirs
			}
			raw, err := os.ReadFile(path)
			c.add(part, raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// everywhere are the parts that may be searched.
var everywhere = []string{"log", "log without its last wall", "traces", "metrics", "errors", "files", "files at the end"}

// secret is something that must not come out, and where it may all the same.
type secret struct {
	what   string
	forms  [][]byte
	exempt []string // parts
}

// of is a secret in every form in which programs tend to write one.
func of(what string, value []byte, exempt ...string) secret {
	s := secret{what: what, exempt: exempt}
	s.forms = append(s.forms, value, []byte(hex.EncodeToString(value)), fmt.Append(nil, value))
	if len(value) >= 8 {
		s.forms = append(s.forms, []byte(base64.RawStdEncoding.EncodeToString(value)), []byte(base64.RawURLEncoding.EncodeToString(value)))
	}
	return s
}

// keyMaterial is what private keys of every kind contain: PEM, the beginning of PKCS #8 in base64, hex and binary, Go's own way
// to print one, and the key-encryption key.
var keyMaterial = [][]byte{
	[]byte("PRIVATE KEY"), []byte("MIGHAgEAMBMGByqGSM49"), []byte("308187020100301306072a8648ce3d"),
	[]byte("\x30\x81\x87\x02\x01\x00\x30\x13"), []byte("{PublicKey:{Curve"),
}

// keyEncryptionKey needs a character behind the prefix: messages name the prefix alone.
var keyEncryptionKey = regexp.MustCompile(`lkkek_[a-zA-Z0-9]`)

// search fails the test for every secret that is found, and says around what.
func (c *capture) search(t *testing.T, secrets []secret) {
	t.Helper()
	for _, part := range everywhere {
		c.mu.Lock()
		text := c.parts[part]
		c.mu.Unlock()
		if text == nil || text.Len() == 0 {
			t.Errorf("nothing was captured of %s", part)
			continue
		}
		for _, start := range keyMaterial {
			if at := bytes.Index(text.Bytes(), start); at >= 0 {
				t.Errorf("%s holds key material: %q", part, around(text.Bytes(), at))
			}
		}
		if at := keyEncryptionKey.FindIndex(text.Bytes()); at != nil {
			t.Errorf("%s holds a key-encryption key: %q", part, around(text.Bytes(), at[0]))
		}
		for _, s := range secrets {
			if slices.Contains(s.exempt, part) {
				continue
			}
			for _, form := range s.forms {
				if at := find(text.Bytes(), form); at >= 0 {
					t.Errorf("%s holds %s: %q", part, s.what, around(text.Bytes(), at))
					break
				}
			}
		}
		t.Logf("%s: %d kB searched", part, text.Len()/1000)
	}
}

// find is where a text holds a form of a secret, -1 if nowhere. A PIN does not count inside a longer number: the fraction of a
// second in a log line and the sum of a histogram hold any eight digits now and then.
func find(text, form []byte) int {
	for from := 0; ; {
		at := bytes.Index(text[from:], form)
		if at < 0 {
			return -1
		}
		at += from
		end := at + len(form)
		if !digits(form) || !digits(text[max(0, at-1):at]) && !digits(text[end:min(len(text), end+1)]) {
			return at
		}
		from = at + 1
	}
}

// digits is whether a text is digits and nothing else; the empty text is not.
func digits(text []byte) bool {
	return len(text) > 0 && len(bytes.Trim(text, "0123456789")) == 0
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, form string
		at         int
	}{
		{"12345678", "12345678", 0},
		{`"pin":"12345678"`, "12345678", 7},
		{"a12345678z", "12345678", 1},
		{"00.412345678Z", "12345678", -1},
		{"0.123456789", "12345678", -1},
		{"0.123456789 then 12345678", "12345678", 17},
		{"1111111111 11111111", "11111111", 11},
		{"x7Kanaria7", "Kanaria", 2},
		{"1234567", "12345678", -1},
	} {
		if at := find([]byte(c.text), []byte(c.form)); at != c.at {
			t.Errorf("find(%q, %q) = %d, want %d", c.text, c.form, at, c.at)
		}
	}
}

func around(text []byte, at int) string {
	return strings.ToValidUTF8(string(text[max(0, at-200):min(len(text), at+200)]), ".")
}
