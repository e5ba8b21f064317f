package pms

import (
	"context"
	"errors"
	"net/http"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// ProbeReservation is the reservation a probe asks about. No partner has it, so an error
// about it is what a sound endpoint answers, and checkIn checks nobody in.
const ProbeReservation = "latchkey-test"

// Report is what one probe of an endpoint found.
type Report struct {
	Action     string
	OK         bool          // the endpoint can be called and keeps the contract
	Status     int           // HTTP status; 0 when there was no answer
	Latency    time.Duration // of the whole exchange
	Cause      Cause         // why the call failed; empty when it did not
	Message    string        // what went wrong, without the partner's own words; empty if nothing
	Spaces     int           // how many a getSpaces listed
	Violations []fault.Field // of the contract: paths in the partner's answer
	Reason     string        // what the partner's error says, for staff
	PartnerMsg string
}

// Probe calls a target once, now, whatever the breaker says, and reports what it found.
// Its error says that the target cannot be called at all: no such action.
func (c *Client) Probe(ctx context.Context, t Target) (Report, error) {
	what := call{action: t.Action, urgent: true}
	switch t.Action {
	case GetSpaces:
	case GetCheckInStatus:
		what.reservationID = ProbeReservation
	case CheckIn:
		what.key = id.New(id.Request)
		what.disclosure = &checkin.Disclosure{ReservationID: ProbeReservation}
	default:
		return Report{}, fault.Fields(fault.Field{
			Path: "action", Reason: fault.WrongValue, Message: "must be getSpaces, getCheckInStatus or checkIn",
		})
	}
	start := time.Now()
	a, err := c.do(ctx, t, what)
	report := Report{Action: t.Action, Latency: time.Since(start)}
	var failure *CallError
	if errors.As(err, &failure) {
		report.blame(failure)
		return report, nil
	}
	report.Status, report.Latency = a.status, a.latency
	report.read(a.body)
	report.OK = len(report.Violations) == 0
	return report, nil
}

func (p *Report) read(body []byte) {
	switch p.Action {
	case GetSpaces:
		var spaces []Space
		spaces, p.Violations = DecodeSpaces(body)
		p.Spaces = len(spaces)
	case GetCheckInStatus:
		_, p.Violations = DecodeStatus(body)
	}
	if len(p.Violations) > 0 {
		p.Cause, p.Message = CauseContract, "the answer breaks the contract"
	}
}

// blame reports a failed call. A refusal of the reservation that does not exist is sound.
func (p *Report) blame(e *CallError) {
	p.Status, p.Reason, p.PartnerMsg, p.Violations = e.Status, e.Reason, e.Message, e.Violations
	if p.Action != GetSpaces && e.refusesReservation() {
		p.OK = true
		return
	}
	p.Cause, p.Message = e.Cause, e.Error()
}

// refusesReservation tells an endpoint that does not know the reservation from one that
// is at another address (a 404 without words) or does not let us in.
func (e *CallError) refusesReservation() bool {
	if e.Cause == CauseError {
		return true
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusTooManyRequests:
		return false
	case http.StatusNotFound:
		return e.Reason != "" || e.Message != ""
	}
	return e.Cause == CauseStatus && e.Status/100 == 4
}
