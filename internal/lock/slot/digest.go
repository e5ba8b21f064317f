package slot

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
)

// Digest is a truncated SHA-256.
type Digest [16]byte

// String is the digest in hex, or "" for the zero digest.
func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// Row is one slot of a lock as either side knows it: the desired generation and what was observed.
type Row struct {
	Slot       uint32
	Generation uint64
	Observed   Observed
}

// LockDigest sums up a lock's rows in any order. Bridge and server compute it over their own rows;
// equal digests mean that neither has something to tell the other. Times and content digests stay
// out: they differ without anything being wrong.
func LockDigest(rows []Row) Digest {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Slot, b.Slot) })
	h := sha256.New()
	var b []byte
	for _, r := range rows {
		b = binary.BigEndian.AppendUint32(b[:0], r.Slot)
		b = binary.BigEndian.AppendUint64(b, r.Generation)
		b = binary.BigEndian.AppendUint64(b, r.Observed.Generation)
		present := byte(0)
		if r.Observed.Present {
			present = 1
		}
		b = append(b, present)
		b = appendText(b, string(r.Observed.Evidence))
		b = appendText(b, string(r.Observed.Result))
		if r.Observed.Window > 0 || r.Observed.Used {
			b = binary.BigEndian.AppendUint32(b, uint32(r.Observed.Window))
			b = strconv.AppendBool(b, r.Observed.Used)
		}
		h.Write(b)
	}
	return truncate(h.Sum(nil))
}

// ContentDigest identifies a credential without showing it: HMAC-SHA-256 under a key that must not
// leave the bridge, since six digits are soon guessed without one.
func ContentDigest(key []byte, pin PIN, notBefore, notAfter time.Time) Digest {
	h := hmac.New(sha256.New, key)
	b := appendText(nil, string(pin))
	b = appendTime(b, notBefore)
	h.Write(appendTime(b, notAfter))
	return truncate(h.Sum(nil))
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.BigEndian.AppendUint64(append(b, 1), uint64(t.UnixMicro()))
}

func truncate(sum []byte) (d Digest) {
	copy(d[:], sum)
	return d
}
