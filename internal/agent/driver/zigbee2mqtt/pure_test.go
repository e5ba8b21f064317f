package zigbee2mqtt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

func TestTopics(t *testing.T) {
	for base, ok := range map[string]bool{
		"zigbee2mqtt": true, "house/3rd floor/zigbee": true, "": false, "/z": false, "z/": false, "a//b": false, "z/#": false,
		"z/+/a": false, "$SYS/z": false, "z\x00": false, "z\xff": false, strings.Repeat("z", 600): false,
	} {
		if err := checkBase(base); (err == nil) != ok {
			t.Errorf("base %.20q: %v", base, err)
		}
	}
	for name, ok := range map[string]bool{
		"front": true, "ground floor/front": true, "0x00158d0000000001": true, "bridged/front": true, "setting": true, "Tür 3 🚪": true,
		"": false, "bridge": false, "bridge/state": false, "front/set": false, "front/set/pin_code": false, "get": false,
		"front/availability": false, "front/+": false, "#": false, "front/": false, "a\nb": false,
	} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestAddressesOfBrokers(t *testing.T) {
	for _, tt := range []struct {
		c    Config
		host string
	}{
		{Config{URL: "mqtt://localhost"}, "localhost:1883"},
		{Config{URL: "mqtt://[::1]:1884"}, "[::1]:1884"},
		{Config{URL: "mqtts://broker.lan"}, "broker.lan:8883"},
		{Config{URL: "mqtt://broker.lan", Insecure: true}, "broker.lan:1883"},
		{Config{URL: "mqtt://broker.lan"}, ""},
		{Config{URL: "mqtt://192.0.2.1"}, ""},
		{Config{URL: "mqtt://user:secret@localhost"}, ""},
		{Config{URL: "http://localhost"}, ""},
		{Config{URL: "mqtt://"}, ""},
		{Config{URL: "localhost:1883"}, ""},
		{Config{}, ""},
	} {
		host, _, err := brokerAddress(tt.c)
		if host != tt.host || (err == nil) != (tt.host != "") {
			t.Errorf("%s: %q %v", tt.c.URL, host, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Error("the password is in the error")
		}
	}
}

func TestTunings(t *testing.T) {
	for s, want := range map[string]Tuning{
		front + ":slots=30,pin=4-10,read=no": {Slots: 30, PINMin: 4, PINMax: 10, NoRead: true},
		front + ":slots=4":                   {Slots: 4},
		front + ":read=yes":                  {},
	} {
		if address, got, err := ParseTuning(s); err != nil || address != front || got != want {
			t.Errorf("%s: %s %+v %v", s, address, got, err)
		}
	}
	for _, s := range []string{"", front, "front:slots=3", front + ":slots=0", front + ":slots=many", front + ":pin=8-4", front + ":pin=4", front + ":read=perhaps", front + ":colour=red"} {
		if _, _, err := ParseTuning(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestReports(t *testing.T) {
	eighty, seven, yes := uint32(80), uint32(7), true
	for in, want := range map[string]report{
		`{"state":"LOCK","lock_state":"not_fully_locked","battery":80.5,"battery_low":true,"tamper":true,"door_state":"open"}`: {
			bolt: "notFullyLocked", battery: &eighty, low: &yes, tamper: &yes, door: "open"},
		`{"state":"UNLOCK","action":"unlock","action_user":7,"action_source_name":"keypad"}`:  {bolt: "unlocked", action: "unlock", user: &seven, source: "keypad"},
		`{"action":null,"action_user":-1,"battery":"full","state":5,"users":[]}`:              {},
		`{"last_successful_pincode_save":1763690000123,"last_successful_pincode_clear":null}`: {saved: "1763690000123"},
		`{"last_successful_pincode_save":"1763690000123"}`:                                    {saved: "1763690000123"},
		`{"last_seen":1763690000123}`:                                                         {lastSeen: time.UnixMilli(1763690000123)},
		`{"last_seen":"2026-11-21T02:00:00+00:00"}`:                                           {lastSeen: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)},
		`{"users":{"1":{"status":"enabled","pin_code":"0456"},"2":{"status":"available"},"x":{},"3":{"status":"not_supported_255"}}}`: {
			users: map[uint32]user{1: {"enabled", "0456"}, 2: {"available", ""}, 3: {"not_supported_255", ""}}},
		`{"users":{"1":{"status":"enabled","pin_code":{"type":"Buffer","data":[48,52,53,54]}},"2":{"status":"enabled","pin_code":456},"3":{"status":"enabled","pin_code":[48,49,50,51]},"4":{"status":"enabled","pin_code":{"data":[255]}}}}`: {
			users: map[uint32]user{1: {"enabled", "0456"}, 2: {"enabled", ""}, 3: {"enabled", "0123"}, 4: {"enabled", ""}}},
	} {
		got, ok := parseState([]byte(in))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(report{}, user{}), cmp.Comparer(func(a, b slot.PIN) bool { return string(a) == string(b) })); diff != "" || !ok {
			t.Errorf("%s: %s", in, diff)
		}
	}
	for _, in := range []string{"", "null", "online", "[]", `{"a":`, `"x"`, "{" + strings.Repeat(" ", maxReport) + "}"} {
		if _, ok := parseState([]byte(in)); ok {
			t.Errorf("%.20q was read", in)
		}
	}
}

func TestActions(t *testing.T) {
	for in, want := range map[string]driver.Event{
		`{"action":"unlock","action_source_name":"keypad","action_user":3}`:               {Kind: driver.Opened, Slot: 3},
		`{"action":"unlock","action_source_name":"keypad","action_user":0}`:               {Kind: driver.Opened},
		`{"action":"unlock","action_source_name":"keypad","action_user":65535}`:           {Kind: driver.Opened},
		`{"action":"keypad_unlock","action_user":3}`:                                      {Kind: driver.Opened, Slot: 3},
		`{"action":"unlock","action_source_name":"rfid","action_user":3}`:                 {Kind: driver.Opened},
		`{"action":"unlock","action_source_name":"rf"}`:                                   {},
		`{"action":"zigbee_unlock"}`:                                                      {},
		`{"action":"unlock","action_source_name":"manual"}`:                               {Kind: driver.UnlockedByHand},
		`{"action":"manual_unlock"}`:                                                      {Kind: driver.UnlockedByHand},
		`{"action":"key_unlock"}`:                                                         {Kind: driver.UnlockedByHand},
		`{"action":"key_lock"}`:                                                           {Kind: driver.LockedByHand},
		`{"action":"one_touch_lock"}`:                                                     {Kind: driver.LockedByHand},
		`{"action":"auto_lock"}`:                                                          {},
		`{"action":"unlock_failure_invalid_pin_or_id","action_user":3}`:                   {Kind: driver.Denied, Reason: "wrongPin"},
		`{"action":"unlock_failure_invalid_schedule","action_user":3}`:                    {Kind: driver.Denied, Slot: 3, Reason: "outsideWindow"},
		`{"action":"non_access_user_operational_event","action_user":3}`:                  {Kind: driver.Denied, Slot: 3, Reason: "notAllowed"},
		`{"action":"pin_code_added","action_user":3,"action_source_name":"keypad"}`:       {Kind: driver.SlotChanged, Slot: 3},
		`{"action":"pin_code_deleted","action_user":65535,"action_source_name":"manual"}`: {Kind: driver.SlotChanged},
		`{"action":"pin_code_added","action_user":3,"action_source_name":"rf"}`:           {},
		`{"action":"master_code_changed","action_source_name":"keypad"}`:                  {Kind: driver.Tampered, Reason: "master_code_changed"},
		`{"action":""}`:              {},
		`{"action":"something_new"}`: {},
	} {
		r, _ := parseState([]byte(in))
		e, ok := eventOf(r, 20)
		if !ok {
			e = driver.Event{}
		}
		if diff := cmp.Diff(want, e); diff != "" || ok != (want.Kind != "") {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

func TestMaliciousDeviceNamesAreRefused(t *testing.T) {
	lock := func(address, name string) string {
		return `{"ieee_address":"` + address + `","friendly_name":` + quoted(name) + `,"definition":{"model":"M","exposes":[{"type":"lock","features":[{"property":"state","access":7}]}]}}`
	}
	payload := "[" + strings.Join([]string{
		lock(front, "front"), lock(back, "front"), lock(front, "other"), lock("0x00158D00000000FF", "upper"), lock("../bridge", "x"),
		lock("0x00158d0000000003", "front/set"), lock("0x00158d0000000004", "+"), lock("0x00158d0000000005", "bridge/state"),
		`{"ieee_address":"0x00158d0000000006","friendly_name":"lamp","definition":{"exposes":[{"type":"light"}]}}`,
		`{"ieee_address":"0x00158d0000000007","friendly_name":"unsupported","definition":null}`,
		`{"ieee_address":"0x00158d0000000008","friendly_name":"off","disabled":true,"definition":{"exposes":[{"type":"lock"}]}}`,
	}, ",") + "]"
	d, err := discover([]byte(payload), nil, func(string) bool { return false }, time.Second)
	if err != nil || len(d.locks) != 1 || d.locks[front].name != "front" || len(d.refused) != 7 {
		t.Errorf("%d locks, refused %q, %v", len(d.locks), d.refused, err)
	}
	for _, junk := range []string{"", "{}", "null2", `[{"ieee_address":5}]`} {
		if _, err := discover([]byte(junk), nil, func(string) bool { return false }, time.Second); err == nil {
			t.Errorf("%q was read", junk)
		}
	}
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

func TestSlotsFromTheUserRange(t *testing.T) {
	payload := `[{"ieee_address":"` + front + `","friendly_name":"f","definition":{"exposes":[{"type":"lock","features":[]},
		{"type":"composite","property":"pin_code","access":3,"features":[{"property":"user","value_max":29}]},{"property":"door_state","access":1}]}}]`
	for _, tt := range []struct {
		t    Tuning
		want int
	}{{Tuning{}, 29}, {Tuning{Slots: 10}, 10}} {
		d, err := discover([]byte(payload), map[string]Tuning{front: tt.t}, func(string) bool { return true }, time.Second)
		c := d.locks[front].caps
		if err != nil || c.Slots != tt.want || c.ReadBack || c.Readable != slot.ReadableNone || !c.DoorSensor {
			t.Errorf("%+v: %+v %v", tt.t, c, err)
		}
	}
}

func TestWhoShowsPINs(t *testing.T) {
	for payload, want := range map[string]bool{
		`{"config":{"devices":{"` + front + `":{"expose_pin":true}}}}`:                                       true,
		`{"config":{"device_options":{"expose_pin":true}}}`:                                                  true,
		`{"config":{"devices":{"` + front + `":{"expose_pin":false}},"device_options":{"expose_pin":true}}}`: false,
		`{"config":{}}`: false, `{}`: false,
	} {
		if shown, err := shownPINs([]byte(payload)); err != nil || shown(front) != want {
			t.Errorf("%s: %v", payload, err)
		}
	}
	if _, err := shownPINs([]byte("x")); err == nil {
		t.Error("junk was read")
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte(`{"state":"LOCK","users":{"1":{"status":"enabled","pin_code":{"data":[48]}}},"action":"keypad_unlock","action_user":3}`))
	f.Add([]byte(`{"last_seen":"x","battery":1e400}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, ok := parseState(payload)
		if e, yes := eventOf(r, 20); yes && (e.Slot > 20 || !ok) {
			t.Errorf("slot %d", e.Slot)
		}
	})
}

func FuzzDevices(f *testing.F) {
	f.Add([]byte(`[{"ieee_address":"0x00158d0000000001","friendly_name":"front","definition":{"exposes":[{"type":"lock","features":[{"property":"state","access":7}]}]}}]`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		d, err := discover(payload, nil, func(string) bool { return true }, time.Second)
		for address, l := range d.locks {
			if err != nil || !ieeeAddress.MatchString(address) || checkName(l.name) != nil || l.caps.Slots > maxSlots {
				t.Errorf("%q %q %+v", address, l.name, l.caps)
			}
		}
	})
}

// The battery may have become low while the bridge was off. A lock that reports its charge is judged by that.
func TestALowBatteryInTheFirstMessage(t *testing.T) {
	yes, no, charge := true, false, uint32(60)
	for name, c := range map[string]struct {
		battery  *uint32
		retained bool // retained means that the broker stored the first message
		low      []*bool
		want     int
	}{
		"low":                    {nil, false, []*bool{&yes, &yes}, 1},
		"low, after a retained":  {nil, true, []*bool{&yes, &yes, &yes}, 1},
		"low, changed, low":      {nil, false, []*bool{&yes, &no, &yes}, 2},
		"not always in messages": {nil, false, []*bool{&no, nil, &yes, nil, &yes}, 1},
		"with a charge":          {&charge, false, []*bool{&yes, &no, &yes}, 1},
		"not low":                {nil, false, []*bool{&no, nil}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := &lock{battery: c.battery}, 0
			for i, low := range c.low {
				now := report{low: low}
				if i > 0 || !c.retained {
					for _, e := range l.eventsOf(l.last, now, l.known) {
						if e.Kind == driver.BatteryLow {
							n++
						}
					}
				}
				l.last, l.known = now, true
			}
			if n != c.want {
				t.Errorf("%d events, want %d", n, c.want)
			}
		})
	}
}

// A battery is fine again after its alarm was off for a day. The battery may have been replaced while the bridge was off.
func TestTheEndOfALowBattery(t *testing.T) {
	low, ok, charge := true, false, uint32(60)
	const minute, day = time.Minute, 24 * time.Hour
	type message struct {
		after time.Duration // after is the time since the message before
		low   *bool
	}
	for name, c := range map[string]struct {
		battery  *uint32
		messages []message
		want     []string
	}{
		"fine from the first message on": {nil, []message{{0, &ok}, {day, &ok}}, []string{driver.BatteryOK}},
		"replaced":                       {nil, []message{{0, &low}, {day, &ok}, {day, &ok}}, []string{driver.BatteryLow, driver.BatteryOK}},
		"on and off":                     {nil, []message{{0, &low}, {minute, &ok}, {minute, &low}, {minute, &ok}, {minute, nil}, {day, &ok}}, []string{driver.BatteryLow, driver.BatteryLow, driver.BatteryOK}},
		"low again":                      {nil, []message{{0, &low}, {day, &ok}, {day, &low}, {day, &ok}}, []string{driver.BatteryLow, driver.BatteryOK, driver.BatteryLow, driver.BatteryOK}},
		"fine at a start of the bridge":  {nil, []message{{0, &ok}, {minute, &ok}}, nil},
		"with a charge":                  {&charge, []message{{0, &ok}, {minute, &low}, {day, &ok}}, []string{driver.BatteryLow}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lock{battery: c.battery, seen: time.Unix(1_800_000_000, 0)}
			var got []string
			for _, m := range c.messages {
				l.seen = l.seen.Add(m.after)
				now := report{low: m.low}
				for _, e := range l.eventsOf(l.last, now, l.known) {
					got = append(got, e.Kind)
				}
				l.last, l.known = now, true
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// An alarm may have begun while the bridge was off. It is reported once, until it ends.
func TestAnAlarmInTheFirstMessage(t *testing.T) {
	for _, alarm := range []struct {
		field, reason string
		on, off       any
	}{
		{"tamper", "tamper", true, false},
		{"door_state", "forcedOpen", "error_forced_open", "open"},
	} {
		for name, c := range map[string]struct {
			retained int // retained is the message that the broker stored, counted from 1; 0: none
			values   []any
			want     int
		}{
			"on":                         {0, []any{alarm.on, alarm.on}, 1},
			"on, after a retained":       {1, []any{alarm.on, alarm.on, alarm.on}, 1},
			"on twice":                   {0, []any{alarm.on, alarm.off, alarm.on}, 2},
			"ended without a connection": {2, []any{alarm.on, alarm.off, alarm.on}, 2},
			"lasts without a connection": {2, []any{alarm.on, alarm.on, alarm.on}, 1},
			"unknown without connection": {2, []any{alarm.on, nil, alarm.on}, 1},
			"not always in messages":     {0, []any{alarm.off, nil, alarm.on, nil, alarm.on}, 1},
			"off":                        {0, []any{nil, alarm.off, nil}, 0},
		} {
			t.Run(alarm.field+" "+name, func(t *testing.T) {
				l, n := &lock{driver: &Driver{clock: clock.At(time.Unix(1_800_000_000, 0)), events: make(chan driver.Event, 9)}}, 0
				for i, value := range c.values {
					payload, _ := json.Marshal(map[string]any{alarm.field: value})
					l.onStateMessage(message{payload: payload, retained: i+1 == c.retained})
				}
				for len(l.driver.events) > 0 {
					switch e := <-l.driver.events; {
					case e.Kind == driver.Tampered && e.Reason == alarm.reason:
						n++
					case alarm.field != "door_state" || e.Kind != driver.DoorOpened:
						t.Errorf("%+v", e)
					}
				}
				if n != c.want {
					t.Errorf("%d events, want %d", n, c.want)
				}
			})
		}
	}
}
