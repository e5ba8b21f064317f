package rule

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each rule is dated, has a source, and asks only fields that a form can show.
func TestTable(t *testing.T) {
	if !slices.IsSortedFunc(Rules[1:], func(a, b Rule) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the rules are not in the order of countries")
	}
	for _, r := range slices.Concat(Rules[1:], former) {
		if !IsCountry(r.Name) {
			t.Errorf("%s is no country", r.Name)
		}
		for _, day := range []string{r.Since, r.ReadOn} {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
		if r.Source == "" || !strings.HasPrefix(r.URL, "http") || len(r.wants) == 0 {
			t.Errorf("%s has no source, or asks nothing", r.Name)
		}
		if r.Also == r.URL || r.Also != "" && !strings.HasPrefix(r.Also, "http") {
			t.Errorf("%s: the second source is %q", r.Name, r.Also)
		}
		for kinship := range r.family {
			if !slices.Contains(KinshipOptions, kinship) {
				t.Errorf("%s: %s is no kinship", r.Name, kinship)
			}
		}
		for _, w := range r.wants {
			if _, ok := StepOf(w.field); !ok {
				t.Errorf("%s asks %s, which has no step", r.Name, w.field)
			}
		}
	}
	if !slices.IsSortedFunc(former, func(a, b Rule) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Since, a.Since)) }) {
		t.Error("former versions are not in order")
	}
	for _, r := range former {
		newest, ok := Find(r.Name)
		if !ok || newest.Since <= r.Since {
			t.Errorf("the version of %s of %s is not a former one", r.Since, r.Name)
		}
	}
	for _, e := range steps {
		if _, ok := shapes[e.field]; !ok {
			t.Errorf("%s has no shape", e.field)
		}
		if !slices.Contains(Steps, e.step) {
			t.Errorf("%s is in an unknown step", e.field)
		}
	}
	for _, group := range GroupNames {
		for _, f := range Groups[group] {
			if _, ok := StepOf(f); !ok {
				t.Errorf("%s has %s, which has no step", group, f)
			}
		}
	}
	if !slices.IsSorted(Countries) || len(Countries) != 250 {
		t.Errorf("%d countries", len(Countries))
	}
	if len(commonwealth) != 55 || !slices.IsSorted(commonwealth) {
		t.Errorf("%d states of the Commonwealth", len(commonwealth))
	}
}

// The fields of a form are those that the law wants, in the order of the form, without those that only decide what is asked.
func TestFormFields(t *testing.T) {
	for i := range Rules {
		r := &Rules[i]
		fields := r.FormFields()
		last := -1
		for _, f := range fields {
			if at := positions[f]; at <= last {
				t.Errorf("%s: %s is out of order in %v", r.Name, f, fields)
			} else {
				last = at
			}
		}
		if len(fields) < 2 || fields[0] != FirstName || fields[1] != LastName {
			t.Errorf("%s: %v", r.Name, fields)
		}
	}
}
