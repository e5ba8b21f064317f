package slot

import "time"

// Server is the server's durable record of one slot of one lock.
type Server struct {
	Desired  Desired
	Observed Observed // of the current or an older generation; never of a newer one
	Grant    string   // who the slot belongs to; "" when it is free
	// Claimant is the bridge (its enrolment) that a credential for this slot was last handed to and
	// that has not reported it removed since.
	Claimant string
	// Inherited: an earlier claimant's credential may still be on the lock.
	Inherited bool
	// Former: the lock may still hold the credential of an older generation. It ends with evidence that the lock holds the
	// present one, or nothing.
	Former bool
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
func Assign(s Server, grant string, d Desired) (Server, bool) { return assign(s, grant, d, production) }

func assign(s Server, grant string, d Desired, rule rules) (Server, bool) {
	if grant == "" || (s.Grant != "" && s.Grant != grant && rule.keeps(ownGrantOnly)) {
		return s, false
	}
	if s.Grant == "" && (d.Intent != Present || (s.Foreign && rule.keeps(foreignKept))) {
		return s, false
	}
	if s.Grant == "" && !rule.keeps(growing) {
		s.Desired.Generation = 0
	}
	d.Generation = s.Desired.Generation + 1
	d.Claimed = false
	if d.Intent != Present {
		d.Intent, d.PIN = Absent, ""
	}
	s.Desired, s.Grant = d, grant
	s.Former = s.handed()
	return s, true
}

// handed reports whether a bridge was given a credential for the slot that may be on the lock.
func (s Server) handed() bool { return s.Claimant != "" || s.Inherited }

// Send marks the desired state as handed to a bridge, named by its enrolment: a bridge that lost
// its store has to enrol anew. It returns the record to store before the message leaves, and the
// desired state to put into the message. That says so when the bridge has told of the code before:
// if it does not know the slot now, it was started from an old copy of its store.
func Send(s Server, bridge string) (Server, Desired) { return send(s, bridge, production) }

func send(s Server, bridge string, rule rules) (Server, Desired) {
	if s.Claimant != "" && s.Claimant != bridge && rule.keeps(claims) {
		s.Inherited, s.Claimant = true, ""
	}
	told := s.Claimant == bridge && s.Observed.Generation > 0 && !s.Observed.gone() && rule.keeps(copies)
	if s.Desired.Intent == Present {
		s.Claimant = bridge
	}
	d := s.Desired
	d.Claimed = s.Inherited || told
	return s, d
}

// Observe applies a report. It counts only when it comes from the current session (epoch) and
// speaks of the desired generation; anything else changes nothing. A removal that is proven frees
// the slot. The second result says whether anything changed.
func Observe(s Server, epoch uint64, r Report) (Server, bool) {
	return observe(s, epoch, r, production)
}

func observe(s Server, epoch uint64, r Report, rule rules) (Server, bool) {
	if r.Epoch != epoch && rule.keeps(epochCheck) {
		return s, false
	}
	o := r.Observed
	if o.Generation != s.Desired.Generation {
		if rule.keeps(generationOnly) {
			return s, false
		}
		o.Generation = s.Desired.Generation
	}
	if o.same(s.Observed) && rule.keeps(newsOnly) {
		return s, false
	}
	s.Observed = o
	if o.Result == Occupied {
		s.Foreign, s.Claimant, s.Inherited = true, "", false
	}
	if s.Desired.Intent == Absent && removed(s, rule) {
		s.Grant, s.Claimant, s.Inherited = "", "", false
	}
	s.Former = s.Former && s.handed() && !replaced(s, rule)
	return s, true
}

// replaced reports whether the last report proves that no older credential is on the lock.
func replaced(s Server, rule rules) bool {
	if !rule.keeps(formerKept) {
		return true
	}
	return s.Desired.Intent == Present && (s.Observed.Evidence.Settled() || s.Observed.Cleared)
}

// Converged reports whether the lock is known to hold exactly what is desired.
func (s Server) Converged() bool { return converged(s, production) }

func converged(s Server, rule rules) bool {
	if s.Desired.Generation == 0 || s.Observed.Generation != s.Desired.Generation {
		return false
	}
	if !s.Observed.Evidence.Settled() && rule.keeps(settledOnly) {
		return false
	}
	return s.Observed.Present == (s.Desired.Intent == Present)
}

// removed asks for the best proof the lock can give.
func removed(s Server, rule rules) bool {
	if s.Observed.Generation != s.Desired.Generation || s.Observed.Present {
		return false
	}
	if !rule.keeps(settledOnly) {
		return true
	}
	return s.Observed.Evidence == Verified || (s.Observed.Evidence == Accepted && !(s.ReadBack && rule.keeps(readBackProof)))
}

// Free reports whether another grant may take the slot.
func (s Server) Free() bool { return s.Grant == "" && !s.Foreign }

// Status is the word for the slot at now: Queued, Sent, Accepted, Verified, Unconfirmed, Failed,
// Removing or Removed. Accepted and Verified are never said of a window that has ended, nor of one in which nothing was
// seen yet: before a window what is there yet is being removed, and in the next the bridge has what it needs.
func (s Server) Status(now time.Time) Evidence { return status(s, now, production) }

func status(s Server, now time.Time, rule rules) Evidence {
	o := s.Observed
	current := o.Generation == s.Desired.Generation
	gone := current && (o.gone() || (!o.Present && !rule.keeps(settledOnly)))
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
	n, w, over := s.Desired.at(now, 0)
	switch {
	case over && o.Evidence != Failed && rule.keeps(endedWindow):
		return Removing
	case !o.Present || (o.Window >= n && o.Evidence.Settled()) || !rule.keeps(ownWindow):
		return o.Evidence
	case o.Window > n || now.Before(w.From):
		return Removing
	}
	return Sent
}

// Row is the server's side of LockDigest.
func (s Server) Row(number uint32) Row {
	return Row{Slot: number, Generation: s.Desired.Generation, Observed: s.Observed}
}
