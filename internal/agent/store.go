package agent

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"latchkey.dev/internal/lock/slot"
)

const (
	keyFile          = "bridge.key"
	storeFile        = "bridge.db"
	keyLen           = 32              // bytes
	storeLockTimeout = 2 * time.Second // how long openStore waits for another process to close the store before it fails
)

var (
	metaBucket     = []byte("meta")
	locksBucket    = []byte("locks")
	slotsBucket    = []byte("slots")
	journalBucket  = []byte("journal")
	commandsBucket = []byte("acts")
	guardsBucket   = []byte("guards")
	identityKey    = []byte("identity")
)

// store is the bridge's durable state in one bbolt file. All secrets are encrypted with a key from a separate file. A write is durable when
// it returns.
type store struct {
	db         *bbolt.DB
	aead       cipher.AEAD
	maxJournal uint64
	writes     groupCommit
}

// openStore opens the store in a directory, and creates directory, key file and store if they are missing. It refuses a store whose key
// file is lost. It returns an error that wraps ErrInUse if another process keeps the store open for storeLockTimeout.
func openStore(dir string) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the bridge's directory: %w", err)
	}
	key, err := loadOrCreateKey(dir)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, storeFile)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: storeLockTimeout, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: %s is locked", ErrInUse, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the bridge's store %s: %w", path, err)
	}
	s := &store{db: db, aead: aead, maxJournal: maxJournalEntries, writes: groupCommit{db: db}}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, locksBucket, slotsBucket, journalBucket, commandsBucket, keysBucket, guardsBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close closes the file, so that another process can open the store. No write may be running.
func (s *store) Close() error { return s.db.Close() }

// loadOrCreateKey reads the key file of a directory, or creates it if the directory has no store yet. It refuses a key file of another
// length, or one to which other users have any access.
func loadOrCreateKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, keyFile)
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, storeFile)); err == nil {
			return nil, fmt.Errorf("%s, the key of the bridge's store, is missing: restore it from a backup, or remove the directory and enrol again", path)
		}
		return createKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the bridge's key file: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %o): chmod 600 it", path, st.Mode().Perm())
	}
	key, err := os.ReadFile(path)
	if err == nil && len(key) != keyLen {
		err = fmt.Errorf("%s holds %d bytes, want %d: restore it from a backup, or remove the directory and enrol again", path, len(key), keyLen)
	}
	return key, err
}

// createKey writes a new random key to a new file that only this user can read, and returns it. It fails if the file exists.
func createKey(path string) ([]byte, error) {
	key := make([]byte, keyLen)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the bridge's key file: %w", err)
	}
	_, err = f.Write(key)
	return key, errors.Join(err, f.Sync(), f.Close())
}

// sealContext returns the additional data of an encrypted value. It binds the value to its bucket and key, so that values cannot be
// exchanged.
func sealContext(bucket, key []byte) []byte { return slices.Concat(bucket, []byte{0}, key) }

// putSealed encrypts v as JSON and stores it under key in a bucket. It can only be decrypted under the same bucket and key.
func (s *store) putSealed(tx *bbolt.Tx, bucket, key []byte, v any) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	return tx.Bucket(bucket).Put(key, s.aead.Seal(nonce, nonce, plain, sealContext(bucket, key)))
}

// openSealed decrypts a value that putSealed stored under bucket and key, and decodes its JSON into v.
func (s *store) openSealed(bucket, key, sealed []byte, v any) error {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return fmt.Errorf("the bridge's store: %s %q is damaged", bucket, key)
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], sealContext(bucket, key))
	if err != nil {
		return fmt.Errorf("the bridge's store: %s %q does not open with this key file", bucket, key)
	}
	return json.Unmarshal(plain, v)
}

// identity is the bridge's identity from its enrolment. A renewal of the certificate replaces Certificate and Key.
type identity struct {
	BridgeID       string `json:"bridgeId"`
	PropertyID     string `json:"propertyId"`
	Certificate    []byte `json:"certificate"`    // Certificate is X.509 in DER
	Key            []byte `json:"key"`            // Key is the certificate's private key, PKCS #8
	CA             []byte `json:"ca"`             // CA is X.509 in DER
	SealKey        []byte `json:"sealKey"`        // SealKey is the HPKE private key that decrypts PINs
	ConnectAddress string `json:"connectAddress"` // ConnectAddress is the host:port of the server's listener for bridges
	ServerName     string `json:"serverName"`     // ServerName is the name that the server's certificate must have; never empty
	// Site, KeySet and List, the status list, are stored so that the bridge verifies SmartKeys before it reaches the server: see
	// docs/smartkey.md.
	Site   string `json:"site,omitempty"`
	KeySet []byte `json:"keySet,omitempty"`
	List   []byte `json:"list,omitempty"`
}

var (
	// ErrInUse means that another process has the store open.
	ErrInUse       = errors.New("a bridge runs on this directory")
	errNotEnrolled = errors.New("this bridge is not enrolled: ask staff for a join code and run latchkey-bridge enroll")
)

