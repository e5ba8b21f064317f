package message

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// plurals are the plural rules of a language: one condition for each form except the last, which is for all other numbers. A condition is a
// list of alternatives (or), and an alternative is a list of relations that must all hold (and).
type plurals [][][]relation

// relation compares a number, or its remainder of a division by mod if mod is not 0, with ranges.
type relation struct {
	mod    int // 0 compares the number itself
	not    bool
	ranges [][2]int
}

// onlyOne is the rule with one form for 1 and another for every other number. Languages without a rule use it.
var onlyOne = plurals{{{{ranges: [][2]int{{1, 1}}}}}}

// form returns the index of the plural form for n. The sign of n does not count.
func (p plurals) form(n int) int {
	for i, alternatives := range p {
		for _, all := range alternatives {
			if holds(all, max(n, -n)) {
				return i
			}
		}
	}
	return len(p)
}

// forms returns how many plural forms a text of the language needs.
func (p plurals) forms() int { return len(p) + 1 }

// holds reports whether n satisfies all relations.
func holds(all []relation, n int) bool {
	for _, r := range all {
		rest := n
		if r.mod > 0 {
			rest = n % r.mod
		}
		in := false
		for _, between := range r.ranges {
			in = in || between[0] <= rest && rest <= between[1]
		}
		if in == r.not {
			return false
		}
	}
	return true
}

var relationPattern = regexp.MustCompile(`^n(?: % ([1-9]\d{0,6}))? (=|!=) ([\d.,]+)$`)

// parsePlurals parses the plural rules of a language in the notation of Unicode CLDR for whole numbers, such as "n = 1 | n % 10 = 2..4 and
// n % 100 != 12..14 | other". The last form must be "other".
func parsePlurals(text string) (plurals, error) {
	parts := strings.Split(text, "|")
	if last := strings.TrimSpace(parts[len(parts)-1]); last != "other" {
		return nil, fmt.Errorf("the last plural form is %q, want other", last)
	}
	p := plurals{}
	for _, part := range parts[:len(parts)-1] {
		var alternatives [][]relation
		for alternative := range strings.SplitSeq(part, " or ") {
			var all []relation
			for condition := range strings.SplitSeq(alternative, " and ") {
				r, err := parseRelation(strings.TrimSpace(condition))
				if err != nil {
					return nil, err
				}
				all = append(all, r)
			}
			alternatives = append(alternatives, all)
		}
		p = append(p, alternatives)
	}
	return p, nil
}

// parseRelation parses one condition, such as "n % 10 = 2..4,7".
func parseRelation(text string) (relation, error) {
	m := relationPattern.FindStringSubmatch(text)
	if m == nil {
		return relation{}, fmt.Errorf("the plural condition %q is not like n %% 10 = 2..4,7", text)
	}
	r := relation{not: m[2] == "!="}
	r.mod, _ = strconv.Atoi(m[1])
	for part := range strings.SplitSeq(m[3], ",") {
		low, high, isRange := strings.Cut(part, "..")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || from > to {
			return relation{}, fmt.Errorf("the plural condition %q has the wrong range %q", text, part)
		}
		r.ranges = append(r.ranges, [2]int{from, to})
	}
	return r, nil
}

// plural returns the one of forms that fits n in the language, with n in place of "#". If the language needs more forms than there are, it
// uses the last one.
func plural(language string, n int, forms []string) string {
	rule, ok := current().plurals[language]
	if !ok {
		rule = onlyOne
	}
	return strings.ReplaceAll(forms[min(rule.form(n), len(forms)-1)], "#", strconv.Itoa(n))
}
