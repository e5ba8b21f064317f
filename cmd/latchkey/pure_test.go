package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/config"
)

func TestEveryCommandHasHelp(t *testing.T) {
	var c commands
	parser, err := kong.New(&c, kong.Vars{"version": "test", "data_dir": config.Default().DataDir}, groups)
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	err = kong.Visit(parser.Model.Node, func(node kong.Visitable, next kong.Next) error {
		if n, ok := node.(*kong.Node); ok && n.Type == kong.CommandNode {
			if n.Help == "" {
				t.Errorf("%s has no help", n.FullPath())
			}
			if len(n.Children) == 0 {
				leaves++
				var out, errs bytes.Buffer
				args := strings.Fields(commandWords(n) + " --help")
				if code := start(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 || !strings.Contains(out.String(), "Usage: latchkey") {
					t.Errorf("%v: exit code %d, %s%s", args, code, out.String(), errs.String())
				}
				checkWidth(t, out.String())
			}
			for _, f := range n.Flags {
				if f.Help == "" {
					t.Errorf("%s --%s has no help", n.FullPath(), f.Name)
				}
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if leaves < 45 {
		t.Errorf("only %d commands", leaves)
	}
}

// checkWidth fails if a line of help is wider than a terminal of 80 columns. Commands, which are copied, may be wider.
func checkWidth(t *testing.T, help string) {
	t.Helper()
	for line := range strings.Lines(help) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 && !strings.Contains(line, " latchkey ") && !strings.HasPrefix(line, "Usage: ") {
			t.Errorf("a line is wider than 80 columns: %q", line)
		}
	}
}

// commandWords is how a command is called, without its arguments.
func commandWords(n *kong.Node) string {
	if n == nil || n.Type != kong.CommandNode {
		return ""
	}
	return commandWords(n.Parent) + " " + n.Name
}

// parseSpaces reads a file of spaces as the command does.
func parseSpaces(text string) ([]*propertyv1.NewSpace, []int, error) {
	records, wrong, err := spaceSheet.read(strings.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	spaces, lines := spacesOf(records, wrong)
	return spaces, lines, wrong.err(spaceSheet.nothing)
}

func TestReadSpacesCSV(t *testing.T) {
	for _, text := range []string{
		"Name, type ,dorm\n101,Room,\n\n 1 ,Bed,Dorm A\n",
		"\ufeffname;type;dorm\r\n101;room;\r\n;;\r\n1;BED;Dorm A\r\n",
	} {
		spaces, lines, err := parseSpaces(text)
		if err != nil || len(spaces) != 2 || spaces[0].GetName() != "101" || spaces[0].GetType() != "Room" ||
			spaces[1].GetName() != "1" || spaces[1].GetType() != "Bed" || spaces[1].GetParentName() != "Dorm A" || !slices.Equal(lines, []int{2, 4}) {
			t.Errorf("%q: %v, %v, %v", text, spaces, lines, err)
		}
	}
	for text, want := range map[string]string{
		"":                    "name the columns",
		"type,floor\n":        `no column "name"`,
		"type,name\n":         "has no space",
		"type,name\nRoom\n":   "line 2: has 1 value for 2 columns",
		many(501):             "more than 500",
		"type,name,Etage\n":   `unknown column "Etage"`,
		"type,name,name\n":    "twice",
		"type,name\nR\xfcm,1": "not UTF-8",
		"type,name,dorm\nVilla,1,\nRoom,,\nBed,1,\nRoom,2,Dorm A\nRoom,3,\nRoom,3,\nRoom,4,,x": "nothing was created:\n  line 2: type must be one of Room, Dorm, Bed\n  line 3: name must not be empty\n" +
			"  line 4: dorm must name the dorm of the bed\n  line 5: dorm must be empty: only a bed has a dorm\n  line 7: line 6 has the name 3, too\n  line 8: \"x\" is in a column without a name",
		"type,name\nRoom,\"1\n": "line 2: ",
	} {
		if _, _, err := parseSpaces(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
}

// many is a file of so many rooms.
func many(n int) string {
	var b strings.Builder
	b.WriteString("type,name\n")
	for i := range n {
		fmt.Fprintf(&b, "Room,%d\n", i)
	}
	return b.String()
}

func TestNaming(t *testing.T) {
	n := naming{flags: []string{"time-zone", "check-in", "hours", "from", "until", "door", "all-rooms", "dorm"}, arguments: []string{"lock", "name"}}
	for field, want := range map[string]string{
		"settings.timeZone": "--time-zone", "settings.checkInTime": "--check-in", "name": "<name>", "id": "<lock>", "lockId": "<lock>",
		"spaces[2].parentName": "--dorm", "doorIds[1]": "--door", "hours[0].from": "--hours", "notBefore": "--from", "pinLength": "pinLength", "": "",
	} {
		if got := n.of(field); got != want {
			t.Errorf("%q is called %q, want %q", field, got, want)
		}
	}
	if got, want := n.in("name doors or say allRooms; the notAfter of a PMS must be after notBefore"), "name doors or say --all-rooms; the --until of a PMS must be after --from"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (naming{}).of("id"); got != "id" {
		t.Errorf("without a command: %q", got)
	}
}

func detailed(t *testing.T, code codes.Code, message string, details ...protoadapt.MessageV1) error {
	t.Helper()
	st, err := status.New(code, message).WithDetails(details...)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Errorf("around: %w", st.Err())
}

func TestExplain(t *testing.T) {
	wrong, err := status.New(codes.InvalidArgument, "settings.timeZone: bad").WithDetails(
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "settings.timeZone", Description: "must be IANA"}}},
		&errdetails.RequestInfo{RequestId: "req_1"})
	if err != nil {
		t.Fatal(err)
	}
	role := detailed(t, codes.PermissionDenied, "the role operator is needed", &errdetails.ErrorInfo{Reason: "roleMissing", Metadata: map[string]string{"role": "operator"}})
	offline := detailed(t, codes.Unavailable, "its bridge is offline", &errdetails.ErrorInfo{Reason: "bridgeOffline"})
	none := detailed(t, codes.NotFound, "no such lock.", &errdetails.ErrorInfo{Reason: "lockNotFound"}, &errdetails.RequestInfo{RequestId: "req_1"})
	for _, c := range []struct {
		err   error
		says  []string
		never string
	}{
		{errors.New("plain"), []string{"plain"}, ""},
		{wrong.Err(), []string{"refused these values", "--time-zone must be IANA", "req_1"}, "settings"},
		{status.Error(codes.Unauthenticated, "valid credential required"), []string{"valid credential required", "latchkey token create"}, "rpc"},
		{status.Error(codes.Unimplemented, `unexpected HTTP status code received from server: 404 (Not Found); data: "{}"`), []string{"is an HTTP listener", "--listen-grpc"}, "older"},
		{role, []string{"the role operator is needed (roleMissing)", "--role operator"}, "owner"},
		{status.Error(codes.Unavailable, `connection error: desc = "refused"`), []string{"no server answers", "Check that the server runs"}, "rpc"},
		{offline, []string{"its bridge is offline (bridgeOffline)"}, "Check that the server runs"},
		{none, []string{"no such lock (lockNotFound)\n  request id: req_1"}, "rpc error"},
	} {
		got := explain(c.err, naming{flags: []string{"time-zone"}})
		for _, w := range c.says {
			if !strings.Contains(got, w) {
				t.Errorf("%q is not in %q", w, got)
			}
		}
		if c.never != "" && strings.Contains(got, c.never) {
			t.Errorf("%q is in %q", c.never, got)
		}
	}
}

func TestTypedFlagsAreQuoted(t *testing.T) {
	var c struct {
		Sub struct {
			remote `embed:""`
		} `cmd:""`
	}
	parser, err := kong.New(&c, kong.Vars{"data_dir": "d"}, groups)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"sub", "--data-dir", "/it's here", "--plaintext", "--json"}); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Sub.withTypedFlags("run latchkey lock list now"), `run latchkey lock list --data-dir '/it'\''s here' --plaintext now`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFailedAt(t *testing.T) {
	for before, want := range map[int]string{
		0: "No lock before it was assigned;", 1: "1 lock before it was assigned;",
		2: "Failed at line 4. 2 locks before it were assigned; line 4 may be, too. Run the command again: it skips locks that are already assigned.",
	} {
		if got := failedAt(4, before); !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestInMinutesRefusesSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, time.Minute: 1, 36 * time.Hour: 2160, 1: -1, 61 * time.Second: -1} {
		if got, err := inMinutes(d); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%v: %d %v", d, got, err)
		}
	}
}

// With --ca, the command uses TLS and refuses a server without such a certificate.
func TestCAMeansTLS(t *testing.T) {
	front := httptest.NewTLSServer(nil)
	defer front.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]remote{"tls": {CA: ca}, "insecure": {}, "": {CA: ca, Plaintext: true}} {
		r.Server, r.Token = "127.0.0.1:7070", "lko_x"
		_, protection, err := r.target()
		if (err != nil) != (want == "") || err == nil && protection.Info().SecurityProtocol != want {
			t.Errorf("%+v: %v, %v", r, protection, err)
		}
	}
}
