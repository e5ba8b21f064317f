package lock

import (
	"fmt"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

// A bridge draws a boot id at each start. Whoever restarts, or comes back on another line, never shows again the one it
// had before its last. Two machines with one identity, a disk that was copied, supersede each other in turns: the id of
// the session before the last comes back.

// maxBoot is how much of a boot id is kept, in bytes.
const maxBootID = 31

// boots moves the record of boot ids on by one session: the present one, a space, and the one before it that was
// another. Back says that the one before came back.
func updateBootHistory(record, boot string) (next string, back bool) {
	boot = strings.ReplaceAll(boot, " ", "_")
	boot = boot[:min(len(boot), maxBootID)]
	present, before, _ := strings.Cut(record, " ")
	if boot == present || boot == "" {
		return record, false
	}
	return strings.TrimSpace(boot + " " + present), boot == before
}

// watchDoubles tells staff of a bridge that runs twice. Back says that an earlier boot took over from a later one; the
// bridge is as it was before.
func detectClonedBridge(tx *db.Tx, before *ent.Bridge, record string, back bool) error {
	key := before.ID + "/bridgeDoubled"
	switch {
	case back && before.Online:
		return staff.Notify(tx, staff.Notice{
			PropertyID: before.PropertyID, Kind: "bridgeDoubled", Subject: before.ID, OnceKey: key,
			Text: fmt.Sprintf("Two machines run as bridge %q and push each other out in turns; only one drives the locks at a time, and codes come late. "+
				"One has a copy of the other's disk or directory: stop it, and enrol it with a join code of its own if it shall stay.", before.Name),
		})
	case !back && record != before.BootID: // a start that is none of two in turns
		return staff.Settle(tx, key)
	}
	return nil
}
