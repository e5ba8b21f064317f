package guest

import (
	"fmt"
	"time"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// MailedLink is a link whose secret was created with the text of a mail.
type MailedLink struct {
	PropertyID, ReservationID string
	GuestID                   string // of a companion; empty: the booker's
	Secret                    string
	Address                   string // the address that the mail goes to
	ExpiresAt                 time.Time
}

// Store stores the hash of the link's secret. A retried mail has the same secret, which is stored once.
func (l MailedLink) Store(tx *db.Tx, keys *keyring.Ring) error {
	mac := linkMAC(keys, l.Secret)
	stored, err := tx.GuestLink.Query().Where(guestlink.PropertyID(l.PropertyID), guestlink.MAC(mac)).Exist(tx.Context())
	if err == nil && !stored {
		err = tx.GuestLink.Create().SetID(id.New(id.GuestLink)).SetPropertyID(l.PropertyID).SetReservationID(l.ReservationID).SetGuestID(l.GuestID).
			SetMAC(mac).SetAddressMAC(AddressMAC(keys, l.PropertyID, l.Address)).
			SetExpiresAt(l.ExpiresAt).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("store the link of a mail: %w", err)
	}
	return nil
}

// RevokeMailedLink ends a link of a mail unless a device uses it.
func RevokeMailedLink(tx *db.Tx, keys *keyring.Ring, propertyID, secret string) error {
	err := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(guestlink.PropertyID(propertyID), guestlink.MAC(linkMAC(keys, secret)),
		guestlink.BoundAtIsNil(), guestlink.RevokedAtIsNil()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the link of a mail: %w", err)
	}
	return nil
}
