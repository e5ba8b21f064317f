package chain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/fault"
)

func TestReasonsAreThoseOfTheProto(t *testing.T) {
	var proto []string
	values := errorsv1.Reason(0).Descriptor().Values()
	for i := range values.Len() {
		if v := values.Get(i); v.Number() != 0 {
			proto = append(proto, camel(strings.TrimPrefix(string(v.Name()), "REASON_")))
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../fault/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				word, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				ours = append(ours, word)
			}
		}
		return true
	})
	slices.Sort(proto)
	slices.Sort(ours)
	if diff := cmp.Diff(proto, ours); diff != "" {
		t.Errorf("proto (-) and package fault (+) differ:\n%s", diff)
	}
}

func TestEveryKindHasACodeAndEveryCodeATitle(t *testing.T) {
	for k := fault.Internal; k <= fault.NotAcceptable; k++ {
		row, ok := kinds[k]
		if !ok || row.reason == "" {
			t.Errorf("kind %v has no row", k)
		}
		if _, ok := titles[int32(row.code)]; !ok {
			t.Errorf("code %v has no title", row.code)
		}
		e := Envelope(fault.New(k, "", "m"), "req_1")
		if e.GetStatus() < 400 || e.GetTitle() == "" || e.GetReason() == "" || e.GetRequestId() != "req_1" {
			t.Errorf("envelope of %v: %v", k, e)
		}
	}
	for kind, want := range map[fault.Kind]string{fault.MethodNotAllowed: "17 METHOD_NOT_ALLOWED 405", fault.NotAcceptable: "18 NOT_ACCEPTABLE 406"} {
		e := Envelope(fault.New(kind, "", "m"), "")
		if got := strconv.Itoa(int(e.GetCode())) + " " + e.GetTitle() + " " + strconv.Itoa(int(e.GetStatus())); got != want {
			t.Errorf("%v is %s, want %s", kind, got, want)
		}
	}
}

// camel turns BAD_FORMAT into badFormat.
func camel(name string) string {
	words := strings.Split(strings.ToLower(name), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
