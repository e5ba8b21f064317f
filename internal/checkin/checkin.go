// Package checkin checks guests in without staff. It asks the property's PMS whether a guest may check in, and then to check
// the guest in. Only the PMS's own change of the reservation gives access.
//
// The decision ([Next]) is a pure function of the stored facts. [Service] stores them, calls the PMS and evaluates again: in
// the requests of guests and staff, and in a sweep that resumes what a crash interrupted.
package checkin

import (
	"context"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
)

// Reasons of the errors of a [PMS].
const (
	PartnerError          = fault.PartnerError
	PartnerUnavailable    = fault.PartnerUnavailable
	EndpointNotRegistered = fault.EndpointNotRegistered
)

// Keys of a fault's Meta under which a [PMS] keeps the text of the PMS's error. Staff see them; the fault's own text
// does not contain them.
const (
	MetaReason  = "partnerReason"
	MetaMessage = "partnerMessage"
	// MetaNotCalled marks the error of a call that was not made, for example because the circuit breaker was open.
	MetaNotCalled = "notCalled"
	// MetaUnreadable marks the error of an answer that exceeds the limits, with a status 2xx or none: it is not known whether the call had an
	// effect. With any other status the answer counts as that status.
	MetaUnreadable = "unreadable"
	// MetaCall is the webhook-id of the call.
	MetaCall = "partnerCall"
	// MetaStatus is the HTTP status of the PMS's answer.
	MetaStatus = "partnerStatus"
)

// ErrNotRegistered means that a PMS has not registered an endpoint for the call.
var ErrNotRegistered = fault.New(fault.Precondition, EndpointNotRegistered,
	"the partner has not registered this endpoint; it does so with PATCH /v1/endpoints")

// PMS is the property management system of one integration. Each of its errors stops the guest's check-in, except [ErrNotRegistered] from
// CheckInStatus: then the data of the reservation decide. After ErrNotRegistered from CheckIn, the desk completes the check-in.
type PMS interface {
	// CheckInStatus asks for the money owed and the present state of the room. reservationID is the PMS's own id of
	// the reservation (pmsMeta.id).
	CheckInStatus(ctx context.Context, reservationID string) (Status, error)
	// CheckIn asks the PMS to check the guest in. A retry with the same key has no second effect at a PMS that
	// supports Idempotency-Key.
	CheckIn(ctx context.Context, idempotencyKey string, body Disclosure) error
}

// Status is what a PMS answers to getCheckInStatus.
type Status struct {
	Owing     money.Amount
	RoomReady bool
}

// Disclosure is the body of a checkIn call, in the JSON of the message CheckInRequest of latchkey.pms.v1. It is stored in this form, and a
// test of package server compares the fields of both. With only ReservationID set it discloses nothing about the guest.
type Disclosure struct {
	ReservationID string   `json:"reservationId"` // ReservationID is pmsMeta.id
	MainCustomer  *Person  `json:"mainCustomer,omitempty"`
	Companions    []Person `json:"companions,omitempty"`
}

// Person is what may be disclosed about one guest; an empty field is not sent. Dates are YYYY-MM-DD, nationality is
// ISO 3166-1 alpha-2.
type Person struct {
	FirstName      string    `json:"firstName,omitempty"`
	LastName       string    `json:"lastName,omitempty"`
	SecondLastName string    `json:"secondLastName,omitempty"`
	Sex            string    `json:"sex,omitempty"`
	Kinship        string    `json:"kinship,omitempty"`
	Email          string    `json:"email,omitempty"`
	Mobile         string    `json:"mobile,omitempty"`
	BirthDate      string    `json:"birthDate,omitempty"`
	Nationality    string    `json:"nationality,omitempty"`
	Address        string    `json:"address,omitempty"`
	Hometown       *Town     `json:"hometown,omitempty"`
	Passport       *Document `json:"passport,omitempty"`
	DriversLicense *Document `json:"driversLicense,omitempty"`
	IDCard         *Document `json:"idCard,omitempty"`

	BirthPlace           string           `json:"birthPlace,omitempty"`
	BirthCountry         string           `json:"birthCountry,omitempty"`
	FurtherNationalities []string         `json:"furtherNationalities,omitempty"`
	CountryComingFrom    string           `json:"countryComingFrom,omitempty"`
	Document             *DocumentDetails `json:"document,omitempty"` // Document has what the three kinds above have no field for
}

// Town is where a guest lives, from the answers about the address. Country is ISO 3166-1 alpha-2.
type Town struct {
	City    string `json:"city,omitempty"`
	Country string `json:"country,omitempty"`
}

// Document is an identity document: its number and expiry date, never an image.
type Document struct {
	Number string `json:"number,omitempty"`
	Expiry string `json:"expiry,omitempty"`
}

// DocumentDetails are further fields of an identity document. Number is set only if the document is of another kind than the
// three that have a field of their own.
type DocumentDetails struct {
	Type             string `json:"type,omitempty"`
	Number           string `json:"number,omitempty"`
	SupportNumber    string `json:"supportNumber,omitempty"`
	IssuingPlace     string `json:"issuingPlace,omitempty"`
	IssuingCountry   string `json:"issuingCountry,omitempty"`
	IssuingAuthority string `json:"issuingAuthority,omitempty"`
	IssueDate        string `json:"issueDate,omitempty"`
}
