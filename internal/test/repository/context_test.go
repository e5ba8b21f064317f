package repository_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// contextValues are the packages of the product that put a value into a context, with what it is. A context carries a deadline, the
// request id and the caller. It carries no transaction, no subscriber, no validator and no body: those are parameters.
var contextValues = map[string]string{
	"internal/actor":          "the caller",
	"internal/api/chain":      "the call: its request id and its caller; and a deadline that ends with the message",
	"internal/api/connectrpc": "the deadline that the caller asks for",
	"internal/api/idem":       "the idempotency key of the call with the hash of its request",
	"internal/api/rest":       "the HTTP request, for code that the gateway generates with a context as its only parameter",
	"internal/db":             "a mark that refuses Write inside of Write",
}

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
		if bytes.Contains(content, []byte("protovalidate.Validate(")) || name != "internal/server/wire.go" && bytes.Contains(content, []byte("protovalidate.GlobalValidator")) {
			t.Errorf("%s uses the validator of the process: pass it as a parameter, from internal/server/wire.go", name)
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
