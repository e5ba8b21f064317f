// Package checkin decides, from the answers of the property's PMS, whether a guest may check in without staff, and asks the
// PMS to check the guest in.
//
// The decision ([Decide]) is a pure function. [Ask] and [Complete] are the two calls of a check-in, in this order: each Ask
// queries the PMS again, and Complete asks it to check in only after a decision that allows it.
package checkin

import (
	"context"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
)

// Reasons of a blocked check-in, besides [fault.Owing] and [fault.RoomNotReady].
const (
	PartnerError          = fault.PartnerError
	PartnerUnavailable    = fault.PartnerUnavailable
	EndpointNotRegistered = fault.EndpointNotRegistered
)

// Keys of a fault's Meta under which a [PMS] keeps what the partner's error said. They are
// shown to staff; the text of the error itself holds none of it.
const (
	MetaReason  = "partnerReason"
	MetaMessage = "partnerMessage"
	// MetaNotCalled marks the error of a call that was not made: it says nothing new about the partner.
	MetaNotCalled = "notCalled"
	// MetaStatus is the HTTP status that the partner answered with.
	MetaStatus = "partnerStatus"
)

// ErrNotRegistered is the error of a [PMS] that has not registered an endpoint for the call.
var ErrNotRegistered = fault.New(fault.Precondition, EndpointNotRegistered,
	"the partner has not registered this endpoint; it does so with PATCH /v1/endpoints")

// PMS is the property management system of one integration. Every error of it blocks the
// guest, except [ErrNotRegistered].
type PMS interface {
	// CheckInStatus asks for the money owed and the room's state now. reservationID is
	// the partner's own id of the reservation (pmsMeta.id).
	CheckInStatus(ctx context.Context, reservationID string) (Status, error)
	// CheckIn asks the PMS to check the guest in. A second call with the same key has no
	// second effect at a partner that honours Idempotency-Key.
	CheckIn(ctx context.Context, idempotencyKey string, body Disclosure) error
}

// Status is what a PMS answers to getCheckInStatus.
type Status struct {
	Owing     money.Amount
	RoomReady bool
}

// Disclosure is the body of a checkIn call. With only ReservationID set it tells the
// partner nothing about the guest.
type Disclosure struct {
	ReservationID string   `json:"reservationId"` // pmsMeta.id
	MainCustomer  *Person  `json:"mainCustomer,omitempty"`
	Companions    []Person `json:"companions,omitempty"`
}

// Person holds what may be disclosed about one guest; a field left empty is not sent.
// Dates are YYYY-MM-DD, nationality is ISO 3166-1 alpha-2.
type Person struct {
	FirstName      string    `json:"firstName,omitempty"`
	LastName       string    `json:"lastName,omitempty"`
	Email          string    `json:"email,omitempty"`
	Mobile         string    `json:"mobile,omitempty"`
	BirthDate      string    `json:"birthDate,omitempty"`
	Nationality    string    `json:"nationality,omitempty"`
	Address        string    `json:"address,omitempty"`
	Hometown       *Town     `json:"hometown,omitempty"`
	Passport       *Document `json:"passport,omitempty"`
	DriversLicense *Document `json:"driversLicense,omitempty"`
	IDCard         *Document `json:"idCard,omitempty"`
}

// Town is where a guest lives.
type Town struct {
	City    string `json:"city,omitempty"`
	Country string `json:"country,omitempty"`
}

// Document is an identity document: its number and the day it expires, never an image.
type Document struct {
	Number string `json:"number,omitempty"`
	Expiry string `json:"expiry,omitempty"`
}
