package lock

import (
	"fmt"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
)

// A bridge generates a boot id at each start, so a boot id that another one has replaced does not appear again. If two machines have
// one identity, because a disk was copied, they supersede each other in turns, and the replaced id appears again.

// maxBootID is how many bytes of a boot id are stored.
const maxBootID = 31

// updateBootHistory adds the boot id of a new session to the record: the present id, a space, and the different one before it. back: the
// id before the present one has appeared again.
func updateBootHistory(record, boot string) (next string, back bool) {
	boot = strings.ReplaceAll(boot, " ", "_")
	boot = boot[:min(len(boot), maxBootID)]
	present, before, _ := strings.Cut(record, " ")
	if boot == present || boot == "" {
		return record, false
	}
	return strings.TrimSpace(boot + " " + present), boot == before
}

// detectClonedBridge notifies staff if a bridge runs twice, and ends the problem when a third boot id appears. before is the bridge
// before this session.
func detectClonedBridge(tx *db.Tx, before *ent.Bridge, record string, back bool) error {
	key := before.ID + "/bridgeDoubled"
	switch {
	case back && before.Online:
		return notice.Add(tx, notice.Notice{
			PropertyID: before.PropertyID, Kind: "bridgeDoubled", Subject: before.ID, OnceKey: key,
			Text: fmt.Sprintf("Two machines run as bridge %q and disconnect each other in turns. Only one drives the locks at a time, so codes arrive late. "+
				"One has a copy of the other's disk or directory: stop it. If you need both, enrol it with a join code of its own.", before.Name),
		})
	case !back && record != before.BootID: // a start of neither of the two
		return notice.Settle(tx, key)
	}
	return nil
}
