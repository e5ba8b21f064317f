package checkin

import (
	"slices"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// foundOften is how many searches within a day may find a checked-in stay before staff are notified. After the first one, the guest is sent to
// the mail with the code. Another search means that the guest did not get in, or that a stranger searches.
const foundOften = 2

// Find is [guest.Find]. It also notifies staff of a stay that is found again and again after the PMS checked the guest in.
func (s *Service) Find(tx *db.Tx, q guest.Search, m guest.Matches) (found guest.Found, refused, err error) {
	if found, refused, err = guest.Find(tx, s.Keys, q, m); err != nil || refused != nil || !found.CheckedIn {
		return found, refused, err
	}
	return found, nil, s.countFound(tx, Key{PropertyID: q.PropertyID, ReservationID: found.Session.ReservationID}, q.Place)
}

// countFound counts one more search that found a checked-in stay, and notifies staff if there are too many in a day. place names the kiosk or
// the QR code.
func (s *Service) countFound(tx *db.Tx, k Key, place string) error {
	times, err := guest.CountFound(tx, s.Keys, k.PropertyID, k.ReservationID)
	if err != nil || times < foundOften {
		return err
	}
	_, err = s.applyChange(tx, k, func(tx *db.Tx, r *record) error {
		n := r.notice(notice.CheckInRepeated, message.Params{"number": r.reservation.PmsNumber, "place": place})
		open, err := r.openNotices(tx)
		if err != nil {
			return err
		}
		if slices.Contains(open, notice.CheckInRepeated) {
			return notice.Renew(tx, n)
		}
		recent, err := isRecent(tx, n, mailInterval)
		if err != nil {
			return err
		}
		return s.notifyStaff(tx, n, !recent)
	})
	return err
}
