package checkin

import (
	"time"

	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/money"
)

// Stage is the state of a check-in. The values are those of the API.
type Stage string

const (
	NotToday       Stage = "notToday"       // the stay begins on a later day
	NotStarted     Stage = "start"          // the guest has not said that they are at the property, or the PMS was not asked yet
	Details        Stage = "details"        // answers are missing
	ConfirmDetails Stage = "confirmDetails" // the guest confirms the answers on the day of arrival
	IdentityCheck  Stage = "identityCheck"  // a member of staff compares face and document
	Signature      Stage = "signature"      // the law wants a signature
	HouseRules     Stage = "houseRules"     // the guest accepts the house rules
	Stopped        Stage = "stopped"        // see Step.Stops
	Ready          Stage = "ready"          // the guest may press "check in now"
	Calling        Stage = "calling"        // checkIn is being called
	Waiting        Stage = "waiting"        // the PMS accepted; its change to started has not arrived
	AtDesk         Stage = "atDesk"         // the desk completes the check-in
	CheckedIn      Stage = "checkedIn"      // the reservation is started
	Ended          Stage = "ended"          // the stay is over or canceled; the PMS may still take that back
)

// StopReason is why a check-in does not continue. The values are those of the API.
type StopReason string

// Reasons of stops that come from the PMS's answer to getCheckInStatus. If that endpoint is not registered, StopOwing comes from the data
// of the reservation.
const (
	StopOwing        StopReason = "owing"
	StopRoomNotReady StopReason = "roomNotReady"
)

// Further reasons of stops. StopIdentityCheck and StopSignature wait until staff clear that stage, and StopStageRefused means that staff
// refused one of the two, which they can still clear.
const (
	StopPartnerError       StopReason = "partnerError"       // getCheckInStatus failed, but not with PartnerUnavailable
	StopPartnerUnavailable StopReason = "partnerUnavailable" // the call of getCheckInStatus got the error PartnerUnavailable
	StopIdentityCheck      StopReason = "identityCheck"
	StopSignature          StopReason = "signature"
	StopStageRefused       StopReason = "stageRefused"
	StopMinorAlone         StopReason = "minorAlone"     // no guest is an adult
	StopCheckInRefused     StopReason = "checkInRefused" // the PMS answered the checkIn call with a definite error
	StopAtDesk             StopReason = "atDesk"         // checkIn is not registered, or the reservation is not confirmed
	StopNoAnswer           StopReason = "noAnswer"       // it is not known whether the PMS checked the guest in
)

// AttemptState is the state of the latest checkIn call to the PMS.
type AttemptState string

const (
	NoAttempt       AttemptState = ""
	AttemptCalling  AttemptState = "calling" // the call is running, or its effect is not known: only a call under the same key may follow
	AttemptAccepted AttemptState = "accepted"
	AttemptRefused  AttemptState = "refused" // the next press begins another attempt with another key
	AttemptAtDesk   AttemptState = "atDesk"  // checkIn is not registered
)

// Facts are everything that decides about a check-in: the input of [Next].
type Facts struct {
	Now         time.Time
	Reservation ReservationFacts
	Party       PartyFacts
	Rules       Rules
	Answer      *Answer // Answer is the result of the latest getCheckInStatus call, also of a failed one; nil before the first
	Attempt     Attempt
	Cleared     []Clearance // Cleared has the decisions of staff that count for this arrival, the latest last

	BeganAt            time.Time // BeganAt is when the guest said that they are at the property, or zero
	BeganOn            string    // BeganOn is the day of BeganAt in the property's zone, YYYY-MM-DD, or empty
	ConfirmedOn        string    // ConfirmedOn is the day on which the guest confirmed the details, YYYY-MM-DD, or empty
	HouseRulesAccepted bool
}

