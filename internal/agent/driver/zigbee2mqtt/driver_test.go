package zigbee2mqtt

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

func frontLock() z2mtest.Lock {
	return z2mtest.Lock{Address: front, Name: "front", Users: 21, ReportsSuccessTimes: true, ExposePIN: true}
}

func TestDiscovery(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	const base = "house/3rd floor/zigbee"
	r := &rig{t: t, broker: broker, z2m: z2mtest.Start(t, broker, base, frontLock(),
		z2mtest.Lock{Address: back, Name: "back", Users: 5, Unreadable: true})}
	r.driver = r.drive(Config{URL: "mqtt://" + broker.Addr, Base: base, Tunings: map[string]Tuning{back: {Slots: 4, PINMin: 4, PINMax: 6}}}, defaultTimings)
	pin := []slot.CredentialKind{slot.KindPIN}
	for address, want := range map[string]slot.Capabilities{
		front: {PINMin: 4, PINMax: 8, Slots: 20, Readable: slot.ReadableClear, Schedule: slot.ScheduleNone, RemoteUnlock: true,
			EventLog: true, ReadBack: true, Lockout: slot.LockoutSettable, Kinds: pin, OpLifetime: defaultTimings.lifetime},
		back: {PINMin: 4, PINMax: 6, Slots: 4, Readable: slot.ReadableNone, Schedule: slot.ScheduleNone, RemoteUnlock: true,
			EventLog: true, Lockout: slot.LockoutSettable, Kinds: pin, OpLifetime: defaultTimings.lifetime},
	} {
		l := r.lock(address)
		if diff := cmp.Diff(want, l.Capabilities()); diff != "" {
			t.Errorf("%s: %s", address, diff)
		}
		if l.Model() != "Maker M1" || l.Radio() != "zigbee2mqtt "+base {
			t.Errorf("%s: model %q radio %q", address, l.Model(), l.Radio())
		}
	}
	r.until("the battery is known", func() bool {
		s, err := r.lock(front).Status(t.Context())
		return err == nil && s.BatteryPercent != nil && *s.BatteryPercent == 80 && s.Bolt == "locked" && s.Online && s.Firmware == "1.2"
	})
}

func TestLockWithoutCodesCanOnlyBeUnlocked(t *testing.T) {
	r := newRig(t, defaultTimings, z2mtest.Lock{Address: front, Name: "front", NoCodes: true})
	l := r.lock(front)
	if c := l.Capabilities(); c.Slots != 0 || c.ReadBack || !c.RemoteUnlock {
		t.Errorf("capabilities %+v", c)
	}
	if a := r.set(l, 1, "345678", false); a.Result != slot.SlotsFull {
		t.Error(a.Result)
	}
	if a := l.Clear(r.within(), 1); a.Result != slot.Unsupported { // a code that was set while it took codes may still be there
		t.Error(a.Result)
	}
	if a := l.Unlock(r.within()); a.Result != slot.OK || r.z2m.UnlockCount(front) != 1 {
		t.Error(a.Result, r.z2m.UnlockCount(front))
	}
}

func TestCommandsGoToTheAddressExpireAndCarryPINsAsText(t *testing.T) {
	r := newRig(t, defaultTimings, frontLock())
	l := r.lock(front)
	if a := r.set(l, 7, "048151", false); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	if a := l.Clear(r.within(), 7); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	var set []z2mtest.Command
	for _, c := range r.z2m.Commands() {
		if strings.HasSuffix(c.Topic, "/set") {
			set = append(set, c)
		}
		if c.Expiry <= 0 || c.Expiry > defaultTimings.expiry {
			t.Errorf("%s expires after %v", c.Topic, c.Expiry)
		}
	}
	topic := "zigbee2mqtt/" + front + "/set"
	want := []z2mtest.Command{
		{Topic: topic, Payload: `{"pin_code":{"user":7,"user_type":"unrestricted","user_enabled":true,"pin_code":"048151"}}`, Expiry: defaultTimings.expiry},
		{Topic: topic, Payload: `{"pin_code":{"user":7,"user_type":"unrestricted","user_enabled":false,"pin_code":null}}`, Expiry: defaultTimings.expiry},
	}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Error(diff)
	}
	if r.log.Has("048151") {
		t.Error("a PIN was logged")
	}
}

func TestSilenceIsUnconfirmed(t *testing.T) {
	for name, tt := range map[string]struct {
		fault func(*rig)
		lands bool
	}{
		"lost":                {func(r *rig) { r.z2m.LoseNextCommand(front) }, false},
		"done without a word": {func(r *rig) { r.z2m.SuppressNextReport(front) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := frontLock()
			l.Unreadable = true
			r := newRig(t, hasty(100*time.Millisecond), l)
			lk := r.lock(front)
			tt.fault(r)
			if a := r.set(lk, 1, "345678", false); a.Result != slot.NotConfirmed {
				t.Error(a.Result)
			}
			r.until("the command arrived", func() bool { return len(r.z2m.Commands()) > 0 })
			if _, there := r.z2m.PINs(front)[1]; there != tt.lands {
				t.Errorf("is there: %v", there)
			}
		})
	}
}

