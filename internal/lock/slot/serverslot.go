package slot

import "time"

// ServerSlot is the server's durable record of one slot of one lock.
type ServerSlot struct {
	Desired  Desired
	Observed Observed // Observed is of the desired or an older generation, never of a newer one
	Grant    string   // Grant is the id of the grant (the access of a stay, or a code of staff) that has the slot; empty if none has
	// SentTo is the enrolment (an id that changes when a bridge enrols again) of the bridge that last got a credential
	// for this slot. It is empty when the slot is known to hold none, and after [MarkSent] for another bridge has set
	// SentToOther instead.
	SentTo string
	// SentToOther means that another bridge got a credential earlier, which may still be on the lock.
	SentToOther bool
	// OlderMayRemain means that the lock may still hold the credential of an older generation. It becomes false when
	// the lock is known to hold the desired credential, or none.
	OlderMayRemain bool
	// Foreign means that the slot holds a credential that Latchkey did not set. No grant gets such a slot.
	Foreign bool
	// ReadBack means that the lock can be read, so that only a reading proves a removal.
	ReadBack bool
}

// Report is an observation of a slot, with the epoch of the bridge's session that sent it.
type Report struct {
	Epoch    uint64
	Observed Observed
}

// Assign gives a slot to the grant with this id, or changes what the grant desires there, and replaces d.Generation by the next generation.
// It returns false, and the slot unchanged, if grant is empty, another grant has the slot, or no grant has it and d clears it or it holds
// another credential. With the intent Absent the grant keeps the slot until [ApplyReport] gets the proof that it is empty.
func Assign(s ServerSlot, grant string, d Desired) (ServerSlot, bool) {
	return assignWith(s, grant, d, production)
}

// assignWith is [Assign] under the given rules. Tests pass other rules than those of production.
func assignWith(s ServerSlot, grant string, d Desired, rule rules) (ServerSlot, bool) {
	if grant == "" || (s.Grant != "" && s.Grant != grant && rule.enforces(sameGrantOnly)) {
		return s, false
	}
	if s.Grant == "" && (d.Intent != Present || s.mayBeOnLock() || (s.Foreign && rule.enforces(foreignNotAssigned))) {
		return s, false
	}
	if s.Grant == "" && !rule.enforces(generationsGrow) {
		s.Desired.Generation = 0
	}
	d.Generation = s.Desired.Generation + 1
	d.MayHoldOwn = false
	if d.Intent != Present {
		d.Intent, d.PIN = Absent, ""
	}
	s.Desired, s.Grant = d, grant
	s.OlderMayRemain = s.mayBeOnLock()
	return s, true
}

// mayBeOnLock reports whether a credential that was sent to a bridge may be on the lock.
func (s ServerSlot) mayBeOnLock() bool { return s.SentTo != "" || s.SentToOther }

// MarkSent marks the desired state as sent to a bridge. bridge is its enrolment, because a bridge that lost its store must enrol again.
// MarkSent returns the record to store before the message is sent, and the desired state for the message. Only a Present state sets SentTo.
// The message has MayHoldOwn if another bridge may have left a credential, or if this bridge has reported one. In the second case a bridge
// that has no record now, or one that is older than ReportedGeneration, was started from an old copy of its store.
func MarkSent(s ServerSlot, bridge string) (ServerSlot, Desired) {
	return markSentWith(s, bridge, production)
}

// markSentWith is [MarkSent] under the given rules. Tests pass other rules than those of production.
func markSentWith(s ServerSlot, bridge string, rule rules) (ServerSlot, Desired) {
	if s.SentTo != "" && s.SentTo != bridge && rule.enforces(predecessorsDisclosed) {
		s.SentToOther, s.SentTo = true, ""
	}
	reported := s.SentTo == bridge && s.Observed.Generation > 0 && !s.Observed.isGone() && rule.enforces(reportsDisclosed)
	if s.Desired.Intent == Present {
		s.SentTo = bridge
	}
	d := s.Desired
	d.MayHoldOwn, d.ReportedGeneration = s.SentToOther || reported, s.Observed.Generation
	return s, d
}

// IsBehind reports whether the bridge that sent a report knows more of the slot than the server: it has a newer generation, or a credential
// where the server believes that it sent none. The server has forgotten it: its database was restored to an older state.
func (s ServerSlot) IsBehind(o Observed) bool { return s.isBehindWith(o, production) }

// isBehindWith is [ServerSlot.IsBehind] under the given rules. Tests pass other rules than those of production.
func (s ServerSlot) isBehindWith(o Observed, rule rules) bool {
	if !rule.enforces(forgottenReissued) {
		return false
	}
	neverSent := s.Desired.Intent != Present && s.Observed.Generation == 0 && !s.mayBeOnLock()
	return o.Generation > s.Desired.Generation || neverSent && !o.isGone()
}

// Reissue gives the desired state of a slot another generation, after a report for which [ServerSlot.IsBehind] is true. generation must be
// newer than the slot's and the reported one, or the bridge ignores the desired state. bridge is the enrolment of the bridge that reported
// it. The lock may hold a credential that only this bridge knows, so that the slot is not free, also without a grant, before its removal is
// proven.
func Reissue(s ServerSlot, bridge string, generation uint64) ServerSlot {
	s.SentToOther = s.SentToOther || s.SentTo != "" && s.SentTo != bridge
	s.Desired.Generation, s.SentTo, s.OlderMayRemain = generation, bridge, true
	if s.Desired.Intent != Present {
		s.Desired.Intent = Absent
	}
	return s
}

