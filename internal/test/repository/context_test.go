package repository_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// contextValues are the values that the product puts into contexts, by package and type of the key. A context carries a deadline, the caller
// and the call. It carries no transaction, no subscriber, no validator and no body: those are parameters.
var contextValues = map[string]string{
	"internal/actor key":                  "the caller",
	"internal/api/chain callKey":          "the call: its request id, what the audit log records of it, and what one interceptor found for the next",
	"internal/api/chain receiveLimitKey":  "the largest message that the caller may send",
	"internal/api/connectrpc deadlineKey": "the deadline that the caller asks for",
	"internal/api/idem claimKey":          "the idempotency key of the call with the hash of its request",
	"internal/api/rest exchangeKey":       "the HTTP request, for code that the gateway generates with a context as its only parameter",
	"internal/db insideChange":            "a mark that refuses Write inside of Write",
	"internal/db insideShared":            "a mark that refuses ViewShared inside of ViewShared",
}

// contextValue matches a call that puts a value into a context, and the type of the key if it has the usual form.
var contextValue = regexp.MustCompile(`context\.WithValue\((?:[\w.()]+, (\w+)\{\})?`)

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
		for _, m := range contextValue.FindAllSubmatch(content, -1) {
			value := path.Dir(name) + " " + string(m[1])
			used[value] = true
			if contextValues[value] == "" {
				t.Errorf("%s puts a value into a context (%s): pass it as a parameter", name, value)
			}
		}
	}
	for value := range contextValues {
		if !used[value] {
			t.Errorf("%s is no value of a context: remove it from the list", value)
		}
	}
}