func TestReadableLockIsReadAfterAWrite(t *testing.T) {
	r := newRig(t, hasty(time.Second), frontLock())
	l := r.lock(front)
	r.z2m.SuppressNextReport(front)
	if a := r.set(l, 1, "345678", false); a.Result != slot.OK {
		t.Errorf("stored without a word and read: %s", a.Result)
	}
	r.z2m.LoseNextCommand(front)
	if a := r.set(l, 1, "456789", true); a.Result != slot.NotConfirmed {
		t.Errorf("lost, and the old code is read: %s", a.Result)
	}
	r.z2m.LoseNextCommand(front)
	if a := l.Clear(r.within(), 1); a.Result != slot.NotConfirmed {
		t.Errorf("clearing was lost: %s", a.Result)
	}
	r.z2m.SuppressNextReport(front)
	if a := l.Clear(r.within(), 1); a.Result != slot.OK || len(r.z2m.PINs(front)) != 0 {
		t.Errorf("cleared without a word and read: %s", a.Result)
	}
}

// A lock may show a status that Zigbee2MQTT has no word for. Such a slot may still hold its code.
func TestUnknownStatusIsNotEmpty(t *testing.T) {
	r := newRig(t, hasty(time.Second), frontLock())
	l := r.lock(front)
	if a := r.set(l, 1, "345678", false); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	r.z2m.SetUserStatus(front, 1, "not_supported_255")
	r.z2m.LoseNextCommand(front)
	if a := l.Clear(r.within(), 1); a.Result != slot.NotConfirmed {
		t.Errorf("clearing was lost: %s", a.Result)
	}
	if _, a := l.Read(r.within(), 1); a.Result != slot.Unsupported {
		t.Errorf("read: %s", a.Result)
	}
}

func TestRepeatedValuesAreNotTakenForNews(t *testing.T) {
	r := newRig(t, hasty(time.Second), frontLock())
	l := r.lock(front)
	if a := r.set(l, 1, "345678", false); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	if c, a := l.Read(r.within(), 1); a.Result != slot.OK || c.PIN != "345678" {
		t.Fatal(a.Result)
	}
	r.z2m.Reset(front)
	r.z2m.IgnoreReads(front, true)
	ctx, stop := context.WithCancel(r.within())
	talk := make(chan struct{})
	go func() { // other news, each with what is remembered of slot 1; no more of it than a broker keeps for a slow reader
		defer close(talk)
		beat := time.NewTicker(5 * time.Millisecond)
		defer beat.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-beat.C
			r.z2m.Report(front, map[string]any{"battery": 20 + i%50})
			r.z2m.Report(front, map[string]any{"lock_state": []string{"locked", "unlocked"}[i%2]})
		}
	}()
	_, a := l.Read(ctx, 1)
	stop()
	<-talk
	if a.Result != slot.Timeout {
		t.Errorf("a lock that answers nothing was read: %s", a.Result)
	}
	r.z2m.IgnoreReads(front, false)
	if c, a := l.Read(r.within(), 1); a.Result != slot.OK || c.Present {
		t.Errorf("after it answers again: present %v, %s", c.Present, a.Result)
	}
	// A time of success that is remembered is not that of the next command.
	r.z2m.LoseNextCommand(front)
	r.z2m.IgnoreReads(front, true)
	if a := r.set(l, 1, "456789", false); a.Result != slot.NotConfirmed {
		t.Errorf("a lost command: %s", a.Result)
	}
}

func TestDisabledCodeIsNotVerified(t *testing.T) {
	l := frontLock()
	l.ExposePIN = false
	r := newRig(t, defaultTimings, l)
	lk := r.lock(front)
	if a := r.set(lk, 1, "345678", false); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	r.z2m.DisableUser(front, 1)
	c, a := lk.Read(r.within(), 1)
	if a.Result != slot.OK || !c.Present || c.PIN == "" || lk.Capabilities().CheckPIN(c.PIN) == "" {
		t.Errorf("present %v, a PIN that can be typed: %v, %s", c.Present, c.PIN != "", a.Result)
	}
}

func TestFailuresInTheLogEndAnOperation(t *testing.T) {
	for name, tt := range map[string]struct {
		logged string
		want   driver.Answer
		online bool
	}{
		"radio": {`Error: ZCL command 0x0 setPinCode({"pincodevalue":"345678"}) failed (Timeout - 1)`, driver.Answer{Result: slot.LockOffline}, false},
		"range": {"Error: user must be in range for device", driver.Answer{Result: slot.SlotsFull, Unsent: true}, true},
		"lock":  {"Error: ZCL command failed (Status 'FAILURE')", driver.Answer{Result: slot.NotConfirmed}, true},
	} {
		t.Run(name, func(t *testing.T) {
			lk := frontLock()
			lk.Unreadable = true
			r := newRig(t, defaultTimings, lk)
			l := r.lock(front)
			r.z2m.FailNextCommand(front, tt.logged)
			began := time.Now()
			if diff := cmp.Diff(tt.want, r.set(l, 1, "345678", false)); diff != "" {
				t.Error(diff)
			}
			if time.Since(began) >= defaultTimings.answer {
				t.Error("waited for an answer that was there")
			}
			if r.online(l) != tt.online {
				t.Errorf("online %v", !tt.online)
			}
			if r.log.Has("345678") {
				t.Error("the PIN in Zigbee2MQTT's log reached ours")
			}
			r.until("a lock that reports is online", func() bool { r.z2m.Report(front, nil); return r.online(l) })
		})
	}
}

