package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/text"
)

type status struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the state of the running bridge. If none runs, it prints what is stored: the bridge's id, server and certificate.
func (s *status) Run(ctx context.Context, c *commands) error {
	h, err := agent.AskHealth(ctx, c.Dir)
	switch {
	case errors.Is(err, agent.ErrNotRunning):
		return s.printStopped(c)
	case err != nil:
		return err
	case s.JSON:
		return json.NewEncoder(os.Stdout).Encode(struct {
			agent.Health
			Running bool `json:"running"`
		}{h, true})
	}
	return printHealth(text.Terminal(os.Stdout), h)
}

// printStopped prints what is stored about an enrolled bridge that does not run. It fails if no bridge is enrolled.
func (s *status) printStopped(c *commands) error {
	id, connect, until, err := agent.Enrolled(c.Dir)
	if err != nil {
		return err
	}
	if s.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"bridgeId": id, "service": connect, "certificateUntil": until, "running": false})
	}
	_, err = fmt.Fprintf(os.Stdout, "bridge       %s\nrunning      no\nserver       %s\ncertificate  until %s\n", id, connect, agent.FormatTime(until))
	return err
}

// printHealth prints the state of a running bridge and a table of its locks.
func printHealth(w io.Writer, h agent.Health) error {
	running := "since " + agent.FormatTime(h.Started)
	if !h.Ready {
		running += ", waiting for its locks"
	}
	session := "in session since " + agent.FormatTime(h.Since)
	if h.Epoch == 0 {
		session = "no session: " + orElse(h.Trouble, "not yet")
	}
	offset := "not compared with the server's yet"
	if h.ClockOffset != 0 {
		offset = fmt.Sprintf("%v from the server's", h.ClockOffset.Round(time.Millisecond))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][]string{
		{"bridge", h.BridgeID + " of " + h.PropertyID + ", " + h.Software},
		{"running", running},
		{"driver", describeConnection(h.Connection)},
		{"server", h.Service + ", " + session},
		{"clock", h.ClockQuality + ", " + offset},
		{"certificate", "until " + agent.FormatTime(h.CertificateUntil)},
		{"events", fmt.Sprintf("%d not yet delivered", h.EventsWaiting)},
		{},
		{"LOCK", "MODEL", "STATE", "BATTERY", "CLOCK", "CODES", "FAILED TRIES"},
	} {
		if len(line) == 2 && line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintln(table, strings.Join(line, "\t")); err != nil {
			return err
		}
	}
	for _, l := range h.Locks {
		if _, err := fmt.Fprintln(table, strings.Join(lockRow(l), "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}

// describeConnection describes the driver's connection to another program, such as an MQTT broker, or why it is lost. It returns "" if the
// driver needs none.
func describeConnection(c *agent.ConnectionHealth) string {
	switch {
	case c == nil:
		return ""
	case c.Cause == "":
		return "connected to the " + c.Peer + " since " + agent.FormatTime(c.Since)
	}
	return c.Detail + ", since " + agent.FormatTime(c.Since)
}

// causeTexts maps the cause of a lost connection of the driver to text: why no lock can be reached.
var causeTexts = map[string]string{
	slot.BrokerUnreachable: "no connection to the MQTT broker",
	slot.GatewayOffline:    "Zigbee2MQTT does not run",
}

// lockTitle returns the name and address of a lock.
func lockTitle(l agent.LockHealth) string {
	if l.Name == "" || l.Name == l.Address {
		return l.Address
	}
	return l.Name + " (" + l.Address + ")"
}

// lockRow returns the row of a lock in the table of printHealth.
func lockRow(l agent.LockHealth) []string {
	const none = "-"
	state, battery, clock, failed := "offline since "+agent.FormatTime(l.LastSeen), none, none, none
	switch {
	case l.Online:
		state = "online, " + l.Bolt
	case causeTexts[l.OfflineCause] != "":
		state = "unknown, " + causeTexts[l.OfflineCause]
	case l.LastSeen.IsZero():
		state = "offline, never seen"
	}
	if !l.KeypadPausedUntil.IsZero() {
		state += ", keypad paused until " + agent.FormatTime(l.KeypadPausedUntil)
	}
	if l.BatteryPercent != nil {
		battery = fmt.Sprintf("%d%%", *l.BatteryPercent)
	}
	if l.ClockOffset != nil {
		clock = l.ClockOffset.Round(time.Second).String()
	}
	if l.FailedTries > 0 {
		failed = fmt.Sprintf("%d since %s", l.FailedTries, agent.FormatTime(l.FailingSince))
	}
	return []string{lockTitle(l), l.Model, state, battery, clock, describeCodes(l), failed}
}

// describeCodes describes the codes of a lock: how many it holds, how many slots are empty, how many codes are changing, and the results of
// operations. Codes are counted by evidence, which is how well it is known that the lock holds them.
func describeCodes(l agent.LockHealth) string {
	held := 0
	for _, n := range l.Codes {
		held += n
	}
	out := "no code"
	if held > 0 {
		out = formatCounts(l.Codes)
	}
	if l.EmptySlots > 0 {
		out += fmt.Sprintf(", %d empty", l.EmptySlots)
	}
	if len(l.Changing) > 0 {
		out += "; changing: " + formatCounts(l.Changing)
	}
	if len(l.Results) > 0 {
		out += "; " + formatCounts(l.Results)
	}
	return out
}

// formatCounts formats the number of each word, such as "3 verified, 1 queued". The empty word is shown as "new": the lock has not answered
// yet.
func formatCounts[W ~string](of map[W]int) string {
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d %s", of[word], orElse(string(word), "new")))
	}
	return strings.Join(parts, ", ")
}

// orElse returns s, or other if s is empty.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
