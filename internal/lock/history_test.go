package lock

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIsStep(t *testing.T) {
	for _, step := range []struct {
		kind    SampleKind
		last    int64
		reading int64
		want    bool
	}{
		{BatterySample, 80, 80, false}, {BatterySample, 80, 79, false}, {BatterySample, 80, 81, false}, {BatterySample, 80, 78, true}, {BatterySample, 20, 100, true},
		{LinkSample, 1, 1, false}, {LinkSample, 1, 0, true}, {LinkSample, 0, 1, true},
		{ClockSample, 0, 4999, false}, {ClockSample, 0, -4999, false}, {ClockSample, 0, 5000, true}, {ClockSample, 2000, -3000, true},
	} {
		if got := isStep(step.kind, &step.last, step.reading); got != step.want {
			t.Errorf("%s from %d to %d: %v", step.kind, step.last, step.reading, got)
		}
	}
	if !isStep(BatterySample, nil, 0) {
		t.Error("the first reading is not stored")
	}
}

func TestGapsOf(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	for _, step := range []struct {
		name string
		link []Sample
		want []Gap
	}{
		{"nothing is known", nil, nil},
		{"never lost", []Sample{{1, at(1)}}, nil},
		{"lost", []Sample{{1, at(1)}, {0, at(2)}}, []Gap{{From: at(2)}}},
		{"lost and back", []Sample{{0, at(2)}, {1, at(5)}}, []Gap{{at(2), at(5)}}},
		{"twice", []Sample{{0, at(1)}, {1, at(2)}, {0, at(3)}, {1, at(4)}}, []Gap{{at(1), at(2)}, {at(3), at(4)}}},
		{"lost twice without a word between", []Sample{{0, at(1)}, {0, at(2)}, {1, at(4)}}, []Gap{{at(1), at(4)}}},
	} {
		if diff := cmp.Diff(step.want, GapsOf(step.link)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}