// ReservationFacts are what the PMS last sent. Days are YYYY-MM-DD in the property's zone.
type ReservationFacts struct {
	State     string
	Today     string
	ArrivalOn string
	To        time.Time     // To is the planned departure
	ChangedAt time.Time     // ChangedAt is when the stored reservation last changed
	Owing     *money.Amount // Owing is nil if the PMS never sent it
}

// PartyFacts are what is known about the guests of the stay.
type PartyFacts struct {
	MissingGuestIDs []string // guests whom the rule requires and whose answers are not complete; one "" is for all guests without a row
	MinorAlone      bool     // no guest is an adult, which stops the check-in; false while guests without a row exist
	Signs           bool     // at least one guest signs the form of the law
	Unsigned        []string // ids of the guests who have to sign on a screen and have not; empty unless the settings want signatures there
}

// Rules are the property's settings that decide which steps a check-in needs and whether money owed blocks it.
type Rules struct {
	IdentityCheck string // none, compareAtDesk or live
	Signature     string // none, drawn, paper or external
	HouseRules    bool   // guests accept house rules
	Policy        Policy
}

// Answer is the result of a call of getCheckInStatus: what the PMS answered, or in Failure why there is no answer.
type Answer struct {
	At            time.Time     // At is when the call of getCheckInStatus was begun
	About         time.Time     // About is ChangedAt of the reservation when the PMS was asked
	NotRegistered bool          // getCheckInStatus is not registered, so the last data of the reservation decide
	Owing         *money.Amount // Owing is nil if the amount is not known
	RoomReady     bool          // RoomReady is also false if it is not known
	Failure       StopReason    // why the call failed: StopPartnerError or StopPartnerUnavailable; empty if it did not
}

// Attempt is the latest checkIn call to the PMS. Its Idempotency-Key is stored before the call.
type Attempt struct {
	Key    string
	State  AttemptState
	Calls  int       // Calls is the number of calls that were begun under Key
	At     time.Time // At is when the latest call was begun
	Failed bool      // Failed means that the latest call has ended and was not accepted; false while it runs
	// AcceptedAt is when the PMS accepted, or zero.
	AcceptedAt time.Time
}

// Clearance is a decision of staff: a stage is cleared or refused, or an amount is waived.
type Clearance struct {
	Stage   Stage
	Refused bool
	Waived  *money.Amount // Waived is the amount of [OwingWaived]; otherwise nil
	Stored  schema.ClearedStage
}

// OwingWaived is the stage of a clearance by which staff waive an amount for the check-in: it is paid in another way, or later.
const OwingWaived Stage = "owing"

// OwingRule says whether guests who still owe money may check in.
type OwingRule string

const (
	OwingBlocks    OwingRule = "block"     // any amount owed blocks; this is the default, also for an unknown rule
	OwingAllowed   OwingRule = "allow"     // guests who owe money may check in, because the property collects at check-out
	OwingThreshold OwingRule = "threshold" // an amount above the threshold blocks
)

// Policy is the property's rule about unpaid amounts at the check-in.
type Policy struct {
	Owing     OwingRule
	Threshold int64 // the largest amount that OwingThreshold lets pass, in minor units of the currency that is owed
}

// Blocks reports whether an unpaid amount stops the check-in.
func (p Policy) Blocks(owing money.Amount) bool {
	return p.rule() != OwingAllowed && owing.Minor > p.Limit(owing.Currency).Minor
}

// Limit returns the largest unpaid amount, in the given currency, that does not stop the check-in: the threshold, whatever the currency, or
// 0 for [OwingBlocks]. It has no meaning for [OwingAllowed], which accepts every amount.
func (p Policy) Limit(currency string) money.Amount {
	limit := money.Amount{Currency: currency}
	if p.rule() == OwingThreshold {
		limit.Minor = max(0, p.Threshold)
	}
	return limit
}

// rule returns the rule about money owed, which is [OwingBlocks] if it is unknown.
func (p Policy) rule() OwingRule {
	if p.Owing == OwingAllowed || p.Owing == OwingThreshold {
		return p.Owing
	}
	return OwingBlocks
}
