package server

import "testing"

func TestConditionSaysTheStateFirst(t *testing.T) {
	for _, c := range []struct {
		of    condition
		ready bool
		text  string
	}{
		{condition{}, true, "ready"},
		{condition{degraded: []string{"a", "b"}}, true, "degraded: a; b"},
		{condition{unready: []string{"a"}}, false, "unready: a"},
		{condition{unready: []string{"a"}, degraded: []string{"b"}}, false, "unready: a; b"},
	} {
		if c.of.ready() != c.ready || c.of.String() != c.text {
			t.Errorf("%+v: ready %v, %q", c.of, c.of.ready(), c.of)
		}
	}
}
