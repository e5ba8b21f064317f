package access

import (
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/notice"
)

// notifyPINReplaced notifies staff that a PIN was replaced after they read it, because only they can pass the new one on. It
// notifies once until the new PIN is read. A PIN that was never read changes without a notice.
func (run *grantRun) notifyPINReplaced(c *ent.Code) error {
	if c.ReadAt == nil {
		return nil
	}
	which, err := describeCode(run.tx, c)
	if err != nil {
		return err
	}
	return notice.Add(run.tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: "codeRedrawn", Subject: c.ID, OnceKey: pinReplacedKey(c.ID),
		Text: fmt.Sprintf("%s has a new PIN, because a lock already holds the old one for another person. The PIN that was shown no longer works. "+
			"Show the new one (latchkey code reveal %s) and pass it on.", which, c.ID),
	})
}

func pinReplacedKey(codeID string) string { return codeID + "/codeRedrawn" }

// describeCode names a code at the beginning of a sentence.
func describeCode(tx *db.Tx, c *ent.Code) (string, error) {
	switch CodeKind(c.Kind) {
	case BackupCode:
		lk, err := lock.Get(tx.Context(), tx.Client, c.PropertyID, c.LockID)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("A backup code of lock %q", lk.Name), nil
	case OneTimeCode:
		return fmt.Sprintf("The one-time code of %q", c.Holder), nil
	}
	return fmt.Sprintf("The staff code of %q", c.Holder), nil
}
