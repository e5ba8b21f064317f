package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/text"
)

type doctor struct {
	hardware
}

var errChecksFailed = errors.New("some checks failed; each one says what to do")

// Run checks everything that a bridge needs, and prints how to fix what is wrong: latchkey-bridge doctor. It asks a running bridge for its
// locks, and opens the driver itself only if no bridge runs. It fails if a check does.
func (d *doctor) Run(ctx context.Context, c *commands) error {
	findings := agent.Examine(ctx, c.Dir)
	if h, err := agent.AskHealth(ctx, c.Dir); err == nil {
		for _, l := range h.Locks {
			findings = append(findings, examineLock(l))
		}
	} else if errors.Is(err, agent.ErrNotRunning) {
		findings = append(findings, d.checkDriver(ctx, func() ([]byte, error) { return agent.LastSettings(c.Dir) })...)
	}
	return printFindings(text.Terminal(os.Stdout), findings)
}

// printFindings prints the results of checks, each failed check with its advice. It returns errChecksFailed if one failed.
func printFindings(w io.Writer, findings []agent.Finding) (err error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		verdict := "ok"
		if !f.OK {
			verdict, err = "BAD", errChecksFailed
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", verdict, f.What, f.Detail)
		if f.Advice != "" {
			_, _ = fmt.Fprintf(table, "\t\t→ %s\n", f.Advice)
		}
	}
	return joinErrors(table.Flush(), err)
}

// checkDriver checks the driver and its locks while no bridge runs. With --driver it uses the flags. Without it, it uses the settings of
// the bridge's last run, which the parameter last loads, and of the flags only the password.
func (d *doctor) checkDriver(ctx context.Context, last func() ([]byte, error)) []agent.Finding {
	h, f := d.driverSettings(last)
	if f != nil {
		return []agent.Finding{*f}
	}
	return h.checkLocks(ctx)
}

const adviceToGiveDriver = "start the bridge, which stores its settings, or give doctor --driver and the settings as for run. " +
	"Those of the installed service are in /etc/latchkey-bridge.env, which only root can read"

// driverSettings returns the settings for checkDriver, or nil and a finding with the reason why they are unknown, such as a password that
// is not stored. stored returns the settings of the bridge's last run as JSON, or nil if no bridge ever ran.
func (d *doctor) driverSettings(stored func() ([]byte, error)) (*hardware, *agent.Finding) {
	if d.Driver != "" {
		return &d.hardware, nil
	}
	f := &agent.Finding{What: "driver", Advice: adviceToGiveDriver}
	raw, err := stored()
	switch {
	case err != nil:
		f.Detail = "the settings of the bridge's last run cannot be read: " + err.Error()
		return nil, f
	case raw == nil:
		f.Detail = "unknown: the bridge never ran on this directory"
		return nil, f
	}
	var last storedSettings
	if err := json.Unmarshal(raw, &last); err != nil {
		f.Detail = "the settings of the bridge's last run cannot be read: " + err.Error()
		return nil, f
	}
	h := last.Hardware
	if h.MQTT.Password = d.MQTT.Password; h.MQTT.PasswordFile == "" {
		h.MQTT.PasswordFile = d.MQTT.PasswordFile
	}
	if h.Driver == "zigbee2mqtt" && last.Password && h.MQTT.Password == "" && h.MQTT.PasswordFile == "" {
		f.What, f.Detail = "driver zigbee2mqtt", "the password of the MQTT broker "+h.MQTT.URL+" is unknown, so the broker was not asked: the bridge stores its settings without passwords"
		f.Advice = "start the bridge and run doctor again, or give LATCHKEY_MQTT_PASSWORD (the installed service has it in /etc/latchkey-bridge.env)"
		return nil, f
	}
	return &h, nil
}

// whereSettingsAre says where an installed bridge has its settings.
const whereSettingsAre = " (the installed service has them in /etc/latchkey-bridge.env)"

// checkLocks opens the driver with these settings, and checks the driver and each of its locks. A driver without locks fails the check. For
// simulated locks it checks nothing and reports success.
func (h *hardware) checkLocks(ctx context.Context) []agent.Finding {
	f := agent.Finding{What: "driver " + h.Driver}
	if h.Driver != "zigbee2mqtt" {
		f.OK, f.Detail = true, "simulated locks only. To check real locks, give --driver and its settings as for run"
		return []agent.Finding{f}
	}
	drv, err := h.MQTT.openDriver(slog.New(slog.DiscardHandler))
	if err != nil {
		f.Detail, f.Advice = err.Error(), "see latchkey-bridge run --help"
		return []agent.Finding{f}
	}
	defer func() { _ = drv.Close() }()
	locks, err := drv.Locks(ctx)
	if err != nil {
		f.Detail, f.Advice = err.Error(), h.MQTT.adviceFor(err.Error())
		return []agent.Finding{f}
	}
	f.OK, f.Detail = len(locks) > 0, fmt.Sprintf("locks found: %d", len(locks))
	if !f.OK {
		f.Advice = "pair a lock with Zigbee2MQTT; if one is paired, the log of latchkey-bridge says why it is left out"
	}
	out := []agent.Finding{f}
	for _, l := range locks {
		out = append(out, checkLock(ctx, l))
	}
	return out
}

