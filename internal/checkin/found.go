package checkin

import (
	"slices"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// foundOften is the number of searches within a day that find a checked-in stay before staff are notified: the second one notifies them.
// After the first one, the guest is sent to the mail with the code. Another search means that the guest did not get in, or that a stranger
// searches.
const foundOften = 2

// Find is [guest.Find], and also notifies staff if searches find a stay foundOften times in a day after the PMS checked the guest in.
// refused is the error for the guest; with it, the caller must still commit the transaction, which counts the attempt.
func (s *Service) Find(tx *db.Tx, q guest.Search, m guest.Matches) (found guest.Found, refused, err error) {
	if found, refused, err = guest.Find(tx, s.Keys, q, m); err != nil || refused != nil || !found.CheckedIn {
		return found, refused, err
	}
	return found, nil, s.countFound(tx, Key{PropertyID: q.PropertyID, ReservationID: found.Session.ReservationID}, q.Place)
}

// countFound counts one more search that found a checked-in stay. From foundOften in a day it adds a notice or updates the unread one, and
// mails staff about a new one at most once per mailInterval. place names the kiosk or the QR code.
func (s *Service) countFound(tx *db.Tx, k Key, place string) error {
	times, err := guest.CountFound(tx, s.Keys, k.PropertyID, k.ReservationID)
	if err != nil || times < foundOften {
		return err
	}
	_, err = s.applyChange(tx, k, func(tx *db.Tx, r *record) error {
		n := r.notice(notice.CheckInRepeated, message.Params{"number": r.reservation.PmsNumber, "place": place})
		if err := notice.SupersedeRead(tx, n.PropertyID, n.OnceKey); err != nil { // the guest, or a stranger, searches after staff have seen to it
			return err
		}
		open, err := r.openNotices(tx)
		if err != nil {
			return err
		}
		if slices.Contains(open, notice.CheckInRepeated) {
			return notice.Renew(tx, n)
		}
		mailed, err := wasMailed(tx, n)
		if err != nil {
			return err
		}
		return s.notifyStaff(tx, n, !mailed)
	})
	return err
}
