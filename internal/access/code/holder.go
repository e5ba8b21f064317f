package code

import (
	"context"
	"fmt"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// HolderOf decrypts the name of the person who holds a code. For a backup code, which belongs to a lock, it is "backup".
func HolderOf(ctx context.Context, keys *keyring.Ring, c *ent.Code) (string, error) {
	if len(c.SealedHolder) == 0 {
		return c.Holder, nil // stored before names were encrypted, see SealHolders
	}
	name, err := keys.Open(ctx, c.PropertyID, holderPurpose(c.ID), c.SealedHolder)
	if err != nil {
		return "", fmt.Errorf("open the holder of a code: %w", err)
	}
	return string(name), nil
}

// sealHolder encrypts a name so that it can be decrypted only for this code.
func sealHolder(rec access.Reconciler, propertyID, codeID, name string) ([]byte, error) {
	sealed, err := rec.Keys.Seal(rec.Tx.Context(), propertyID, holderPurpose(codeID), []byte(name))
	if err != nil {
		return nil, fmt.Errorf("seal the holder of a code: %w", err)
	}
	return sealed, nil
}

// holderPurpose returns the associated data of an encrypted name, which binds the ciphertext to one code.
func holderPurpose(codeID string) string { return "codeHolder/" + codeID }

// SealHolders encrypts up to limit names of holders that earlier versions stored in plain text, and returns their number. If it returns
// limit, more may be left. It removes the names from notices about these codes.
func SealHolders(rec access.Reconciler, limit int) (int, error) {
	ctx := rec.Tx.Context()
	rows, err := rec.Tx.Code.Query().Where(entcode.HolderNEQ("")).Limit(limit).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("find the holders of codes to seal: %w", err)
	}
	for _, c := range rows {
		sealed, err := sealHolder(rec, c.PropertyID, c.ID, c.Holder)
		if err != nil {
			return 0, err
		}
		err = rec.Tx.Code.UpdateOne(c).SetSealedHolder(sealed).SetHolder("").Exec(ctx)
		if err == nil && Kind(c.Kind) != Backup {
			err = rec.Tx.Notice.Update().Where(entnotice.PropertyID(c.PropertyID), entnotice.Kind(string(notice.CodeRedrawn)), entnotice.Subject(c.ID)).
				SetParameters(pinReplacedParams(c, textOfKind(c))).Exec(ctx)
			watch.Notify(rec.Tx, c.PropertyID, watch.Notices)
		}
		if err != nil {
			return 0, fmt.Errorf("seal the holder of a code: %w", err)
		}
	}
	return len(rows), nil
}
