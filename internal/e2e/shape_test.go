package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// blanks stand in the shape of an answer for what differs from run to run.
var blanks = map[string]*regexp.Regexp{
	"<time>":   regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`),
	"<pin>":    regexp.MustCompile(`^\d{8}$`), // of eight digits: the virtual locks are guessable
	"<text>":   regexp.MustCompile(`.`),
	"<secret>": regexp.MustCompile(`^whsec_[A-Za-z0-9+/=]{32,}$`),
	"<reset>":  regexp.MustCompile(`^(issued|updating)$`),
	"<pinned>": regexp.MustCompile(`^(queued|sent|accepted|verified)$`),
	"<rsv>":    identifier("rsv"), "<prp>": identifier("prp"), "<spc>": identifier("spc"), "<gat>": identifier("gat"),
	"<int>": identifier("int"), "<app>": identifier("app"), "<req>": identifier("req"),
}

func identifier(kind string) *regexp.Regexp { return regexp.MustCompile(`^` + kind + `_[0-9a-z]{26}$`) }

// shaped fails unless an answer has exactly the shape: the same names, and the same values except where the shape has a blank.
func shaped(t *testing.T, what string, raw []byte, shape string) {
	t.Helper()
	var got, want any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s: no JSON: %v: %s", what, err, raw)
	}
	if err := json.Unmarshal([]byte(shape), &want); err != nil {
		t.Fatalf("%s: the shape is no JSON: %v\n%s", what, err, shape)
	}
	if wrong := differ("", got, want); len(wrong) > 0 {
		t.Errorf("%s:\n  %s\nin %s", what, strings.Join(wrong, "\n  "), raw)
	}
}

func differ(path string, got, want any) []string {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v; want an object", path, got)}
		}
		var out []string
		names := maps.Clone(want)
		maps.Copy(names, g)
		for _, n := range slices.Sorted(maps.Keys(names)) {
			_, there := g[n]
			_, wanted := want[n]
			switch {
			case !wanted:
				out = append(out, fmt.Sprintf("%s.%s is %v; want none", path, n, g[n]))
			case !there:
				out = append(out, fmt.Sprintf("%s.%s is not there; want %v", path, n, want[n]))
			default:
				out = append(out, differ(path+"."+n, g[n], want[n])...)
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return []string{fmt.Sprintf("%s is %v; want %d entries", path, got, len(want))}
		}
		var out []string
		for i := range want {
			out = append(out, differ(fmt.Sprintf("%s[%d]", path, i), g[i], want[i])...)
		}
		return out
	case string:
		if blank := blanks[want]; blank != nil {
			if s, ok := got.(string); ok && blank.MatchString(s) {
				return nil
			}
		}
	}
	if got != want {
		return []string{fmt.Sprintf("%s is %v; want %v", path, got, want)}
	}
	return nil
}
