package agent

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"
)

const (
	maxJournalEntries = 50_000           // maximum number of journaled events while the server is unreachable; the oldest are dropped first
	commandMemory     = 10 * time.Minute // how long the id of a command is stored; the command's deadline is only 10 s
	maxCommandRecords = 1024             // at this number of stored commands that asked a lock, new ones are refused
)

// journalEntry is a lock event that waits until the server has stored it.
type journalEntry struct {
	Sequence   uint64    `json:"-"` // Sequence is the key in the journal, from 1; 0: not stored yet, or not read
	Address    string    `json:"address"`
	Kind       string    `json:"kind"`                 // Kind is that of the driver.Event
	Slot       uint32    `json:"slot,omitempty"`       // Slot is the slot of the PIN; 0: unknown or without a PIN
	Generation uint64    `json:"generation,omitempty"` // Generation is that of the code in Slot at the time At; 0: unknown
	Reason     string    `json:"reason,omitempty"`
	At         time.Time `json:"at"`              // At is by the bridge's clock
	Quality    string    `json:"quality"`         // Quality is the result of clockQuality when the event was journaled
	Phone      string    `json:"phone,omitempty"` // Phone is the key id of the phone that used a SmartKey
	Until      time.Time `json:"until,omitzero"`  // Until is the end of a keypad pause
}

// sequenceKey returns the key of a journal entry in its bucket. Keys sort by sequence number.
func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// appendEntry stores an event under the next sequence number. If the journal is full, it drops the oldest events and returns their number.
func (s *store) appendEntry(e journalEntry) (dropped int, err error) {
	err = s.writes.update(func(tx *bbolt.Tx) error {
		dropped, err = s.appendInTx(tx, e)
		return err
	})
	return dropped, err
}

// appendInTx does the work of appendEntry inside the caller's transaction. dropped is the number of old events that it deleted from a full
// journal.
func (s *store) appendInTx(tx *bbolt.Tx, e journalEntry) (dropped int, err error) {
	b := tx.Bucket(journalBucket)
	n, err := b.NextSequence()
	if err != nil {
		return 0, err
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	if err := b.Put(sequenceKey(n), raw); err != nil {
		return 0, err
	}
	c := b.Cursor()
	for k, _ := c.First(); k != nil && n-binary.BigEndian.Uint64(k) >= s.maxJournal; k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// forEachEntry calls do with every event that the server has not stored, oldest first. Their Sequence is not set. do runs in a read
// transaction and must not write to the store.
func (s *store) forEachEntry(do func(journalEntry)) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(journalBucket).ForEach(func(_, v []byte) error {
			var e journalEntry
			if err := json.Unmarshal(v, &e); err != nil {
				return err
			}
			do(e)
			return nil
		})
	})
}

// entriesAfter returns the journal entries with a sequence number above after, oldest first, at most limit.
func (s *store) entriesAfter(after uint64, limit int) (out []journalEntry, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(journalBucket).Cursor()
		for k, v := c.Seek(sequenceKey(after + 1)); k != nil && len(out) < limit; k, v = c.Next() {
			var e journalEntry
			if err := json.Unmarshal(v, &e); err != nil {
				return err
			}
			e.Sequence = binary.BigEndian.Uint64(k)
			out = append(out, e)
		}
		return nil
	})
	return out, err
}

// deleteAcknowledged deletes the events up to the sequence number upTo, which the server has stored. If upTo is above all numbers of this
// store, the store was restored from a backup. Then no event is deleted, and all get new numbers above upTo, because the server ignores
// numbers that it has seen.
func (s *store) deleteAcknowledged(upTo uint64) error {
	return s.writes.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(journalBucket)
		if upTo > b.Sequence() {
			return renumberEntries(b, upTo)
		}
		c := b.Cursor()
		for k, _ := c.First(); k != nil && binary.BigEndian.Uint64(k) <= upTo; k, _ = c.First() {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return nil
	})
}