func TestNoSubscriber(t *testing.T) {
	r := newRig(t, redialing(), frontLock())
	l := r.lock(front)
	r.z2m.Stop()
	r.until("the broker has noticed", func() bool { return l.Clear(r.within(), 9).Unsent })
	for name, a := range map[string]driver.Answer{"set": r.set(l, 1, "345678", false), "unlock": l.Unlock(r.within())} {
		if diff := cmp.Diff(driver.Answer{Result: slot.LockOffline, Unsent: true}, a); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	r.z2m.Connect()
	r.until("Zigbee2MQTT is back", func() bool { return r.reported(l) && r.online(l) })
	if a := l.Clear(r.within(), 2); a.Result != slot.OK { // whatever was kept for it has arrived by now
		t.Error(a.Result)
	}
	if len(r.z2m.PINs(front)) != 0 || r.z2m.UnlockCount(front) != 0 {
		t.Error("a command without a subscriber was carried out later")
	}
}

func TestBrokerRestart(t *testing.T) {
	r := newRig(t, redialing(), frontLock())
	l := r.lock(front)
	lost := make(chan driver.Answer, 1)
	r.z2m.LoseNextCommand(front)
	go func() { lost <- r.set(l, 1, "345678", false) }()
	r.until("the command arrived", func() bool { return len(r.z2m.Commands()) > 0 })
	r.broker.Stop()
	if a := <-lost; !a.Result.MayTakeEffect() {
		t.Errorf("cut while waiting: %s", a.Result)
	}
	r.until("the lock is offline", func() bool { return !r.online(l) })
	if s, _ := l.Status(t.Context()); s.Bolt != "unknown" {
		t.Errorf("a lock that cannot be reached is said to be %s", s.Bolt)
	}
	if a := r.set(l, 1, "345678", false); a.Result != slot.LockOffline || !a.Unsent {
		t.Errorf("without a broker: %+v", a)
	}
	r.z2m.Stop()
	r.broker.Start()
	r.z2m.Connect()
	n := len(r.z2m.Commands())
	r.until("all are back", func() bool { return r.reported(l) && r.online(l) })
	if a := r.set(l, 2, "456789", false); a.Result != slot.OK {
		t.Error(a.Result)
	}
	for _, c := range r.z2m.Commands()[n:] {
		if strings.Contains(c.Payload, "345678") {
			t.Error("a command of before was sent again")
		}
	}
}

func TestUnlockWithoutTimeIsNotSent(t *testing.T) {
	r := newRig(t, defaultTimings, frontLock())
	l := r.lock(front)
	ctx, cancel := context.WithTimeout(t.Context(), radioTime+500*time.Millisecond)
	defer cancel()
	if a := l.Unlock(ctx); a.Result == slot.OK || !a.Unsent {
		t.Errorf("%+v", a)
	}
	if a := l.Unlock(r.within()); a.Result != slot.OK || r.z2m.UnlockCount(front) != 1 {
		t.Errorf("%+v, opened %d times", a, r.z2m.UnlockCount(front))
	}
}

func TestRenamesAreFollowed(t *testing.T) {
	r := newRig(t, defaultTimings, frontLock())
	l := r.lock(front)
	r.z2m.Rename(front, "house/main door")
	r.until("the new name's topic is subscribed", func() bool {
		r.z2m.TypePIN(front, "000000")
		return r.eventNow().Kind == driver.Denied
	})
	if a := r.set(l, 1, "345678", false); a.Result != slot.OK {
		t.Error(a.Result)
	}
	select {
	case <-r.driver.Changes():
		t.Error("a new name alone restarts the bridge")
	default:
	}
}

func (r *rig) eventNow() driver.Event {
	select {
	case e := <-r.driver.Events():
		return e
	default:
		return driver.Event{}
	}
}

func TestPairingIsSignaled(t *testing.T) {
	r := newRig(t, defaultTimings, frontLock())
	r.lock(front)
	r.z2m.Pair(z2mtest.Lock{Address: back, Name: "back", Users: 5})
	select {
	case <-r.driver.Changes():
	case <-time.After(patience):
		t.Error("the new lock is not reported")
	}
}

func TestAvailability(t *testing.T) {
	r := newRig(t, defaultTimings, frontLock())
	l := r.lock(front)
	r.z2m.SetAvailability(front, "offline")
	r.until("offline", func() bool { return !r.online(l) })
	r.z2m.SetAvailability(front, "online")
	r.until("online", func() bool { return r.online(l) })
	r.z2m.Stop() // orderly: no last will, its state stays
	r.driver.onMessage(message{topic: "zigbee2mqtt/bridge/state", payload: []byte("offline"), retained: true})
	if r.online(l) {
		t.Error("online while Zigbee2MQTT is not")
	}
}
