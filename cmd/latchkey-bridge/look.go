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
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bridge/driver"
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
	describe(os.Stdout, h)
	return nil
}

func (s *status) stopped(c *commands) error {
	id, connect, until, err := bridge.Enrolled(c.Dir)
	if err != nil {
		return err
	}
	if s.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"bridgeId": id, "service": connect, "certificateUntil": until, "running": false})
	}
	_, err = fmt.Fprintf(os.Stdout, "bridge       %s\nservice      %s\ncertificate  until %s\nrunning      no\n", id, connect, until.Format(time.RFC3339))
	return err
}

func describe(w io.Writer, h bridge.Health) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("bridge", "%s, %s, running since %s", h.BridgeID, h.Software, h.Started.Local().Format(time.DateTime))
	if h.Epoch > 0 {
		line("service", "%s, in session since %s", h.Service, h.Since.Local().Format(time.DateTime))
	} else {
		line("service", "%s, no session: %s", h.Service, orElse(h.Trouble, "not yet"))
	}
	line("clock", "%s, %v from the service's", h.ClockQuality, h.ClockOffset.Round(time.Millisecond))
	line("certificate", "until %s", h.CertificateUntil.Format(time.RFC3339))
	line("events", "%d not yet delivered", h.EventsWaiting)
	for _, l := range h.Locks {
		line("lock", "%s", describeLock(l))
	}
}

func describeLock(l bridge.LockHealth) string {
	parts := []string{l.Address, l.Model}
	switch {
	case l.Online:
		parts = append(parts, "online", l.Bolt)
	case l.LastSeen.IsZero():
		parts = append(parts, "offline, never heard")
	default:
		parts = append(parts, "offline since "+l.LastSeen.Local().Format(time.DateTime))
	}
	if l.BatteryPercent != nil {
		parts = append(parts, fmt.Sprintf("battery %d %%", *l.BatteryPercent))
	}
	for _, e := range slices.Sorted(maps.Keys(l.Slots)) {
		parts = append(parts, fmt.Sprintf("%d %s", l.Slots[e], orElse(string(e), "unknown")))
	}
	for _, r := range slices.Sorted(maps.Keys(l.Results)) {
		parts = append(parts, fmt.Sprintf("%d × %s", l.Results[r], r))
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
			found = append(found, examineLock(l.Address, l.Model, l.Online, l.LastSeen, l.BatteryPercent))
		}
	} else {
		found = append(found, d.locks(ctx, c)...)
	}
	well := true
	for _, f := range found {
		mark := "ok "
		if !f.Well {
			mark, well = "BAD", false
		}
		_, _ = fmt.Fprintf(os.Stdout, "%s  %-22s %s\n", mark, f.What, f.Seen)
		if f.Advice != "" {
			_, _ = fmt.Fprintf(os.Stdout, "     %-22s → %s\n", "", f.Advice)
		}
	}
	if !well {
		return errUnwell
	}
	return nil
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
	f.Well, f.Seen = len(locks) > 0, fmt.Sprintf("%d locks", len(locks))
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
	return examineLock(l.Address(), l.Model(), s.Online, s.LastSeenAt, s.BatteryPercent)
}

const weakBattery = 20 // percent

func examineLock(address, model string, online bool, seen time.Time, battery *uint32) bridge.Finding {
	f := bridge.Finding{What: "lock " + address, Well: true, Seen: model + ", online"}
	switch {
	case !online && seen.IsZero():
		f.Well, f.Seen, f.Advice = false, model+", never heard", "press a key at the lock; if it stays unheard, pair it anew"
	case !online:
		f.Well, f.Seen = false, model+", offline since "+seen.Local().Format(time.DateTime)
		f.Advice = "look at its batteries first, then whether something stands between it and the radio"
	case battery != nil && *battery <= weakBattery:
		f.Well, f.Seen, f.Advice = false, fmt.Sprintf("%s, battery %d %%", model, *battery), "change its batteries"
	}
	return f
}
