package code

import (
	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// notifyPINReplaced notifies staff that the PIN of a code was replaced, because they must pass on the new PIN. It does nothing if staff
// have never read a PIN of the code. It notifies once until the new PIN is read.
func notifyPINReplaced(tx *db.Tx, c *ent.Code) error {
	if c.ReadAt == nil {
		return nil
	}
	which, err := describe(tx, c)
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: notice.CodeRedrawn, Subject: c.ID, OnceKey: pinReplacedKey(c.ID),
		Params: pinReplacedParams(c, which),
	})
}

// pinReplacedParams returns the parameters of the notice that the PIN of a code was replaced. which is a text that names the code.
func pinReplacedParams(c *ent.Code, which message.Message) message.Params {
	return message.Params{"code": which, "codeId": c.ID}
}

// pinReplacedKey returns the deduplication key of the notice that a code's PIN was replaced.
func pinReplacedKey(codeID string) string { return notice.CodeRedrawn.Key(codeID) }

// describe returns a text for a code, for the start of a sentence in a notice. It omits the name of the holder, which is stored only in the
// code.
func describe(tx *db.Tx, c *ent.Code) (message.Message, error) {
	if Kind(c.Kind) == Backup {
		lk, err := lock.Get(tx, c.PropertyID, c.LockID)
		if err != nil {
			return message.Message{}, err
		}
		name, err := lock.NoticeName(tx, lk)
		return message.Message{Kind: "code.backup", Params: message.Params{"lock": name}}, err
	}
	return textOfKind(c), nil
}

// textOfKind returns a text for the kind of a code, such as "A staff code", for the start of a sentence in a notice. The code must not be a
// backup code, whose text needs the name of its lock: see describe.
func textOfKind(c *ent.Code) message.Message { return message.Message{Kind: "code." + c.Kind} }

// notifyMissing notifies staff once that a lock of the code cannot store the code, if missing is set. Otherwise it resolves that notice.
func notifyMissing(tx *db.Tx, c *ent.Code, missing bool) error {
	key := notice.CodeNotPlaced.Key(c.ID)
	if !missing {
		return notice.Resolve(tx, c.PropertyID, key)
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: notice.CodeNotPlaced, Subject: c.ID, OnceKey: key,
	})
}

// notifyBackupUsed notifies staff once that a backup code was used, because others may now know its PIN. lockID is the lock at which it was
// used.
func notifyBackupUsed(tx *db.Tx, c *ent.Code, lockID string) error {
	lk, err := lock.Get(tx, c.PropertyID, lockID)
	if err != nil {
		return err
	}
	name, err := lock.NoticeName(tx, lk)
	if err != nil {
		return err
	}
	what := "backupCode.stillOpens"
	if c.EndedAt != nil {
		what = "backupCode.ended"
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: notice.BackupCodeUsed, Subject: c.ID, OnceKey: notice.BackupCodeUsed.Key(c.ID),
		Params: message.Params{"what": message.Message{Kind: what, Params: message.Params{"lock": name}}},
	})
}