// renumberEntries gives all entries of the journal new sequence numbers above after, in the same order.
func renumberEntries(b *bbolt.Bucket, after uint64) error {
	var events [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.First() {
		events = append(events, append([]byte(nil), v...))
		if err := c.Delete(); err != nil {
			return err
		}
	}
	for _, v := range events {
		after++
		if err := b.Put(sequenceKey(after), v); err != nil {
			return err
		}
	}
	return b.SetSequence(after)
}

// commandRecord is what the bridge stores about a command. Without an outcome, the command was started and its end is unknown.
type commandRecord struct {
	ID      string    `json:"-"`
	Outcome string    `json:"outcome,omitempty"` // Outcome is one of the outcome constants
	Result  string    `json:"result,omitempty"`  // Result is a slot.Result; empty if only a SmartKey decided, or without an outcome
	Reason  string    `json:"reason,omitempty"`  // Reason is the result of a SmartKey: ok, or why it was refused
	Token   string    `json:"token,omitempty"`   // Token is the id of the SmartKey
	List    uint64    `json:"list,omitempty"`    // List is the version of the status list that the SmartKey was checked with; 0: none
	At      time.Time `json:"at"`                // At is when the command ended; before that, when it started
}

// beginCommand stores durably that a command starts, before it is executed. first is false if the id was stored before; then rec is the
// stored record, and the command must not be executed again. For a new id, it deletes expired records, and returns errTooManyCommands if
// maxCommandRecords of those that asked a lock remain. After any error the command must not be executed.
func (s *store) beginCommand(id string, now time.Time) (rec commandRecord, first bool, err error) {
	err = s.writes.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(commandsBucket)
		if raw := b.Get([]byte(id)); raw != nil {
			rec.ID = id
			return json.Unmarshal(raw, &rec)
		}
		first = true
		if err := deleteOldCommands(b, now); err != nil {
			return err
		}
		rec = commandRecord{ID: id, At: now}
		return putCommand(b, rec)
	})
	return rec, first, err
}

// endCommand replaces the record of a started command by rec, which has the outcome.
func (s *store) endCommand(rec commandRecord) error {
	return s.writes.update(func(tx *bbolt.Tx) error { return putCommand(tx.Bucket(commandsBucket), rec) })
}

// putCommand writes a command's record into the bucket b.
func putCommand(b *bbolt.Bucket, rec commandRecord) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return b.Put([]byte(rec.ID), raw)
}

// movedNothing reports whether a command has ended and only its SmartKey decided: it was refused or checked, and no lock was asked. Its
// record can be deleted early: if the command came again, its SmartKey would be refused, because each can be presented once.
func (c commandRecord) movedNothing() bool { return c.Outcome != "" && c.Result == "" }

// deleteOldCommands deletes command records that are expired, unreadable, or far in the future because the clock was set back. If too many
// remain, it also deletes those that moved nothing, because a phone with an old SmartKey could otherwise fill the store and so block all
// doors. It returns errTooManyCommands if still too many remain, so that the next command is refused.
func deleteOldCommands(b *bbolt.Bucket, now time.Time) error {
	var old, spare [][]byte
	n := 0
	err := b.ForEach(func(k, v []byte) error {
		var rec commandRecord
		if err := json.Unmarshal(v, &rec); err != nil || now.Sub(rec.At) > commandMemory || rec.At.After(now.Add(commandMemory)) {
			old = append(old, append([]byte(nil), k...))
			return nil
		}
		n++
		if rec.movedNothing() {
			spare = append(spare, append([]byte(nil), k...))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n >= maxCommandRecords {
		old, n = append(old, spare...), n-len(spare)
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	if n >= maxCommandRecords {
		return errTooManyCommands
	}
	return nil
}

// commands returns the stored commands, also those that still run, without an outcome. A new session reports them again, because the server
// may have missed their results.
func (s *store) commands() (out []commandRecord, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(commandsBucket).ForEach(func(k, v []byte) error {
			rec := commandRecord{ID: string(k)}
			if err := json.Unmarshal(v, &rec); err != nil {
				return err
			}
			out = append(out, rec)
			return nil
		})
	})
	return out, err
}
