package doorkeeper

import (
	"testing"
	"time"

	"latchkey.dev/internal/smartkey"
)

// TestClockRules checks which time and error a bridge uses when it loses the server's time and gets it again.
func TestClockRules(t *testing.T) {
	wall := time.Now()
	var boot string
	var up, bound time.Duration
	kept := false
	tk := timekeeper{
		kernel:  func() (time.Duration, bool) { return bound, kept },
		machine: func() (string, time.Duration, bool) { return boot, up, boot != "" },
	}
	if c := tk.clock(wall); c.Error >= 0 || c.Quality != smartkey.Untrusted {
		t.Errorf("the time is unknown, and the clock says %+v", c)
	}
	bound, kept = 5*time.Second, true
	if c := tk.clock(wall); c.Error != 5*time.Second || c.Quality != smartkey.Synchronized {
		t.Errorf("the machine's clock is kept within 5 s: %+v", c)
	}
	kept, boot, up = false, "boot-1", time.Hour
	a, note := tk.observe(wall, time.Second)
	if !note || a.Boot != boot || a.Up != up {
		t.Fatalf("the server's time is not noted: %+v", a)
	}
	if c := tk.clock(wall); c.Quality != smartkey.Synchronized || c.Error > 3*time.Second {
		t.Errorf("in time with the server: %+v", c)
	}
	if c := tk.clock(wall.Add(time.Hour)); c.Error < 59*time.Minute || c.Quality == smartkey.Synchronized {
		t.Errorf("the clock was set by an hour: %+v", c)
	}
	if _, note := tk.observe(wall, 40*time.Minute); note {
		t.Error("the time is noted at every word")
	}
	if c := tk.clock(wall); c.Error < 40*time.Minute || c.Now.Sub(wall).Abs() > time.Second {
		t.Errorf("a service that says another time moves ours: %+v", c)
	}
	restarted := timekeeper{kernel: tk.kernel, machine: tk.machine, anchor: a}
	up += 24 * time.Hour
	if c := restarted.clock(wall.Add(-1000 * time.Hour)); c.Now.Sub(wall.Add(24*time.Hour)).Abs() > time.Second || c.Error > 30*time.Second {
		t.Errorf("a day after a restart of the bridge, its clock set back: %+v", c)
	}
	boot = "boot-2"
	if c := restarted.clock(wall); c.Error >= 0 {
		t.Errorf("after the power went: %+v", c)
	}
}
