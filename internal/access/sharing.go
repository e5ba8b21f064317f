package access

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/notice"
)

// sharesSpace reports whether another reservation has access to the same private space in a window that overlaps. It is false if this
// reservation has no access.
func (run *stayRun) sharesSpace() (bool, error) {
	if !isLive(run.grant) || !isPrivate(run.place.Space) {
		return false, nil
	}
	n, err := run.Tx.Grant.Query().Where(entgrant.PropertyID(run.PropertyID), entgrant.SpaceID(run.SpaceID),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(run.ID),
		entgrant.NotBeforeLT(run.grant.NotAfter), entgrant.NotAfterGT(run.grant.NotBefore)).Exist(run.Tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for sharers of a space: %w", err)
	}
	return n, nil
}

// endSharing clears the notice of each other reservation that no longer shares its private space, because this one has ended, moved out or
// changed its window. That changes nothing at the doors of the others, so that their access gets no run which would clear it.
func (run *stayRun) endSharing(d Delta) error {
	left := run.before.Live && run.before.SpaceID != "" && (!isLive(run.grant) || d.Moved || d.Redated)
	if !left {
		return nil
	}
	grants, err := run.Tx.Grant.Query().Where(entgrant.PropertyID(run.PropertyID), entgrant.SpaceID(run.before.SpaceID),
		entgrant.EndedAtIsNil()).All(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("look for former sharers of a space: %w", err)
	}
	var keys []string
	for _, g := range grants {
		if g.ID != run.ID && !slices.ContainsFunc(grants, func(o *ent.Grant) bool { return o.ID != g.ID && overlap(g, o) }) {
			keys = append(keys, notice.SpaceShared.Key(g.ID))
		}
	}
	return notice.Resolve(run.Tx, run.PropertyID, keys...)
}

// overlap reports whether the windows of two grants overlap.
func overlap(a, b *ent.Grant) bool {
	return a.NotBefore.Before(b.NotAfter) && b.NotBefore.Before(a.NotAfter)
}
