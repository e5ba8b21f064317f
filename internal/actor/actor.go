// Package actor describes the authenticated caller of a call. Authentication stores it in the call's context.
package actor

import (
	"context"
	"slices"
	"time"
)

// Kind is the area of the API to which the credential of an actor belongs. A credential is not valid in another area.
type Kind string

const (
	Operator    Kind = "operator"    // runs the installation
	Staff       Kind = "staff"       // a person who works at a property, or a script with a staff token
	Integration Kind = "integration" // a partner app at a property, or a script of the property with its API key
	Bridge      Kind = "bridge"      // an on-site bridge, known by its certificate
	Guest       Kind = "guest"       // a guest's device, or a guest at a kiosk, with a session for one stay or for a kept profile
	Kiosk       Kind = "kiosk"       // a check-in tablet
	System      Kind = "system"      // a job of the server, without a caller
)

// Scopes that an integration's credential may hold.
const (
	ReservationsWrite = "reservations:write"
	ReservationsRead  = "reservations:read"
	PINsRead          = "pins:read"
	GuestsRead        = "guests:read"
	EndpointsWrite    = "endpoints:write"
	WebhooksWrite     = "webhooks:write"
)

// SessionName is the name with which a command of an operator asks for a staff token. By this name the server makes the token one for a
// single command, whose changes are recorded as those of the operator.
const SessionName = "command line"

// Origins of a guest's session other than a kiosk.
const (
	OriginMail = "mail" // a link in a mail
	OriginDoor = "door" // the QR code at the door
)

// Actor is an authenticated caller. Fields that make no sense for a kind are empty.
type Actor struct {
	Kind          Kind
	ID            string // of the operator, person, staff token, integration, bridge, kiosk or guest's session
	PropertyID    string // the tenant; empty for operators, and for a person whose call names no property
	IntegrationID string
	AppID         string
	Role          string // of staff: a token's, or a person's at the property
	PersonID      string // of a signed-in person; empty: a token of the staff
	Scopes        []string
	TokenID       string       // of the credential used, never its secret
	ReservationID string       // of a guest's session
	GuestID       string       // of a companion's session; empty: the session acts for the whole party
	ProfileID     string       // of a session that opens a kept profile and no stay: the id of the profile; else empty
	Origin        string       // of a guest's session: OriginMail, OriginDoor, or the id of a kiosk
	HandedBy      string       // of a device to which another session handed the stay: the id of that session
	UsedAt        time.Time    // of a session: its last use, as stored, which may be some minutes behind
	ProvedAt      time.Time    // of a signed-in person: the last proof of who they are in this session; zero: unknown, which counts as too long ago
	SecondFactor  SecondFactor // of a signed-in person
	NoAccessProof bool         // of a signed-in person: the property switched the step-up for doors and PINs off
	For           string       // of a staff token made for one command of an operator: that operator's Subject, which records name as the author
}

// SecondFactor is the state of a signed-in person's second factor: whether there is one, and its last confirmation in this session.
type SecondFactor struct {
	Enrolled    bool
	ConfirmedAt time.Time // zero: never
}

// StepUpWithin is how long a confirmed second factor, or a sign-in, counts for calls that need it again.
const StepUpWithin = 15 * time.Minute

// Suffices reports whether a person may make a call that needs a confirmation of the second factor less than [StepUpWithin] ago. It returns
// true for a person without a second factor.
func (f SecondFactor) Suffices(now time.Time) bool {
	return !f.Enrolled || !f.ConfirmedAt.IsZero() && now.Sub(f.ConfirmedAt) < StepUpWithin
}

// Has reports whether the actor holds a scope. Only an integration can hold scopes.
func (a Actor) Has(scope string) bool { return slices.Contains(a.Scopes, scope) }

// Subject identifies the caller for rate limits and Idempotency-Keys: the integration if there is one, else kind and id, else
// the kind.
func (a Actor) Subject() string {
	switch {
	case a.IntegrationID != "":
		return a.IntegrationID
	case a.ID != "":
		return string(a.Kind) + ":" + a.ID
	default:
		return string(a.Kind)
	}
}

// Author returns the text by which records name the actor. It is the Subject, except for a token made for one command of an operator: that
// token soon ends, so the operator is recorded.
func (a Actor) Author() string {
	if a.For != "" {
		return a.For
	}
	return a.Subject()
}

type key struct{}

// With returns a context that carries the actor.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, key{}, a) }

// From returns the actor of a call, and false if no caller was authenticated.
func From(ctx context.Context) (Actor, bool) {
	a, ok := ctx.Value(key{}).(Actor)
	return a, ok
}
