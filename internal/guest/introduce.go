package guest

import (
	"fmt"
	"strings"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// Get returns a guest of a property. For an unknown guest, or one of another property, it returns errGuestNotFound.
func Get(view *db.Tx, propertyID, guestID string) (*Row, error) {
	rows, err := view.Guest.Query().Where(entguest.PropertyID(propertyID), entguest.ID(guestID)).Limit(1).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find a guest: %w", err)
	}
	if len(rows) == 0 {
		return nil, errGuestNotFound
	}
	return rows[0], nil
}

// InvitedTo returns the address to which a companion's link was mailed, or "" if none was mailed, such as a link that the main guest passed
// on.
func InvitedTo(view *db.Tx, keys *keyring.Ring, g *Row) (string, error) {
	answered, err := openPerson(view.Context(), keys, g)
	return answered.InvitedTo, err
}

// Introduction is the name and the reservation of a guest, for staff who read a message or a request.
type Introduction struct {
	Reservation *reservation.Row
	Name        string // the guest's; if none was given: the booker's for the main guest, empty for a companion
}

// Introduce returns a guest's name and reservation. A main guest who has given no name has that of the booker, and a companion an empty
// one.
func Introduce(view *db.Tx, keys *keyring.Ring, propertyID, guestID string) (Introduction, error) {
	row, err := Get(view, propertyID, guestID)
	if err != nil {
		return Introduction{}, err
	}
	reserved, err := loadReservation(view, propertyID, row.ReservationID)
	if err != nil {
		return Introduction{}, err
	}
	answered, err := openPerson(view.Context(), keys, row)
	if err != nil {
		return Introduction{}, err
	}
	name := strings.TrimSpace(answered.Answers[rule.FirstName] + " " + answered.Answers[rule.LastName])
	if name == "" && row.Role == Main {
		return introduceBooker(view, keys, reserved)
	}
	return Introduction{Reservation: reserved, Name: name}, nil
}

// IntroduceBooker returns the booker's name with the reservation. It needs no stored guests: callers use it for a stay that no guest has
// opened.
func IntroduceBooker(view *db.Tx, keys *keyring.Ring, propertyID, reservationID string) (Introduction, error) {
	reserved, err := loadReservation(view, propertyID, reservationID)
	if err != nil {
		return Introduction{}, err
	}
	return introduceBooker(view, keys, reserved)
}

// introduceBooker decrypts the booker's name.
func introduceBooker(view *db.Tx, keys *keyring.Ring, reserved *reservation.Row) (Introduction, error) {
	booker, err := reservation.Service{Keys: keys}.Booker(view.Context(), reserved)
	name := booker.LastName
	if booker.FirstName != nil {
		name = *booker.FirstName + " " + name
	}
	return Introduction{Reservation: reserved, Name: name}, err
}
