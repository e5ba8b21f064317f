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

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bridge/driver/zigbee2mqtt/z2mtest"
	"latchkey.dev/internal/lock/slot"
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

func TestSettingsOfTheBrokerThatCannotBe(t *testing.T) {
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
		if d, err := m.open(discard()); err == nil {
			t.Errorf("%s: was taken", name)
			_ = d.Close()
		}
	}
}

func TestTheDoctorLooksAtRealLocks(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	z2mtest.Start(t, broker, "zigbee2mqtt", z2mtest.Lock{Address: "0x00158d0000000001", Name: "front", Users: 21})
	look := func(m mqtt) []bridge.Finding {
		d := doctor{hardware{Driver: "zigbee2mqtt", MQTT: m}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return d.locks(ctx, &commands{})
	}
	found := look(mqtt{URL: "mqtt://" + broker.Addr})
	if len(found) != 2 || !found[0].Well || found[0].Seen != "1 locks" || !strings.Contains(found[1].What, "0x00158d0000000001") {
		t.Errorf("%+v", found)
	}
	for name, m := range map[string]mqtt{
		"another base": {URL: "mqtt://" + broker.Addr, Base: "elsewhere"},
		"no broker":    {URL: "mqtt://127.0.0.1:1"},
		"no sense":     {URL: "x"},
	} {
		if found := look(m); len(found) != 1 || found[0].Well || found[0].Advice == "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestWhatIsSaidOfLocks(t *testing.T) {
	full, weak := uint32(90), uint32(12)
	now := time.Now()
	for _, tt := range []struct {
		online  bool
		seen    time.Time
		battery *uint32
		advice  string
	}{
		{true, now, &full, ""},
		{true, now, nil, ""},
		{true, now, &weak, "batteries"},
		{false, now, &full, "batteries"},
		{false, time.Time{}, nil, "press a key"},
	} {
		f := examineLock("front", "M1", tt.online, tt.seen, tt.battery)
		if f.Well != (tt.advice == "") || !strings.Contains(f.Advice, tt.advice) {
			t.Errorf("%+v: %+v", tt, f)
		}
	}
	var text strings.Builder
	describe(&text, bridge.Health{BridgeID: "brg_1", Trouble: "the name is not known", Locks: []bridge.LockHealth{
		{Address: "front", Model: "M1", Online: true, Bolt: "locked", BatteryPercent: &full, Slots: map[slot.Evidence]int{"verified": 3}},
		{Address: "back", Model: "M2"},
	}})
	for _, want := range []string{"brg_1", "no session: the name is not known", "front, M1, online, locked, battery 90 %, 3 verified", "back, M2, offline, never heard"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

func TestASimulatedHouseWithAScript(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(`{"at":"0s","lock":"front","deed":"jams"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := house{Locks: map[string]string{"front": "zwave"}, Keypads: "127.0.0.1:0", Script: script}
	drv, stop, err := s.open(t.Context(), dir, discard())
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
	s.Script = filepath.Join(dir, "none")
	if _, _, err := s.open(t.Context(), dir, discard()); err == nil {
		t.Error("a script that is not there was played")
	}
}
