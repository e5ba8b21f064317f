package agent

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// The stored types contain PINs as plain strings, because slot.PIN refuses to be marshalled. The store encrypts what it writes of these
// types.

// storedLock is the stored state of a lock, without its slots.
type storedLock struct {
	Op    storedOp  `json:"op,omitzero"` // Op, Seq and Fence are those of slot.Lock
	Seq   uint64    `json:"seq,omitempty"`
	Fence time.Time `json:"fence,omitzero"`
	// Clock is the offset of the lock's clock with which its windows were set.
	Clock time.Duration `json:"clock,omitempty"`
}

// storedOp is the stored form of [slot.Op].
type storedOp struct {
	Kind       slot.OpKind `json:"kind,omitempty"`
	Seq        uint64      `json:"seq,omitempty"`
	Slot       uint32      `json:"slot,omitempty"`
	Generation uint64      `json:"generation,omitempty"`
	PIN        string      `json:"pin,omitempty"`
	NotBefore  time.Time   `json:"notBefore,omitzero"`
	NotAfter   time.Time   `json:"notAfter,omitzero"`
	Replace    bool        `json:"replace,omitempty"`
	Until      time.Time   `json:"until,omitzero"`
}

// storeOp converts an operation to its stored form, with the PIN in clear text.
func storeOp(o slot.Op) storedOp {
	return storedOp{o.Kind, o.Seq, o.Slot, o.Generation, string(o.PIN), o.NotBefore, o.NotAfter, o.Replace, o.ExpiresAt}
}

// toOp converts a stored operation back.
func (o storedOp) toOp() slot.Op {
	return slot.Op{Kind: o.Kind, Seq: o.Seq, Slot: o.Slot, Generation: o.Generation, PIN: slot.PIN(o.PIN),
		NotBefore: o.NotBefore, NotAfter: o.NotAfter, Replace: o.Replace, ExpiresAt: o.Until}
}

// storedSlot is the stored form of [slot.Slot].
type storedSlot struct {
	Number           uint32        `json:"number"`
	Desired          storedDesired `json:"desired"`
	Content          storedContent `json:"held,omitzero"`
	Observed         slot.Observed `json:"observed,omitzero"`
	Refusal          slot.Result   `json:"refused,omitempty"`
	RefusedRule      string        `json:"rule,omitempty"`
	LastResult       slot.Result   `json:"code,omitempty"`
	Attempts         uint8         `json:"attempts,omitempty"`
	RetryAt          time.Time     `json:"retryAt,omitzero"`
	RetryOf          slot.OpKind   `json:"retryOf,omitempty"`
	NextReadAt       time.Time     `json:"readAt,omitzero"`
	ClearedOnce      bool          `json:"cured,omitempty"`
	TimesOvertaken   uint8         `json:"passed,omitempty"`
	UsedOneTimeID    string        `json:"spent,omitempty"`
	ReadSinceChange  bool          `json:"looked,omitempty"`
	ChangedInFlight  bool          `json:"altered,omitempty"`
	ManualChanges    uint8         `json:"alters,omitempty"`
	OldestGeneration uint64        `json:"oldest,omitempty"`
}

// storedDesired is the stored form of [slot.Desired].
type storedDesired struct {
	Generation   uint64      `json:"generation"`
	Intent       slot.Intent `json:"intent"`
	PIN          string      `json:"pin,omitempty"`
	NotBefore    time.Time   `json:"notBefore,omitzero"`
	NotAfter     time.Time   `json:"notAfter,omitzero"`
	MayHoldOwn   bool        `json:"claimed,omitempty"`
	LaterWindows []byte      `json:"later,omitempty"` // LaterWindows is an encoded slot.Windows
	OneTimeID    string      `json:"once,omitempty"`
}

// storedContent is the stored form of [slot.Content].
type storedContent struct {
	Kind      slot.ContentKind `json:"is,omitempty"`
	PIN       string           `json:"pin,omitempty"`
	NotBefore time.Time        `json:"notBefore,omitzero"`
	NotAfter  time.Time        `json:"notAfter,omitzero"`
	Evidence  slot.Evidence    `json:"evidence,omitempty"`
}

// storeSlot converts a slot to its stored form, with its PINs in clear text.
func storeSlot(s slot.Slot) storedSlot {
	d, h := s.Desired, s.Content
	return storedSlot{
		Number:   s.Number,
		Desired:  storedDesired{d.Generation, d.Intent, string(d.PIN), d.NotBefore, d.NotAfter, d.MayHoldOwn, []byte(d.LaterWindows), d.OneTimeID},
		Content:  storedContent{h.Kind, string(h.PIN), h.NotBefore, h.NotAfter, h.Evidence},
		Observed: s.Observed, Refusal: s.Refusal, RefusedRule: s.RefusedRule, LastResult: s.LastResult, Attempts: s.Attempts,
		RetryAt: s.RetryAt, RetryOf: s.RetryOf, NextReadAt: s.NextReadAt, ClearedOnce: s.ClearedOnce, TimesOvertaken: s.TimesOvertaken, ReadSinceChange: s.ReadSinceChange, UsedOneTimeID: s.UsedOneTimeID,
		ChangedInFlight: s.ChangedInFlight, ManualChanges: s.ManualChanges, OldestGeneration: s.OldestGeneration,
	}
}

// toSlot converts a stored slot back.
func (s storedSlot) toSlot() slot.Slot {
	d, h := s.Desired, s.Content
	return slot.Slot{
		Number: s.Number,
		Desired: slot.Desired{Generation: d.Generation, Intent: d.Intent, PIN: slot.PIN(d.PIN),
			NotBefore: d.NotBefore, NotAfter: d.NotAfter, MayHoldOwn: d.MayHoldOwn, LaterWindows: slot.Windows(d.LaterWindows), OneTimeID: d.OneTimeID},
		Content:  slot.Content{Kind: h.Kind, PIN: slot.PIN(h.PIN), NotBefore: h.NotBefore, NotAfter: h.NotAfter, Evidence: h.Evidence},
		Observed: s.Observed, Refusal: s.Refusal, RefusedRule: s.RefusedRule, LastResult: s.LastResult, Attempts: s.Attempts,
		RetryAt: s.RetryAt, RetryOf: s.RetryOf, NextReadAt: s.NextReadAt, ClearedOnce: s.ClearedOnce, TimesOvertaken: s.TimesOvertaken, ReadSinceChange: s.ReadSinceChange, UsedOneTimeID: s.UsedOneTimeID,
		ChangedInFlight: s.ChangedInFlight, ManualChanges: s.ManualChanges, OldestGeneration: s.OldestGeneration,
	}
}
