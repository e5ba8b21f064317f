package slot

import (
	"slices"
	"testing"
	"time"
)

// bench drives one lock by hand: the test is the driver and the clock.
type bench struct {
	t       *testing.T
	lock    Lock
	now     time.Time
	err     time.Duration
	actions []Action
}

func newBench(t *testing.T, caps Capabilities) *bench {
	b := &bench{t: t, now: noon}
	b.lock = Lock{Caps: caps}
	return b
}

func (b *bench) send(ev Event) {
	b.t.Helper()
	ev.At, ev.ClockError = b.now, b.err
	before := b.lock
	was := slices.Clone(before.Slots)
	b.lock, b.actions = Step(b.lock, ev)
	if !slices.Equal(was, before.Slots) {
		b.t.Fatal("Step changed its argument")
	}
}

func (b *bench) desire(number uint32, d Desired) {
	b.t.Helper()
	d.Generation = 1
	if s, ok := b.lock.Slot(number); ok {
		d.Generation = s.Desired.Generation + 1
	}
	b.send(Event{Kind: DesiredChanged, Slot: number, Desired: d})
}

func (b *bench) answer(r Result) {
	b.t.Helper()
	b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: r})
}

func (b *bench) read(present bool, pin PIN) {
	b.t.Helper()
	b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: OK, Present: present, PIN: pin})
}

func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.now = b.now.Add(d)
	b.send(Event{Kind: TimePassed})
}

func (b *bench) inFlight(kind OpKind, number uint32) {
	b.t.Helper()
	if op := b.lock.Op; op.Kind != kind || op.Slot != number {
		b.t.Fatalf("in flight: %q on slot %d, want %q on %d", op.Kind, op.Slot, kind, number)
	}
}

func (b *bench) idle() {
	b.t.Helper()
	if b.lock.Op.Kind != "" {
		b.t.Fatalf("in flight: %s on slot %d, want nothing", b.lock.Op.Kind, b.lock.Op.Slot)
	}
}

func (b *bench) observed(number uint32, present bool, e Evidence, r Result) {
	b.t.Helper()
	s, _ := b.lock.Slot(number)
	if o := s.Observed; o.Present != present || o.Evidence != e || o.Result != r {
		b.t.Fatalf("slot %d: present %v %s %s, want %v %s %s", number, o.Present, o.Evidence, o.Result, present, e, r)
	}
}

func (b *bench) wake() time.Duration {
	for _, a := range b.actions {
		if a.Kind == WakeAt {
			return a.At.Sub(b.now)
		}
	}
	return -1
}

func realLock() Capabilities {
	return Capabilities{PINMin: 4, PINMax: 8, Slots: 20, Readable: ReadableNone, Schedule: ScheduleNone, OpLifetime: 10 * time.Second}
}

var always = Desired{Intent: Present, PIN: "0451"}
