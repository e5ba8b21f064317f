package code

import (
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/notice"
)

// notifyPINReplaced notifies staff that a PIN was replaced after they read it, because only they can pass the new one on. It
// notifies once until the new PIN is read. A PIN that was never read changes without a notice.
func notifyPINReplaced(tx *db.Tx, c *ent.Code) error {
	if c.ReadAt == nil {
		return nil
	}
	which, err := describe(tx, c)
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: "codeRedrawn", Subject: c.ID, OnceKey: pinReplacedKey(c.ID),
		Text: fmt.Sprintf("%s has a new PIN, because a lock already holds the old one for another person. The PIN that was shown no longer works. "+
			"Show the new one (latchkey code reveal %s) and pass it on.", which, c.ID),
	})
}

func pinReplacedKey(codeID string) string { return codeID + "/codeRedrawn" }

// describe names a code at the beginning of a sentence.
func describe(tx *db.Tx, c *ent.Code) (string, error) {
	switch Kind(c.Kind) {
	case Backup:
		lk, err := lock.Get(tx.Context(), tx.Client, c.PropertyID, c.LockID)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("A backup code of lock %q", lk.Name), nil
	case OneTime:
		return fmt.Sprintf("The one-time code of %q", c.Holder), nil
	}
	return fmt.Sprintf("The staff code of %q", c.Holder), nil
}

// notifyMissing notifies staff once while a lock cannot take a code.
func notifyMissing(tx *db.Tx, c *ent.Code, missing bool) error {
	key := c.ID + "/codeNotPlaced"
	if !missing {
		return notice.Settle(tx, key)
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: "codeNotPlaced", Subject: c.ID, OnceKey: key,
		Text: "A staff, one-time or backup code is missing on a lock: the lock has no free slot, takes no PIN that the property's rules allow, or does not support such a code. Latchkey retries each minute.",
	})
}

// notifyBackupUsed notifies staff of the use of a backup code, because its PIN may be known to others now.
func notifyBackupUsed(tx *db.Tx, c *ent.Code, lockID string) error {
	lk, err := lock.Get(tx.Context(), tx.Client, c.PropertyID, lockID)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("A backup code of lock %q was used. It still opens the door: swap the lock's backup codes.", lk.Name)
	if c.EndedAt != nil {
		text = fmt.Sprintf("A backup code of lock %q was used. The code has ended since, and opens the door no more once the lock has removed it.", lk.Name)
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: "backupCodeUsed", Subject: c.ID, OnceKey: c.ID + "/backupCodeUsed", Text: text,
	})
}
