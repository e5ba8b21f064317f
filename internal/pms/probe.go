package pms

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
)

// ProbeReservation is the reservation id in a probe (a test call). No partner has such a reservation, so an error about it is a correct
// answer, and checkIn affects no guest.
const ProbeReservation = "latchkey-test"

// Report is the result of a probe.
type Report struct {
	Action     string
	OK         bool            // OK means that the endpoint can be called and fulfils the contract
	Status     int             // Status is the HTTP status; 0 if there was no answer
	Latency    time.Duration   // Latency is the duration of the attempt, or of the whole call, with the wait for a slot, if it failed
	Cause      Cause           // Cause is why the call failed; empty if it succeeded
	Message    string          // Message says what is wrong, without text from the PMS; empty if nothing is
	Problem    message.Message // Problem is Message as a text in every language; zero if nothing went wrong
	Spaces     int             // Spaces is the number of spaces in a getSpaces answer; 0 if an entry violates the contract
	Violations []fault.Field   // Violations of the contract have paths in the PMS's answer, those for CauseAddress the path "url"
	Reason     string          // Reason is the reason in the PMS's error, for staff
	// PartnerMsg is the message in the PMS's error, for staff.
	PartnerMsg string
}

// Problems returns what is wrong with the endpoint in English sentences, without text from the partner; nil: nothing.
func (p *Report) Problems() (all []string) {
	for _, v := range p.Violations {
		all = append(all, strings.TrimPrefix(v.Path+": "+v.Message, ": "))
	}
	if p.Message != "" {
		all = append(all, p.Message)
	}
	return all
}

// Texts returns [Report.Problems] as texts in every language, one for each, in the same order.
func (p *Report) Texts() (all []message.Message) {
	for _, v := range p.Violations {
		all = append(all, ViolationText(v))
	}
	if p.Message != "" {
		all = append(all, p.Problem)
	}
	return all
}

// Probe calls a target once, immediately, even if the breaker is open, and reports whether the endpoint works. A partner requests it to
// test its endpoint. It returns an error only for an unknown action.
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
	a, err := c.execute(ctx, t, what)
	report := Report{Action: t.Action, Latency: time.Since(start)}
	var failure *CallError
	if errors.As(err, &failure) {
		report.addFailure(failure)
		return report, nil
	}
	report.Status, report.Latency = a.status, a.latency
	report.checkAnswer(a.body)
	report.OK = len(report.Violations) == 0
	return report, nil
}

// checkAnswer adds the violations of the contract in the body of an answer to the report.
func (p *Report) checkAnswer(body []byte) {
	switch p.Action {
	case GetSpaces:
		r := &reader{}
		p.Spaces = r.inspectSpaces(body)
		p.Violations = r.violations
	case GetCheckInStatus:
		_, p.Violations = DecodeStatus(body)
	}
	if len(p.Violations) > 0 {
		p.Cause, p.Message, p.Problem = CauseContract, "the answer breaks the contract", endpointText("broken", nil)
	}
}

// addFailure adds a failed call to the report. An error about the unknown reservation of the probe is a correct
// answer.
func (p *Report) addFailure(e *CallError) {
	p.Status, p.Reason, p.PartnerMsg, p.Violations = e.Status, e.Reason, e.Message, e.Violations
	if p.Action != GetSpaces && e.isUnknownReservation() {
		p.OK = true
		return
	}
	p.Cause, p.Message, p.Problem = e.Cause, e.Error(), e.Problem()
}

// isUnknownReservation reports whether an endpoint answered that it does not know the reservation: any error in a 2xx answer, or a 4xx
// status. A 404 without an error body, which means a wrong address, and 401, 403, 405 and 429 do not count.
func (e *CallError) isUnknownReservation() bool {
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