// ApplyReport applies a report about the desired generation from the bridge's current session, which has the given epoch. It ignores other
// reports and repeated ones (unless [ServerSlot.IsUnreleased]), and then returns false. A proven removal frees the slot. The result Occupied
// marks it as foreign.
func ApplyReport(s ServerSlot, epoch uint64, r Report) (ServerSlot, bool) {
	return applyReportWith(s, epoch, r, production)
}

// applyReportWith is [ApplyReport] under the given rules. Tests pass other rules than those of production.
func applyReportWith(s ServerSlot, epoch uint64, r Report, rule rules) (ServerSlot, bool) {
	if r.Epoch != epoch && rule.enforces(epochCheck) {
		return s, false
	}
	o := r.Observed
	if o.Generation != s.Desired.Generation {
		if rule.enforces(generationCheck) {
			return s, false
		}
		o.Generation = s.Desired.Generation
	}
	if o.sameObservation(s.Observed) && !s.isUnreleasedWith(rule) && rule.enforces(changesOnly) {
		return s, false
	}
	s.Observed = o
	if o.Result == Occupied {
		s.Foreign, s.SentTo, s.SentToOther = true, "", false
	}
	if s.Desired.Intent == Absent && isRemoved(s, rule) {
		s.Grant, s.SentTo, s.SentToOther = "", "", false
	}
	s.OlderMayRemain = s.OlderMayRemain && s.mayBeOnLock() && !provesOlderGone(s, rule)
	return s, true
}

// provesOlderGone reports whether the last report about a desired credential proves that no credential of an older generation is on the
// lock. It returns false if none is desired: then only the proof of the removal counts.
func provesOlderGone(s ServerSlot, rule rules) bool {
	if !rule.enforces(olderUntilProven) {
		return true
	}
	return s.Desired.Intent == Present && (s.Observed.Evidence.ConfirmedByLock() || s.Observed.Cleared)
}

// Converged reports whether the lock is known to hold exactly the desired credential, or none if none is desired. The lock's
// acknowledgement suffices, even if the lock can be read. It does not check windows: a credential that was removed after its window has
// not converged.
func (s ServerSlot) Converged() bool { return convergedWith(s, production) }

// convergedWith is [ServerSlot.Converged] under the given rules. Tests pass other rules than those of production.
func convergedWith(s ServerSlot, rule rules) bool {
	if s.Desired.Generation == 0 || s.Observed.Generation != s.Desired.Generation {
		return false
	}
	if !s.Observed.Evidence.ConfirmedByLock() && rule.enforces(confirmedOnly) {
		return false
	}
	return s.Observed.Present == (s.Desired.Intent == Present)
}

// isRemoved reports whether it is proven that the slot is empty: by a reading if the lock can be read, else by the lock's acknowledgement.
// The caller checks that a removal is desired.
func isRemoved(s ServerSlot, rule rules) bool {
	if s.Observed.Generation != s.Desired.Generation || s.Observed.Present {
		return false
	}
	if !rule.enforces(confirmedOnly) {
		return true
	}
	return s.Observed.Evidence == Verified || (s.Observed.Evidence == Accepted && !(s.ReadBack && rule.enforces(readBackProof)))
}

// IsUnreleased reports whether the last report proves now that the slot is empty, but did not when it came: the lock could be read then, so
// its acknowledgement was no proof. The caller applies the same report again to free the slot.
func (s ServerSlot) IsUnreleased() bool { return s.isUnreleasedWith(production) }

// isUnreleasedWith is [ServerSlot.IsUnreleased] under the given rules. Tests pass other rules than those of production.
func (s ServerSlot) isUnreleasedWith(rule rules) bool {
	return s.Desired.Intent == Absent && s.mayBeOnLock() && isRemoved(s, rule)
}

// IsFree reports whether a grant may get the slot: no grant has it, and it holds no other credential.
func (s ServerSlot) IsFree() bool { return s.Grant == "" && !s.Foreign && !s.mayBeOnLock() }

// EvidenceAt returns the evidence of the slot's credential at a time, never Used. It is Planned for a slot that never had a desired state.
// A desired credential is Queued before a report about its generation. Accepted and Verified need a report about the present window; in a
// window without one the credential is Sent, because the bridge has it. A credential is Removing if its removal is desired, after its use
// if it is a one-time code, or while it is still on the lock outside of its windows. It is Removed as soon as the lock confirms that it is
// gone.
func (s ServerSlot) EvidenceAt(now time.Time) Evidence { return evidenceAtWith(s, now, production) }

// evidenceAtWith is [ServerSlot.EvidenceAt] under the given rules. Tests pass other rules than those of production.
func evidenceAtWith(s ServerSlot, now time.Time, rule rules) Evidence {
	o := s.Observed
	current := o.Generation == s.Desired.Generation
	gone := current && (o.isGone() || (!o.Present && !rule.enforces(confirmedOnly)))
	switch {
	case s.Desired.Generation == 0:
		return Planned
	case gone:
		return Removed
	case s.Desired.Intent == Absent:
		return Removing
	case !current:
		return Queued
	case o.Used:
		return Removing
	}
	n, w, over := s.Desired.windowFrom(now, 0)
	switch {
	case over && o.Evidence != Failed && rule.enforces(windowsEnd):
		return Removing
	case !o.Present || (o.Window >= n && o.Evidence.ConfirmedByLock()) || !rule.enforces(evidencePerWindow):
		return o.Evidence
	case o.Window > n || now.Before(w.From):
		return Removing
	}
	return Sent
}

// DigestRow returns the row that the server passes to [LockDigest].
func (s ServerSlot) DigestRow(number uint32) DigestRow {
	return DigestRow{Slot: number, Generation: s.Desired.Generation, Observed: s.Observed}
}
