package slot

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
)

// Digest is a SHA-256 truncated to 16 bytes.
type Digest [16]byte

// DigestRow is the part of a slot's state on which server and bridge must agree.
type DigestRow struct {
	Slot       uint32
	Generation uint64
	Observed   Observed
}

// LockDigest hashes the rows of a lock, in any order. The bridge and the server each hash their rows; equal digests mean that they are in
// sync. Times and the text of Rule are not hashed, because they may differ without a fault.
func LockDigest(rows []DigestRow) Digest {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b DigestRow) int { return cmp.Compare(a.Slot, b.Slot) })
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
		if r.Observed.Cleared {
			b = append(b, 1)
		}
		h.Write(b)
	}
	return truncate(h.Sum(nil))
}

// appendText appends a text with its length, so that no two lists of texts have the same encoding.
func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// truncate returns the first bytes of a hash as a Digest.
func truncate(sum []byte) (d Digest) {
	copy(d[:], sum)
	return d
}
