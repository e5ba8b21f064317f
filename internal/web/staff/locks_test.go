package staff

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/staff"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(-d)) }

// A page says that a door is locked only after a fresh report of a lock that can be reached.
func TestBoltChip(t *testing.T) {
	for _, c := range []struct {
		bolt   string
		online bool
		age    time.Duration // negative: never
		text   string
		remark string
		tone   string
	}{
		{"locked", true, 2 * time.Minute, "staff.bolt.locked", "staff.ago", "ok"},
		{"locked", true, time.Hour, "staff.bolt.locked", "staff.ago", "ok"},
		{"locked", true, time.Hour + time.Second, "staff.bolt.unknown", "staff.bolt.was.locked", "unknown"},
		{"locked", false, 2 * time.Minute, "staff.bolt.unknown", "staff.bolt.was.locked", "unknown"},
		{"jammed", true, 0, "staff.bolt.jammed", "staff.ago", "bad"},
		{"jammed", false, 0, "staff.bolt.unknown", "staff.bolt.was.jammed", "unknown"},
		{"unlocked", true, 0, "staff.bolt.unlocked", "staff.ago", "warn"},
		{"notFullyLocked", true, 0, "staff.bolt.notFullyLocked", "staff.ago", "warn"},
		{"notFullyLocked", true, 48 * time.Hour, "staff.bolt.unknown", "staff.bolt.was.notFullyLocked", "unknown"},
		{"unlocked", false, 0, "staff.bolt.unknown", "staff.bolt.was.unlocked", "unknown"},
		{"unknown", true, 0, "staff.bolt.unknown", "staff.bolt.silent", "unknown"},
		{"somethingNew", true, 0, "staff.bolt.unknown", "staff.bolt.silent", "unknown"},
		{"locked", true, -1, "staff.bolt.unknown", "staff.bolt.never", "unknown"},
	} {
		s := &propertyv1.LockStatus{Bolt: c.bolt, Online: c.online}
		if c.age >= 0 {
			s.LastSeenAt = before(c.age)
		}
		got, note := boltChip(s, noon)
		if got.Text != c.text || note.Text != c.remark || got.Tone != c.tone || (note.At != nil) != (c.age >= 0) {
			t.Errorf("%+v: %+v %+v", c, got, note)
		}
		checkTexts(t, got.Text, note.Text)
	}
}

func checkTexts(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		if kind != "" && !message.Has(kind) {
			t.Errorf("%s has no text", kind)
		}
	}
}

func TestBatteryAndLink(t *testing.T) {
	percent, weak := int32(9), int32(-90)
	for _, c := range []struct {
		status              *propertyv1.LockStatus
		battery, link, note string
		tones               string
	}{
		{&propertyv1.LockStatus{Online: true}, "staff.battery.unknown", "staff.link.good", "", "unknown ok"},
		{&propertyv1.LockStatus{Online: true, BatteryPercent: &percent, BatteryLow: true}, "staff.battery.percent", "staff.link.good", "", "bad ok"},
		{&propertyv1.LockStatus{Online: true, BatteryLow: true, Rssi: &weak}, "staff.battery.low", "staff.link.weak", "", "bad warn"},
		{&propertyv1.LockStatus{Online: true, BatteryPercent: &percent, OfflineSince: before(0)}, "staff.battery.percent", "staff.link.unstable", "staff.since", "ok warn"},
		{&propertyv1.LockStatus{OfflineReason: new("lockOffline"), OfflineSince: before(0)}, "staff.battery.unknown", "staff.link.offline", "staff.offline.lockOffline", "unknown bad"},
		{&propertyv1.LockStatus{OfflineReason: new("somethingNew")}, "staff.battery.unknown", "staff.link.offline", "staff.offline.other", "unknown bad"},
	} {
		battery := batteryChip(c.status)
		link, note := linkChip(c.status)
		if battery.Text != c.battery || link.Text != c.link || note.Text != c.note || battery.Tone+" "+link.Tone != c.tones {
			t.Errorf("%+v: %+v %+v %+v", c.status, battery, link, note)
		}
		checkTexts(t, battery.Text, link.Text, note.Text)
	}
	for _, reason := range offlineReasons {
		checkTexts(t, offlineRemark(reason, nil).Text)
	}
}

func TestLockFindings(t *testing.T) {
	door := "spc_1"
	well := func() *propertyv1.Lock {
		return &propertyv1.Lock{DoorId: &door, Status: &propertyv1.LockStatus{Online: true, Bolt: "locked", SlotsFree: 3}, Abilities: &propertyv1.LockAbilities{SlotsTotal: 20}}
	}
	for _, c := range []struct {
		harm func(*propertyv1.Lock)
		want []string
	}{
		{func(*propertyv1.Lock) {}, nil},
		{func(l *propertyv1.Lock) { l.DoorId = nil }, []string{"staff.lock.noDoor.fix"}},
		{func(l *propertyv1.Lock) { l.Status.Online, l.Status.OfflineReason = false, new("gatewayOffline") }, []string{"fix.gatewayOffline"}},
		{func(l *propertyv1.Lock) { l.Status.Online, l.Status.OfflineReason = false, new("noHeartbeat") }, []string{"fix.bridgeOffline"}},
		{func(l *propertyv1.Lock) { l.Status.SlotsFree = 0 }, []string{"fix.slotsFull"}},
		{func(l *propertyv1.Lock) { l.Status.SlotsFree, l.Abilities.SlotsTotal = 0, 0 }, nil},
		{func(l *propertyv1.Lock) { l.Status.Bolt, l.Status.BatteryLow = "jammed", true }, []string{"fix.lockJammed", "fix.batteryLow"}},
		{func(l *propertyv1.Lock) { l.Status.ClockUntrusted, l.Abilities.Guessable = true, true }, []string{"fix.clockUntrusted", "fix.guessable"}},
	} {
		l := well()
		c.harm(l)
		got := lockFindings(l)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", l, got, c.want)
		}
		checkTexts(t, got...)
	}
}

