package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

// parsed reads a command line as main does.
func parsed(t *testing.T, args ...string) commands {
	t.Helper()
	var c commands
	parser, err := kong.New(&c, kong.Vars{"version": version}, kong.Exit(func(int) { t.Fatal("exits") }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestSettingsOfTheBroker(t *testing.T) {
	const lock = "0x00158d0000000001:slots=30,pin=4-8,read=no"
	t.Setenv("LATCHKEY_MQTT_PASSWORD", "from the environment")
	t.Setenv("LATCHKEY_BRIDGE_DRIVER", "zigbee2mqtt")
	c := parsed(t, "run", "--mqtt-url", "mqtts://broker.lan", "--mqtt-base", "house/zigbee", "--mqtt-user", "bridge",
		"--mqtt-lock", lock, "--mqtt-lock", "0x00158d0000000002:slots=4")
	m := c.Run.MQTT
	if c.Run.Driver != "zigbee2mqtt" || m.URL != "mqtts://broker.lan" || m.Base != "house/zigbee" || m.User != "bridge" || m.Password != "from the environment" {
		t.Errorf("%+v", c.Run.hardware)
	}
	if len(m.Lock) != 2 || m.Lock[0] != lock {
		t.Errorf("locks %q", m.Lock)
	}
}

func TestInvalidSettingsOfTheBroker(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]mqtt{
		"plaintext to elsewhere": {URL: "mqtt://192.0.2.1"},
		"no URL":                 {URL: "broker"},
		"a wildcard as base":     {URL: "mqtt://localhost", Base: "z/#"},
		"no password file":       {URL: "mqtt://localhost", PasswordFile: filepath.Join(dir, "none")},
		"no CA file":             {URL: "mqtts://localhost", CA: filepath.Join(dir, "none")},
		"a CA of junk":           {URL: "mqtts://localhost", CA: junk},
		"a certificate of junk":  {URL: "mqtts://localhost", Cert: junk, Key: junk},
		"half a lock":            {URL: "mqtt://localhost", Lock: []string{"front:slots=3"}},
	} {
		if d, err := m.openDriver(discard()); err == nil {
			t.Errorf("%s: was taken", name)
			_ = d.Close()
		}
	}
}

func TestDoctorChecksRealLocks(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	z2mtest.Start(t, broker, "zigbee2mqtt", z2mtest.Lock{Address: "0x00158d0000000001", Name: "front", Users: 21})
	look := func(m mqtt) []agent.Finding {
		d := doctor{hardware{Driver: "zigbee2mqtt", MQTT: m}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return d.checkDriver(ctx, nil)
	}
	found := look(mqtt{URL: "mqtt://" + broker.Addr})
	if len(found) != 2 || !found[0].OK || found[0].Detail != "locks found: 1" || found[1].What != "lock front (0x00158d0000000001)" {
		t.Errorf("%+v", found)
	}
	for name, m := range map[string]mqtt{
		"another base": {URL: "mqtt://" + broker.Addr, Base: "elsewhere"},
		"no broker":    {URL: "mqtt://127.0.0.1:1"},
		"no sense":     {URL: "x"},
	} {
		if found := look(m); len(found) != 1 || found[0].OK || found[0].Advice == "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestFindingsOfLocks(t *testing.T) {
	full, weak := uint32(90), uint32(12)
	now := time.Now()
	for _, tt := range []struct {
		online  bool
		seen    time.Time
		battery *uint32
		bolt    string
		cause   string
		advice  string
	}{
		{true, now, &full, "locked", "", ""},
		{true, now, nil, "", "", ""},
		{true, now, &weak, "locked", "", "batteries"},
		{false, now, &full, "locked", "", "batteries"},
		{false, now, &full, "locked", slot.BrokerUnreachable, "line of the driver"},
		{false, time.Time{}, nil, "", slot.GatewayOffline, "line of the driver"},
		{false, time.Time{}, nil, "", "", "press a key"},
		{true, now, &full, "jammed", "", "free the bolt"},
	} {
		f := examineLock(agent.LockHealth{
			Address: "front", Model: "M1", Bolt: tt.bolt, Online: tt.online, OfflineCause: tt.cause, LastSeen: tt.seen, BatteryPercent: tt.battery,
		})
		if f.OK != (tt.advice == "") || !strings.Contains(f.Advice, tt.advice) {
			t.Errorf("%+v: %+v", tt, f)
		}
	}
}

// inUTC sets the machine's time zone to UTC during a test.
func inUTC(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
}

func TestStatusShowsEverything(t *testing.T) {
	inUTC(t)
	full := uint32(90)
	behind := -3 * time.Second
	at := time.Date(2026, 11, 21, 11, 8, 7, 0, time.Local)
	var text strings.Builder
	err := printHealth(&text, agent.Health{
		BridgeID: "brg_1", PropertyID: "prp_1", Software: "latchkey-bridge/1.2", Service: "bridges.example.com:7090", Trouble: "the name is not known",
		Started: at, CertificateUntil: at, ClockQuality: "drifting", EventsWaiting: 12, Ready: true,
		Connection: &agent.ConnectionHealth{Peer: "MQTT broker 127.0.0.1:1883", Since: at},
		Locks: []agent.LockHealth{
			{Address: "0x00158d0001a2b3c4", Name: "room 101", Model: "M1", Online: true, Bolt: "locked", BatteryPercent: &full, ClockOffset: &behind,
				Codes: map[slot.Evidence]int{"verified": 3}, EmptySlots: 2, Changing: map[slot.Evidence]int{"sent": 1, "": 2}, Results: map[slot.Result]int{slot.Busy: 1}, FailedTries: 4, FailingSince: at},
			{Address: "back", Model: "M2", LastSeen: at},
			{Address: "side", Model: "M3", EmptySlots: 1},
			{Address: "gate", Model: "M5", Online: true, Bolt: "locked", KeypadPausedUntil: at},
			{Address: "cellar", Model: "M4", LastSeen: at, OfflineCause: slot.BrokerUnreachable},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `bridge       brg_1 of prp_1, latchkey-bridge/1.2
running      since 2026-11-21 11:08:07 UTC
driver       connected to the MQTT broker 127.0.0.1:1883 since 2026-11-21 11:08:07 UTC
server       bridges.example.com:7090, no session: the name is not known
clock        drifting, not compared with the server's yet
certificate  until 2026-11-21 11:08:07 UTC
events       12 not yet delivered

LOCK                           MODEL  STATE                                                        BATTERY  CLOCK  CODES                                                 FAILED TRIES
room 101 (0x00158d0001a2b3c4)  M1     online, locked                                               90%      -3s    3 verified, 2 empty; changing: 2 new, 1 sent; 1 busy  4 since 2026-11-21 11:08:07 UTC
back                           M2     offline since 2026-11-21 11:08:07 UTC                        -        -      no code                                               -
side                           M3     offline, never seen                                          -        -      no code, 1 empty                                      -
gate                           M5     online, locked, keypad paused until 2026-11-21 11:08:07 UTC  -        -      no code                                               -
cellar                         M4     unknown, no connection to the MQTT broker                    -        -      no code                                               -
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfABridgeThatWaitsForItsLocks(t *testing.T) {
	inUTC(t)
	at := time.Date(2026, 11, 21, 11, 8, 7, 0, time.Local)
	var text strings.Builder
	if err := printHealth(&text, agent.Health{Started: at, Connection: &agent.ConnectionHealth{
		Cause: slot.BrokerUnreachable, Detail: "no connection to the MQTT broker 127.0.0.1:1883: connection refused", Since: at,
	}}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"running      since 2026-11-21 11:08:07 UTC, waiting for its locks\n",
		"driver       no connection to the MQTT broker 127.0.0.1:1883: connection refused, since 2026-11-21 11:08:07 UTC\n",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is missing in\n%s", line, text.String())
		}
	}
}

// The settings of an installed bridge are in a file that only root can read.
func TestDoctorUsesTheSettingsOfTheLastRun(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	z2mtest.Start(t, broker, "zigbee2mqtt", z2mtest.Lock{Address: "0x00158d0000000001", Name: "front", Users: 21})
	ran := func(h hardware) func() ([]byte, error) {
		settings, err := h.encodeSettings()
		if h.MQTT.Password != "" && strings.Contains(string(settings), h.MQTT.Password) {
			t.Errorf("the password is stored: %s", settings)
		}
		return func() ([]byte, error) { return settings, err }
	}
	open := hardware{Driver: "zigbee2mqtt", MQTT: mqtt{URL: "mqtt://" + broker.Addr}}
	secured := open
	secured.MQTT.User, secured.MQTT.Password = "u", "hush-hush"
	for name, tt := range map[string]struct {
		given doctor
		last  func() ([]byte, error)
		found int
		what  string
		seen  string
	}{
		"without a password":            {doctor{}, ran(open), 2, "driver zigbee2mqtt", "locks found: 1"},
		"with a password":               {doctor{}, ran(secured), 1, "driver zigbee2mqtt", "password"},
		"with the password given again": {doctor{hardware{MQTT: secured.MQTT}}, ran(secured), 2, "driver zigbee2mqtt", "locks found: 1"},
		"simulated":                     {doctor{}, ran(hardware{Driver: "sim"}), 1, "driver sim", "simulated"},
		"never ran":                     {doctor{}, func() ([]byte, error) { return nil, nil }, 1, "driver", "never ran"},
		"a store that cannot be read":   {doctor{}, func() ([]byte, error) { return nil, io.ErrUnexpectedEOF }, 1, "driver", "cannot be read"},
	} {
		found := tt.given.checkDriver(t.Context(), tt.last)
		well := tt.found == 2 || tt.what == "driver sim"
		if len(found) != tt.found || found[0].OK != well || found[0].What != tt.what || !strings.Contains(found[0].Detail, tt.seen) || !well && found[0].Advice == "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestSimulatedLocksWithAScript(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(`{"at":"0s","lock":"front","deed":"jams"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := simulation{Locks: map[string]string{"front": "zwave"}, Keypads: "127.0.0.1:0", Script: script}
	drv, stop, err := s.openDriver(t.Context(), dir, discard())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-drv.Events():
		if e.Kind != "jammed" {
			t.Errorf("%+v", e)
		}
	case <-time.After(10 * time.Second):
		t.Error("the script is not played")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(script, []byte(`{"at":"1h","lock":"fron","deed":"jams"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.openDriver(t.Context(), dir, discard()); err == nil || !strings.Contains(err.Error(), "the locks are front") {
		t.Errorf("a script of an unknown lock: %v", err)
	}
	s.Script = filepath.Join(dir, "none")
	if _, _, err := s.openDriver(t.Context(), dir, discard()); err == nil {
		t.Error("a script that is not there was played")
	}
}

// --sim-house is the former name of --sim-site.
func TestFormerNamesOfFlags(t *testing.T) {
	for _, name := range []string{"--sim-site", "--sim-house"} {
		if c := parsed(t, "run", name, "http://127.0.0.1:1"); c.Run.Sim.Site != "http://127.0.0.1:1" {
			t.Errorf("%s: %q", name, c.Run.Sim.Site)
		}
	}
}

func TestServedSimulatedLocksTakeNoOtherFlag(t *testing.T) {
	s := simulation{Site: "http://127.0.0.1:1", Locks: map[string]string{"front": "zwave"}}
	if _, _, err := s.openDriver(t.Context(), t.TempDir(), discard()); err == nil || !strings.Contains(err.Error(), "--sim-site") {
		t.Errorf("two sorts of simulated locks at once: %v", err)
	}
}
