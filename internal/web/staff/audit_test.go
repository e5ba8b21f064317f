package staff

import (
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "latchkey.dev/gen/latchkey/admin/v1" // the log also records calls of operators
	_ "latchkey.dev/gen/latchkey/guest/v1" // and of guests
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/staff"
)

// A log that one press cannot verify to its end is verified by following the link.
func TestLongAuditLogIsVerified(t *testing.T) {
	f := &fakeAPI{role: staff.Owner, entries: 450_000}
	link := regexp.MustCompile(`href="(/app/audit\?from=[^"]*)"`)
	path, until := "/app/audit?verify=yes", []string{"number 200000 are", "number 400000 are", "last, number 450000, are"}
	for _, want := range until {
		_, page := f.get(t, path, "en")
		if !strings.Contains(page, want) {
			t.Fatalf("%s: want %q in %s", path, want, page)
		}
		found := link.FindStringSubmatch(page)
		if found == nil {
			path = ""
			continue
		}
		path = html.UnescapeString(found[1])
	}
	if path != "" {
		t.Errorf("the verified log offers %s", path)
	}
	if _, page := f.get(t, "/app/audit?verify=yes&from=x", "en"); !strings.Contains(page, until[0]) {
		t.Errorf("a wrong beginning: %s", page)
	}
}

// Each call that the audit log records has a text, and each text is about a call.
func TestRecordedCallsHaveTexts(t *testing.T) {
	calls := recordedCalls()
	service := propertyv1.File_latchkey_property_v1_audit_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(service, func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for n := range methods.Len() {
				access, _ := proto.GetExtension(methods.Get(n).Options(), rpcv1.E_Access).(*rpcv1.Access)
				call := string(f.Services().Get(i).Name() + "/" + methods.Get(n).Name())
				if (access.GetMutates() || access.GetReveals()) && !slices.Contains(calls, call) {
					t.Errorf("%s has no text %s", call, callText(call))
				}
			}
		}
		return true
	})
	catalogue, err := os.ReadFile("../../message/catalogue/audit.en.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(catalogue)) {
		kind, _, _ := strings.Cut(line, " = ")
		known := func(call string) bool { return callText(call) == kind }
		if strings.HasPrefix(kind, "staff.did.") && !slices.ContainsFunc(calls, known) {
			t.Errorf("%s is about no call", kind)
		}
	}
}

// No two choices of the filter look the same in any language.
func TestChoicesOfCallsDiffer(t *testing.T) {
	for _, language := range message.Languages() {
		calls := map[string]string{}
		for _, call := range recordedCalls() {
			text := message.Reader{Language: language}.Text(message.Message{Kind: callText(call)})
			if other, is := calls[text]; is {
				t.Errorf("%s: %q is the text of %s and of %s", language, text, call, other)
			}
			calls[text] = call
		}
	}
}