// adviceFor returns what to do about an error of the driver for Zigbee2MQTT, by its text.
func (m *mqtt) adviceFor(detail string) string {
	refused := strings.Contains(detail, driver.RefusedLogin)
	switch {
	case refused && m.User == "":
		return "give the user and password that the broker has for this bridge: LATCHKEY_MQTT_USER and LATCHKEY_MQTT_PASSWORD" + whereSettingsAre
	case refused && m.Password == "" && m.PasswordFile == "":
		return "the user " + m.User + " has no password: set LATCHKEY_MQTT_PASSWORD, or LATCHKEY_MQTT_PASSWORD_FILE" + whereSettingsAre + ", and restart the bridge"
	case refused:
		return "compare LATCHKEY_MQTT_USER and LATCHKEY_MQTT_PASSWORD" + whereSettingsAre + ", with what was given to mosquitto_passwd"
	case strings.Contains(detail, "MQTT 5"):
		return "update the broker to a version with MQTT 5 (Mosquitto: since 1.6), and check that " + m.URL + " is an MQTT broker"
	case strings.Contains(detail, "certificate"):
		return "check LATCHKEY_MQTT_CA, the CA of the broker's certificate, and LATCHKEY_MQTT_CERT if the broker asks for a certificate" + whereSettingsAre
	case strings.Contains(detail, "Zigbee2MQTT"):
		return "start Zigbee2MQTT (systemctl status zigbee2mqtt), and give its base_topic in LATCHKEY_MQTT_BASE if it is not " + m.Base
	case strings.Contains(detail, "no connection to the MQTT broker"):
		return "start the broker (systemctl status mosquitto), and check its address in LATCHKEY_MQTT_URL" + whereSettingsAre
	}
	return "check that the broker and Zigbee2MQTT run: systemctl status mosquitto zigbee2mqtt"
}

// checkLock asks the driver for the status of a lock, and judges it with examineLock.
func checkLock(ctx context.Context, l driver.Lock) agent.Finding {
	s, err := l.Status(ctx)
	if err != nil {
		return agent.Finding{What: "lock " + l.Address(), Detail: err.Error(), Advice: "check that Zigbee2MQTT runs (systemctl status zigbee2mqtt), then the lock's batteries, and run doctor again"}
	}
	return examineLock(agent.LockHealth{
		Address: l.Address(), Name: s.Name, Model: l.Model(), Bolt: s.Bolt, Online: s.Online, OfflineCause: s.OfflineCause,
		LastSeen: s.LastSeenAt, BatteryPercent: s.BatteryPercent,
	})
}

const weakBattery = 20 // percentage at or below which a battery should be changed

// examineLock judges the state of a lock, as reported by a running bridge or the driver: unreachable, jammed, with a weak battery (the
// first of these that is true), or OK.
func examineLock(l agent.LockHealth) agent.Finding {
	f := agent.Finding{What: "lock " + lockTitle(l), OK: true, Detail: l.Model + ", online"}
	switch {
	case causeTexts[l.OfflineCause] != "" && !l.Online:
		f.OK, f.Detail, f.Advice = false, l.Model+", unknown: "+causeTexts[l.OfflineCause], "see the line of the driver"
	case !l.Online && l.LastSeen.IsZero():
		f.OK, f.Detail, f.Advice = false, l.Model+", never seen", "press a key at the lock; if the bridge still does not see it, pair it again"
	case !l.Online:
		f.OK, f.Detail = false, l.Model+", offline since "+agent.FormatTime(l.LastSeen)
		f.Advice = "check its batteries first, then whether something blocks the radio"
	case l.Bolt == string(slot.Jammed):
		f.OK, f.Detail = false, l.Model+", online, jammed"
		f.Advice = "free the bolt at the door: until it moves, no code opens this lock"
	case l.BatteryPercent != nil && *l.BatteryPercent <= weakBattery:
		f.OK, f.Detail, f.Advice = false, fmt.Sprintf("%s, battery %d %%", l.Model, *l.BatteryPercent), "change its batteries"
	}
	return f
}
