package envelope

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
	"latchkey.dev/internal/access"
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
	var ours []string
	for _, path := range []string{"fault/reason.go", "checkin/facts.go", "space/resolve.go", "lock/presence.go", "access/describe.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../"+path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ours = append(ours, reasonsIn(t, file)...)
	}
	slices.Sort(proto)
	slices.Sort(ours)
	if diff := cmp.Diff(proto, ours); diff != "" {
		t.Errorf("proto (-) and the packages (+) differ:\n%s", diff)
	}
}

// The list of the reasons of access plans has each reason that the packages define.
func TestReasonsOfPlansAreListed(t *testing.T) {
	var defined []string
	for _, path := range []string{"space/resolve.go", "lock/presence.go", "access/describe.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../"+path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		defined = append(defined, reasonsIn(t, file)...)
	}
	slices.Sort(defined)
	var listed []string
	for _, r := range access.Reasons {
		listed = append(listed, string(r))
	}
	slices.Sort(listed)
	if diff := cmp.Diff(defined, listed); diff != "" {
		t.Errorf("the packages (-) and access.Reasons (+) differ:\n%s", diff)
	}
}

// reasonsIn returns the values of the constants below a comment that begins with "Reasons" or "More reasons".
func reasonsIn(t *testing.T, file *ast.File) (all []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		if doc := g.Doc.Text(); g.Tok != token.CONST || !strings.HasPrefix(doc, "Reasons ") && !strings.HasPrefix(doc, "More reasons ") {
			continue
		}
		for _, s := range g.Specs {
			word, err := strconv.Unquote(s.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, word)
		}
	}
	if len(all) == 0 {
		t.Errorf("package %s defines no reasons", file.Name)
	}
	return all
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
		e := Of(fault.New(k, "", "m"), "req_1")
		if e.GetStatus() < 400 || e.GetTitle() == "" || e.GetReason() == "" || e.GetRequestId() != "req_1" {
			t.Errorf("envelope of %v: %v", k, e)
		}
	}
	for kind, want := range map[fault.Kind]string{fault.MethodNotAllowed: "17 METHOD_NOT_ALLOWED 405", fault.NotAcceptable: "18 NOT_ACCEPTABLE 406"} {
		e := Of(fault.New(kind, "", "m"), "")
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