// A filter shows the locks that its name says, and a search those that contain its text.
func TestLockFilters(t *testing.T) {
	door, name := "spc_1", "Zimmer Ärger"
	row := newLockRow(&propertyv1.Lock{Name: "0x00158d", DoorId: &door, DoorName: &name, Status: &propertyv1.LockStatus{BatteryLow: true}}, noon)
	for _, c := range []struct {
		filter, text string
		want         bool
	}{
		{"", "", true}, {"offline", "", true}, {"low", "", true}, {"noDoor", "", false}, {"low", "ÄRGER", true}, {"", "158D", true}, {"", "room", false},
	} {
		if got := row.matches(c.filter, c.text); got != c.want {
			t.Errorf("%q %q: %v", c.filter, c.text, got)
		}
	}
	if row.badness() != 0 {
		t.Error("an offline lock is not among the first")
	}
}

// Each lock on a door whose battery is not known is among those with an unknown battery, also if the lock is online.
func TestLackingBattery(t *testing.T) {
	door, half := "spc_1", int32(50)
	for name, c := range map[string]struct {
		lock *propertyv1.Lock
		want bool
	}{
		"offline":        {&propertyv1.Lock{DoorId: &door, Status: &propertyv1.LockStatus{}}, true},
		"online":         {&propertyv1.Lock{DoorId: &door, Status: &propertyv1.LockStatus{Online: true}}, true},
		"with a percent": {&propertyv1.Lock{DoorId: &door, Status: &propertyv1.LockStatus{Online: true, BatteryPercent: &half}}, false},
		"low":            {&propertyv1.Lock{DoorId: &door, Status: &propertyv1.LockStatus{BatteryLow: true}}, false},
		"without a door": {&propertyv1.Lock{Status: &propertyv1.LockStatus{}}, false},
	} {
		if got := newLockRow(c.lock, noon).lacksBattery(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Each state of a bridge and each evidence of a code has a word, and a new one is not taken for a known one.
func TestBridgeAndEvidenceChips(t *testing.T) {
	for state, tone := range map[string]string{"online": "ok", "offline": "bad", "waiting": "info", "revoked": "unknown", "somethingNew": "unknown"} {
		r := newBridgeRow(&propertyv1.Bridge{State: state, LinkSince: before(0)})
		if r.Chip.Tone != tone {
			t.Errorf("%s: %+v", state, r.Chip)
		}
		checkTexts(t, r.Chip.Text, r.Remark.Text)
	}
	for evidence, tone := range map[string]string{
		"planned": "info", "queued": "info", "sent": "info", "accepted": "info", "verified": "ok", "used": "ok", "unconfirmed": "unknown", "failed": "bad",
		"removing": "warn", "removed": "info", "somethingNew": "unknown",
	} {
		c := evidenceChip(evidence)
		if c.Tone != tone {
			t.Errorf("%s: %+v", evidence, c)
		}
		checkTexts(t, c.Text)
	}
	used := newSlotRow(&propertyv1.LockSlot{Evidence: "used", SeenAt: before(time.Hour), UsedAt: before(time.Minute)})
	foreign := newSlotRow(&propertyv1.LockSlot{Evidence: "verified", Unmanaged: true})
	if used.At.AsTime() != noon.Add(-time.Minute) || foreign.Chip.Text != "staff.slot.foreign" {
		t.Errorf("%+v %+v", used, foreign)
	}
}

// The list without locks says whether a bridge is missing or a connected one has found none.
func TestEmptyLocksSayWhatIsMissing(t *testing.T) {
	f := &fakeAPI{role: staff.Manager}
	if _, body := f.get(t, "/app/locks", "en"); !strings.Contains(body, "Connect a bridge") || strings.Contains(body, "found no lock") {
		t.Errorf("without a bridge: %s", body)
	}
	f.bridges = []*propertyv1.Bridge{{Id: "brg_1", State: "offline"}, {Id: "brg_2", State: "online"}}
	if _, body := f.get(t, "/app/locks", "en"); strings.Contains(body, "Connect a bridge") || !strings.Contains(body, "has found no lock") || !strings.Contains(body, "--driver zigbee2mqtt") {
		t.Errorf("with a connected bridge: %s", body)
	}
}

// The page of a join code starts the bridge with a driver, and names a button in place of a reload, which would lose the code.
func TestJoinPage(t *testing.T) {
	f := &fakeAPI{role: staff.Manager, bridges: []*propertyv1.Bridge{{Id: "brg_1", Name: "Office", State: "waiting"}}}
	body := f.post(t, "/app/bridges/new", url.Values{"name": {"Office"}}).Body.String()
	for _, want := range []string{"lkj_1", "latchkey-bridge enroll example.com:17070 --plaintext<", "run --driver zigbee2mqtt", "run --sim-locks 101=nuki", "press “Has it connected?” below", ">Has it connected?</a>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
	if _, body = f.get(t, "/app/bridges/brg_1", "en"); !strings.Contains(body, ">Has it connected?</a>") {
		t.Errorf("the page of the bridge lacks the button that it names: %s", body)
	}
	for _, language := range message.Languages() {
		to := message.Reader{Language: language}
		if text, button := to.Text(message.Message{Kind: "staff.bridge.waiting.text"}), to.Text(message.Message{Kind: "staff.join.check"}); !strings.Contains(text, button) {
			t.Errorf("%s: %q does not name %q", language, text, button)
		}
	}
}
