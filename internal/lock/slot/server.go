package slot

import "time"

// Server is the server's durable record of one slot of one lock.
type ServerSlot struct {
	Desired  Desired
	Observed Observed // of the current or an older generation; never of a newer one
	Grant    string   // who the slot belongs to; "" when it is free
	// Claimant is the bridge (its enrolment) that a credential for this slot was last handed to and
	// that has not reported it removed since.
	SentTo string
	// Inherited: an earlier claimant's credential may still be on the lock.
	SentToOther bool
	// Former: the lock may still hold the credential of an older generation. It ends with evidence that the lock holds the
	// present one, or nothing.
	OlderMayRemain bool
	// Foreign: the lock holds a credential here that is not ours.
	Foreign bool
	// ReadBack: the lock can be read, so only a read-back proves removal.
	ReadBack bool
}

// Report is an observation as it arrives from a bridge session.
type Report struct {
	Epoch    uint64
	Observed Observed
}

// Assign gives a slot to a grant, or changes what the grant wants there. It sets the next
// generation and returns false, changing nothing, when the slot belongs to another grant, holds
// something foreign, or is not known to be free. Intent Absent keeps the grant until Observe sees the
// slot empty.
func Assign(s ServerSlot, grant string, d Desired) (ServerSlot, bool) {
	return assignWith(s, grant, d, production)
}

func assignWith(s ServerSlot, grant string, d Desired, rule rules) (ServerSlot, bool) {
	if grant == "" || (s.Grant != "" && s.Grant != grant && rule.enforces(sameGrantOnly)) {
		return s, false
	}
	if s.Grant == "" && (d.Intent != Present || (s.Foreign && rule.enforces(foreignNotAssigned))) {
		return s, false
	}
	if s.Grant == "" && !rule.enforces(generationsGrow) {
		s.Desired.Generation = 0
	}
	d.Generation = s.Desired.Generation + 1
	d.MayHoldOurs = false
	if d.Intent != Present {
		d.Intent, d.PIN = Absent, ""
	}
	s.Desired, s.Grant = d, grant
	s.OlderMayRemain = s.mayBeOnLock()
	return s, true
}

// handed reports whether a bridge was given a credential for the slot that may be on the lock.
func (s ServerSlot) mayBeOnLock() bool { return s.SentTo != "" || s.SentToOther }

// Send marks the desired state as handed to a bridge, named by its enrolment: a bridge that lost
// its store has to enrol anew. It returns the record to store before the message leaves, and the
// desired state to put into the message. That says so when the bridge has told of the code before:
// if it does not know the slot now, it was started from an old copy of its store.
func MarkSent(s ServerSlot, bridge string) (ServerSlot, Desired) {
	return markSentWith(s, bridge, production)
}

func markSentWith(s ServerSlot, bridge string, rule rules) (ServerSlot, Desired) {
	if s.SentTo != "" && s.SentTo != bridge && rule.enforces(predecessorsDisclosed) {
		s.SentToOther, s.SentTo = true, ""
	}
	told := s.SentTo == bridge && s.Observed.Generation > 0 && !s.Observed.isGone() && rule.enforces(reportsDisclosed)
	if s.Desired.Intent == Present {
		s.SentTo = bridge
	}
	d := s.Desired
	d.MayHoldOurs = s.SentToOther || told
	return s, d
}

// Observe applies a report. It counts only when it comes from the current session (epoch) and
// speaks of the desired generation; anything else changes nothing. A removal that is proven frees
// the slot. The second result says whether anything changed.
func ApplyReport(s ServerSlot, epoch uint64, r Report) (ServerSlot, bool) {
	return applyReportWith(s, epoch, r, production)
}

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
	if o.equalIgnoringTime(s.Observed) && rule.enforces(changesOnly) {
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

// replaced reports whether the last report proves that no older credential is on the lock.
func provesOlderGone(s ServerSlot, rule rules) bool {
	if !rule.enforces(olderUntilProven) {
		return true
	}
	return s.Desired.Intent == Present && (s.Observed.Evidence.Confirmed() || s.Observed.Cleared)
}

// Converged reports whether the lock is known to hold exactly what is desired.
func (s ServerSlot) Converged() bool { return convergedWith(s, production) }

func convergedWith(s ServerSlot, rule rules) bool {
	if s.Desired.Generation == 0 || s.Observed.Generation != s.Desired.Generation {
		return false
	}
	if !s.Observed.Evidence.Confirmed() && rule.enforces(confirmedOnly) {
		return false
	}
	return s.Observed.Present == (s.Desired.Intent == Present)
}

// removed asks for the best proof the lock can give.
func isRemoved(s ServerSlot, rule rules) bool {
	if s.Observed.Generation != s.Desired.Generation || s.Observed.Present {
		return false
	}
	if !rule.enforces(confirmedOnly) {
		return true
	}
	return s.Observed.Evidence == Verified || (s.Observed.Evidence == Accepted && !(s.ReadBack && rule.enforces(readBackProof)))
}

// Free reports whether another grant may take the slot.
func (s ServerSlot) IsFree() bool { return s.Grant == "" && !s.Foreign }

// Status is the word for the slot at now: Queued, Sent, Accepted, Verified, Unconfirmed, Failed,
// Removing or Removed. Accepted and Verified are never said of a window that has ended, nor of one in which nothing was
// seen yet: before a window what is there yet is being removed, and in the next the bridge has what it needs.
func (s ServerSlot) EvidenceAt(now time.Time) Evidence { return evidenceAtWith(s, now, production) }

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
	case !o.Present || (o.Window >= n && o.Evidence.Confirmed()) || !rule.enforces(evidencePerWindow):
		return o.Evidence
	case o.Window > n || now.Before(w.From):
		return Removing
	}
	return Sent
}

// Row is the server's side of LockDigest.
func (s ServerSlot) DigestRow(number uint32) DigestRow {
	return DigestRow{Slot: number, Generation: s.Desired.Generation, Observed: s.Observed}
}
