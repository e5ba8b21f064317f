package agent

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"
)

const (
	journalSize = 50_000           // events kept while the service is away; the oldest go first
	actMemory   = 10 * time.Minute // an act's id is remembered this long; its deadline is 10 s
	maxActs     = 1024
)

// occurrence is a journaled event.
type occurrence struct {
	Sequence   uint64    `json:"-"`
	Address    string    `json:"address"`
	Kind       string    `json:"kind"`
	Slot       uint32    `json:"slot,omitempty"`
	Generation uint64    `json:"generation,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	At         time.Time `json:"at"`
	Quality    string    `json:"quality"`
	Phone      string    `json:"phone,omitempty"` // of a SmartKey: its phone's key id
	Until      time.Time `json:"until,omitzero"`  // of a pause: its end
}

func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// journal appends an event under the next sequence. It returns how many old events gave way.
func (s *store) journal(o occurrence) (lost int, err error) {
	err = s.writes.do(func(tx *bbolt.Tx) error {
		lost, err = s.enter(tx, o)
		return err
	})
	return lost, err
}

// enter is journal within a write.
func (s *store) enter(tx *bbolt.Tx, o occurrence) (lost int, err error) {
	b := tx.Bucket(journalBucket)
	n, err := b.NextSequence()
	if err != nil {
		return 0, err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return 0, err
	}
	if err := b.Put(sequenceKey(n), raw); err != nil {
		return 0, err
	}
	c := b.Cursor()
	for k, _ := c.First(); k != nil && n-binary.BigEndian.Uint64(k) >= s.maxJournal; k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return lost, err
		}
		lost++
	}
	return lost, nil
}

// entries tells all that the service has not stored, in order.
func (s *store) entries(tell func(occurrence)) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(journalBucket).ForEach(func(_, v []byte) error {
			var o occurrence
			if err := json.Unmarshal(v, &o); err != nil {
				return err
			}
			tell(o)
			return nil
		})
	})
}

// pending is up to most events after a sequence, in order.
func (s *store) pending(after uint64, most int) (out []occurrence, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(journalBucket).Cursor()
		for k, v := c.Seek(sequenceKey(after + 1)); k != nil && len(out) < most; k, v = c.Next() {
			var o occurrence
			if err := json.Unmarshal(v, &o); err != nil {
				return err
			}
			o.Sequence = binary.BigEndian.Uint64(k)
			out = append(out, o)
		}
		return nil
	})
	return out, err
}

// acknowledged forgets the events that the service has stored. A service that has stored more than
// was ever journaled here knows a later life of this bridge: events go on after its count, so that
// none is taken for an old one.
func (s *store) acknowledged(upTo uint64) error {
	return s.writes.do(func(tx *bbolt.Tx) error {
		b := tx.Bucket(journalBucket)
		if upTo > b.Sequence() {
			return renumber(b, upTo)
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

func renumber(b *bbolt.Bucket, after uint64) error {
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

// actRecord is what is remembered of an act. Without an outcome it was begun and its end is not
// known.
type actRecord struct {
	ID      string    `json:"-"`
	Outcome string    `json:"outcome,omitempty"`
	Result  string    `json:"result,omitempty"`
	Reason  string    `json:"reason,omitempty"` // of a SmartKey: ok, or why it was refused
	Token   string    `json:"token,omitempty"`  // its id
	List    uint64    `json:"list,omitempty"`   // the number of the list it was judged by
	At      time.Time `json:"at"`
}

// beginAct notes an act durably before it is carried out. If it was seen before, it returns what
// became of it and false.
func (s *store) beginAct(id string, now time.Time) (rec actRecord, first bool, err error) {
	err = s.writes.do(func(tx *bbolt.Tx) error {
		b := tx.Bucket(actsBucket)
		if raw := b.Get([]byte(id)); raw != nil {
			rec.ID = id
			return json.Unmarshal(raw, &rec)
		}
		first = true
		if err := forgetActs(b, now); err != nil {
			return err
		}
		rec = actRecord{ID: id, At: now}
		return putAct(b, rec)
	})
	return rec, first, err
}

func (s *store) endAct(rec actRecord) error {
	return s.writes.do(func(tx *bbolt.Tx) error { return putAct(tx.Bucket(actsBucket), rec) })
}

func putAct(b *bbolt.Bucket, rec actRecord) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return b.Put([]byte(rec.ID), raw)
}

// forgetActs drops records past their time. A full memory of young acts refuses the next one.
func forgetActs(b *bbolt.Bucket, now time.Time) error {
	var old [][]byte
	n := 0
	err := b.ForEach(func(k, v []byte) error {
		var rec actRecord
		if err := json.Unmarshal(v, &rec); err != nil || now.Sub(rec.At) > actMemory || rec.At.After(now.Add(actMemory)) {
			old = append(old, append([]byte(nil), k...))
			return nil
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	if n >= maxActs {
		return errTooManyActs
	}
	return nil
}

// acts are the remembered acts, for a service that may have missed their end.
func (s *store) acts() (out []actRecord, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(actsBucket).ForEach(func(k, v []byte) error {
			rec := actRecord{ID: string(k)}
			if err := json.Unmarshal(v, &rec); err != nil {
				return err
			}
			out = append(out, rec)
			return nil
		})
	})
	return out, err
}