// CheckStored returns nil if a directory has a store, an error about enrolment if not, or another error that says why that cannot be seen. It
// creates no files.
func CheckStored(dir string) error {
	_, err := os.Stat(filepath.Join(dir, storeFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w. The directory is %s; give another one with --dir", errNotEnrolled, dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: run this command as the bridge's user: sudo -u latchkey-bridge latchkey-bridge --dir %s", err, dir)
	}
	return err
}

// inUse reports whether another process has the store of a directory open; false if there is no store, or if it cannot be read.
func inUse(dir string) bool {
	db, err := bbolt.Open(filepath.Join(dir, storeFile), 0o600, &bbolt.Options{Timeout: time.Nanosecond, ReadOnly: true})
	if err == nil {
		_ = db.Close()
	}
	return errors.Is(err, bolterrors.ErrTimeout)
}

// identity returns the bridge's stored identity, or errNotEnrolled.
func (s *store) identity() (id identity, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		sealed := tx.Bucket(metaBucket).Get(identityKey)
		if sealed == nil {
			return errNotEnrolled
		}
		return s.openSealed(metaBucket, identityKey, sealed, &id)
	})
	return id, err
}

// resetTo replaces the identity and deletes everything else except the driver's settings. The server treats a newly enrolled bridge as
// empty and expects its event sequence to start at 1.
func (s *store) resetTo(id identity) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{locksBucket, slotsBucket, journalBucket, commandsBucket, keysBucket, guardsBucket} {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return s.putSealed(tx, metaBucket, identityKey, id)
	})
}

// setIdentity replaces the identity after a renewal of the certificate. Unlike resetTo it keeps everything else.
func (s *store) setIdentity(id identity) error {
	return s.writes.update(func(tx *bbolt.Tx) error { return s.putSealed(tx, metaBucket, identityKey, id) })
}

// slotKey returns the key of a slot in its bucket. The slots of a lock have a common prefix and sort by number.
func slotKey(address string, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte(address), 0), number)
}

// loadLock loads the state of a lock with capabilities caps, and clock, the offset with which the lock's windows were set. If nothing is
// stored about the lock, ok is false and l has only the capabilities.
func (s *store) loadLock(address string, caps slot.Capabilities) (l slot.Lock, clock time.Duration, ok bool, err error) {
	l.Caps = caps
	err = s.db.View(func(tx *bbolt.Tx) error {
		sealed := tx.Bucket(locksBucket).Get([]byte(address))
		if sealed == nil {
			return nil
		}
		var stored storedLock
		if err := s.openSealed(locksBucket, []byte(address), sealed, &stored); err != nil {
			return err
		}
		ok, clock = true, stored.Clock
		l.Op, l.Seq, l.Fence = stored.Op.toOp(), stored.Seq, stored.Fence
		prefix := append([]byte(address), 0)
		c := tx.Bucket(slotsBucket).Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && len(k) == len(prefix)+4; k, v = c.Next() {
			var row storedSlot
			if err := s.openSealed(slotsBucket, k, v, &row); err != nil {
				return err
			}
			l.Slots = append(l.Slots, row.toSlot())
		}
		return nil
	})
	return l, clock, ok, err
}

// saveLock stores a lock's state after, of which before is already stored, together with journal entries. It writes nothing if there are no
// entries and the difference need not survive a restart. clock is the offset with which the lock's windows were set.
func (s *store) saveLock(address string, before, after slot.Lock, clock time.Duration, entries ...journalEntry) error {
	changed := changedSlots(before, after)
	if len(changed) == 0 && len(entries) == 0 && isHarmless(before.Op) && isHarmless(after.Op) && before.Fence.Equal(after.Fence) {
		return nil
	}
	return s.writeLock(address, after, changed, clock, entries...)
}

// isHarmless reports whether an operation changes nothing at the lock, so that it need not be stored first.
func isHarmless(op slot.Op) bool { return op.Kind == "" || op.Kind == slot.OpRead }

// writeLock stores a lock's state with those of its slots that changed, the offset of its clock, and journal entries, all in one write.
func (s *store) writeLock(address string, l slot.Lock, changed []slot.Slot, clock time.Duration, entries ...journalEntry) error {
	return s.writes.update(func(tx *bbolt.Tx) error {
		err := s.putSealed(tx, locksBucket, []byte(address), storedLock{storeOp(l.Op), l.Seq, l.Fence, clock})
		for _, row := range changed {
			if err == nil {
				err = s.putSealed(tx, slotsBucket, slotKey(address, row.Number), storeSlot(row))
			}
		}
		for _, o := range entries {
			if err == nil {
				_, err = s.appendInTx(tx, o)
			}
		}
		return err
	})
}

// changedSlots returns the slots of after that differ from before or are new.
func changedSlots(before, after slot.Lock) []slot.Slot {
	var out []slot.Slot
	for _, row := range after.Slots {
		if was, ok := before.Slot(row.Number); !ok || was != row {
			out = append(out, row)
		}
	}
	return out
}
