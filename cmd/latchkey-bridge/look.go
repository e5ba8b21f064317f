package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bridge/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/text"
)

type status struct {
	JSON bool `help:"As JSON, for programs."`
}

// Run asks the running bridge, or reads the store when none runs.
func (s *status) Run(ctx context.Context, c *commands) error {
	h, err := bridge.AskHealth(ctx, c.Dir)
	switch {
	case errors.Is(err, bridge.ErrNotRunning):
		return s.stopped(c)
	case err != nil:
		return err
	case s.JSON:
		return json.NewEncoder(os.Stdout).Encode(h)
	}
	return describe(text.Terminal(os.Stdout), h)
}

func (s *status) stopped(c *commands) error {
	id, connect, until, err := bridge.Enrolled(c.Dir)
	if err != nil {
		return err
	}
	if s.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"bridgeId": id, "service": connect, "certificateUntil": until, "running": false})
	}
	_, err = fmt.Fprintf(os.Stdout, "bridge       %s\nrunning      no\nservice      %s\ncertificate  until %s\n", id, connect, local(until))
	return err
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

// describe says for people how a bridge and its locks do.
func describe(w io.Writer, h bridge.Health) error {
	session := "in session since " + local(h.Since)
	if h.Epoch == 0 {
		session = "no session: " + orElse(h.Trouble, "not yet")
	}
	offset := "not compared with the service's yet"
	if h.ClockOffset != 0 {
		offset = fmt.Sprintf("%v from the service's", h.ClockOffset.Round(time.Millisecond))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][]string{
		{"bridge", h.BridgeID + " of " + h.PropertyID + ", " + h.Software},
		{"running", "since " + local(h.Started)},
		{"service", h.Service + ", " + session},
		{"clock", h.ClockQuality + ", " + offset},
		{"certificate", "until " + local(h.CertificateUntil)},
		{"events", fmt.Sprintf("%d not yet delivered", h.EventsWaiting)},
		{},
		{"LOCK", "MODEL", "STATE", "BATTERY", "CLOCK", "SLOTS", "FAILED TRIES"},
	} {
		if _, err := fmt.Fprintln(table, strings.Join(line, "\t")); err != nil {
			return err
		}
	}
	for _, l := range h.Locks {
		if _, err := fmt.Fprintln(table, strings.Join(cells(l), "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}

// cells are a lock's line in the table.
func cells(l bridge.LockHealth) []string {
	const none = "-"
	state, battery, clock, codes, failed := "offline since "+local(l.LastSeen), none, none, none, none
	switch {
	case l.Online:
		state = "online, " + l.Bolt
	case l.LastSeen.IsZero():
		state = "offline, never heard"
	}
	if l.BatteryPercent != nil {
		battery = fmt.Sprintf("%d%%", *l.BatteryPercent)
	}
	if l.ClockOffset != nil {
		clock = l.ClockOffset.Round(time.Second).String()
	}
	if len(l.Slots) > 0 {
		codes = counted(l.Slots)
	}
	if len(l.Results) > 0 {
		codes += "; " + counted(l.Results)
	}
	if l.FailedTries > 0 {
		failed = fmt.Sprintf("%d since %s", l.FailedTries, local(l.FailingSince))
	}
	return []string{l.Address, l.Model, state, battery, clock, codes, failed}
}

// counted lists how many there are of each word; of the empty one nothing was heard yet.
func counted[W ~string](of map[W]int) string {
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d %s", of[word], orElse(string(word), "new")))
	}
	return strings.Join(parts, ", ")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

type doctor struct {
	hardware
}

var errUnwell = errors.New("not all is well; see what each line says to do")

// Run looks at everything a bridge needs, and says what to do about what is not well.
func (d *doctor) Run(ctx context.Context, c *commands) error {
	found := bridge.Examine(ctx, c.Dir)
	if h, err := bridge.AskHealth(ctx, c.Dir); err == nil {
		for _, l := range h.Locks {
			found = append(found, examineLock(l.Address, l.Model, l.Bolt, l.Online, l.LastSeen, l.BatteryPercent))
		}
	} else {
		found = append(found, d.locks(ctx, c)...)
	}
	return tell(text.Terminal(os.Stdout), found)
}

// tell lists what was found, and below what is not well what to do about it.
func tell(w io.Writer, found []bridge.Finding) (err error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range found {
		mark := "ok"
		if !f.Well {
			mark, err = "BAD", errUnwell
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", mark, f.What, f.Seen)
		if f.Advice != "" {
			_, _ = fmt.Fprintf(table, "\t\t→ %s\n", f.Advice)
		}
	}
	return join(table.Flush(), err)
}

// locks asks the driver itself, when no bridge runs that could be asked.
func (d *doctor) locks(ctx context.Context, c *commands) []bridge.Finding {
	f := bridge.Finding{What: "driver " + d.Driver}
	if d.Driver == "sim" {
		f.Well, f.Seen = true, "simulated locks; say --driver and its settings as for run to look at real ones"
		return []bridge.Finding{f}
	}
	drv, err := d.MQTT.open(slog.New(slog.DiscardHandler))
	if err != nil {
		f.Seen, f.Advice = err.Error(), "see latchkey-bridge run --help"
		return []bridge.Finding{f}
	}
	defer func() { _ = drv.Close() }()
	locks, err := drv.Locks(ctx)
	if err != nil {
		f.Seen, f.Advice = err.Error(), "see \"Symptoms\" in docs/bridge-guide.md"
		return []bridge.Finding{f}
	}
	f.Well, f.Seen = len(locks) > 0, fmt.Sprintf("locks found: %d", len(locks))
	if !f.Well {
		f.Advice = "pair a lock with Zigbee2MQTT; if one is there, its log says why the bridge leaves it out"
	}
	out := []bridge.Finding{f}
	for _, l := range locks {
		out = append(out, look(ctx, l))
	}
	return out
}

func look(ctx context.Context, l driver.Lock) bridge.Finding {
	s, err := l.Status(ctx)
	if err != nil {
		return bridge.Finding{What: "lock " + l.Address(), Seen: err.Error(), Advice: "see \"Symptoms\" in docs/bridge-guide.md"}
	}
	return examineLock(l.Address(), l.Model(), s.Bolt, s.Online, s.LastSeenAt, s.BatteryPercent)
}

const weakBattery = 20 // percent

func examineLock(address, model, bolt string, online bool, seen time.Time, battery *uint32) bridge.Finding {
	f := bridge.Finding{What: "lock " + address, Well: true, Seen: model + ", online"}
	switch {
	case !online && seen.IsZero():
		f.Well, f.Seen, f.Advice = false, model+", never heard", "press a key at the lock; if it stays unheard, pair it anew"
	case !online:
		f.Well, f.Seen = false, model+", offline since "+seen.Local().Format(time.DateTime)
		f.Advice = "look at its batteries first, then whether something stands between it and the radio"
	case bolt == string(slot.Jammed):
		f.Well, f.Seen = false, model+", online, jammed"
		f.Advice = "free the bolt at the door: until it moves, no code opens this lock"
	case battery != nil && *battery <= weakBattery:
		f.Well, f.Seen, f.Advice = false, fmt.Sprintf("%s, battery %d %%", model, *battery), "change its batteries"
	}
	return f
}
