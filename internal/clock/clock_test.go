package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSystemFollowsTheMachineInUTC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := System.Now()
		if before.Location() != time.UTC {
			t.Errorf("location %v, want UTC", before.Location())
		}
		<-time.After(3 * time.Second)
		if got := System.Now().Sub(before); got != 3*time.Second {
			t.Errorf("moved by %v, want 3s", got)
		}
	})
}

func TestFixedMovesOnlyWhenSet(t *testing.T) {
	noon := time.Date(2026, 3, 29, 12, 0, 0, 0, time.FixedZone("CEST", 7200))
	c := At(noon)
	if got := c.Now(); !got.Equal(noon) || got.Location() != time.UTC {
		t.Fatalf("At: %v", got)
	}
	if got := c.Advance(90 * time.Minute); !got.Equal(noon.Add(90*time.Minute)) || !c.Now().Equal(got) {
		t.Errorf("Advance: %v, then %v", got, c.Now())
	}
	c.Set(noon)
	if !c.Now().Equal(noon) {
		t.Errorf("Set: %v", c.Now())
	}
}
