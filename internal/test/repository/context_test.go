package repository_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contextValues are the packages of the product that put a value into a context, with what it is. A context carries a deadline, the
// request id and the caller. It carries no transaction, no subscriber, no validator and no body: those are parameters.
var contextValues = map[string]string{
	"internal/actor":          "the caller",
	"internal/api/chain":      "the call: its request id, its caller and how its request was read, which has reportReaders as its only readers; and a deadline that ends with the message",
	"internal/api/connectrpc": "the deadline that the caller asks for",
	"internal/api/idem":       "the idempotency key of the call with the hash of its request",
	"internal/api/rest":       "the HTTP request, for code that the gateway generates with a context as its only parameter",
	"internal/db":             "a mark that refuses Write inside of Write",
}

// reportReaders are the files that read from the context how the request was read. Their handlers validate a field themselves, because
// its rules depend on stored data. gRPC calls a handler with a context and a message, and nothing else. Interceptors get the call as a
// parameter.
var reportReaders = []string{"internal/api/partner/reservations.go", "internal/api/property/settings.go"}

func TestContextsCarryOnlyTheCall(t *testing.T) {
	used := map[string]bool{}
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "cmd/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("chain.ReportOf(")) != slices.Contains(reportReaders, name) {
			t.Errorf("%s: only %v read the report of the JSON reader from the context", name, reportReaders)
		}
		if pkg := path.Dir(name); bytes.Contains(content, []byte("context.WithValue(")) {
			used[pkg] = true
			if contextValues[pkg] == "" {
				t.Errorf("%s puts a value into a context: pass it as a parameter", name)
			}
		}
	}
	for pkg := range contextValues {
		if !used[pkg] {
			t.Errorf("%s puts no value into a context: remove it from the list", pkg)
		}
	}
}
