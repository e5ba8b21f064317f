package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// Directory loads the endpoints of PMSs; [partner.Registry] implements it.
type Directory interface {
	// Endpoint returns the endpoint of one action with its token, or a fault EndpointNotFound.
	Endpoint(tx *db.Tx, propertyID, integrationID, action string) (partner.Endpoint, error)
	// SigningSecrets returns the secrets that sign calls to the PMS, newest first; none before the first is made.
	SigningSecrets(tx *db.Tx, propertyID, integrationID string) ([]string, error)
}

// Spaces reads the spaces of PMSs and stores them.
type Spaces struct {
	DB        *db.DB
	Directory Directory
	// Fetch calls getSpaces. Its error is a fault with a message for staff. An urgent call is made even while the
	// circuit breaker is open.
	Fetch    func(ctx context.Context, e partner.Endpoint, signingSecrets []string, urgent bool) ([]space.Listed, error)
	Mappings space.Mappings
	// Replan recomputes the access of the reservations that a reading of spaces affects, in the same transaction; nil: it is not recomputed.
	Replan func(tx *db.Tx, propertyID string, t space.AffectedStays) error
	Log    *slog.Logger
	Clock  clock.Clock // Clock is the system's clock if nil
	// Timeout limits a whole reading; 0 means 30 s.
	Timeout time.Duration

	mu      sync.Mutex
	running map[space.Source]*runningRead
	closed  chan struct{}
	group   sync.WaitGroup
}

// runningRead is a reading in progress, shared by all callers that wait for it.
type runningRead struct {
	done    chan struct{} // done is closed at the end of the reading
	urgent  bool          // urgent means that the reading ignores an open circuit breaker
	outcome Outcome
	err     error
}

// Outcome is the result of a reading: what was stored, and why the PMS could not be read.
type Outcome struct {
	space.Recorded
	// Failure is why the reading failed, or nil. It has a message for staff. Its reason is partnerUnavailable if the PMS did not answer,
	// and partnerError if its answer was wrong or the service itself could not make the call.
	Failure *fault.Fault
}

var errStopping = fault.New(fault.Unavailable, fault.UnavailableReason, "the server is shutting down; try again").Retry(time.Second)

// Read calls getSpaces of an integration and stores the result. Concurrent calls for the same integration share one reading. A failure of
// the PMS is not an error: see [Outcome]. Without a registered endpoint the error is fault.EndpointNotFound, and after [Spaces.Close]
// errStopping. While the circuit breaker is open, or too many calls to the PMS run, it makes no call, stores nothing and returns a Failure.
func (s *Spaces) Read(ctx context.Context, propertyID, integrationID string) (Outcome, error) {
	f, err := s.joinOrStart(ctx, space.Source{PropertyID: propertyID, IntegrationID: integrationID}, false)
	if err != nil {
		return Outcome{}, err
	}
	return f.wait(ctx)
}

// ReadNow does the same as Read, but ignores an open circuit breaker, because a person is waiting. After a shared reading that made no
// call, it reads again. If too many calls to the PMS run, it still returns a Failure.
func (s *Spaces) ReadNow(ctx context.Context, propertyID, integrationID string) (Outcome, error) {
	for {
		f, err := s.joinOrStart(ctx, space.Source{PropertyID: propertyID, IntegrationID: integrationID}, true)
		if err != nil {
			return Outcome{}, err
		}
		if out, err := f.wait(ctx); err != nil || f.urgent || !wasHeldBack(out.Failure) {
			return out, err
		}
	}
}

// ReadAgain does the same as Read, but first waits for the end of a reading in progress, which may have missed a recent change.
func (s *Spaces) ReadAgain(ctx context.Context, propertyID, integrationID string) (Outcome, error) {
	s.mu.Lock()
	before := s.running[space.Source{PropertyID: propertyID, IntegrationID: integrationID}]
	s.mu.Unlock()
	if before != nil {
		_, _ = before.wait(ctx)
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
	}
	return s.Read(ctx, propertyID, integrationID)
}

// wait waits for the end of a reading and returns its result, or the error of ctx if that ends first. The reading continues then.
func (f *runningRead) wait(ctx context.Context) (Outcome, error) {
	select {
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	case <-f.done:
		return f.outcome, f.err
	}
}

// joinOrStart returns the reading of a PMS's spaces that runs already, urgent or not, or starts one; if urgent is true, that ignores an
// open circuit breaker. After [Spaces.Close] it returns errStopping, and after the end of ctx its error.
func (s *Spaces) joinOrStart(ctx context.Context, source space.Source, urgent bool) (*runningRead, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	select {
	case <-s.closed:
		return nil, errStopping
	default:
	}
	if f, ok := s.running[source]; ok {
		return f, nil
	}
	f := &runningRead{done: make(chan struct{}), urgent: urgent}
	s.running[source] = f
	s.group.Go(func() {
		f.outcome, f.err = s.runRead(ctx, source, urgent)
		s.mu.Lock()
		delete(s.running, source)
		s.mu.Unlock()
		close(f.done)
	})
	return f, nil
}

// runRead reads with a context of its own, because other callers may still wait when the first caller is gone. An urgent reading ignores an
// open circuit breaker. The reading ends after the time limit, or with errStopping when [Spaces.Close] is called.
func (s *Spaces) runRead(ctx context.Context, source space.Source, urgent bool) (Outcome, error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout())
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	s.group.Go(func() {
		select {
		case <-s.closed:
			cancel()
		case <-over:
		}
	})
	out, err := s.readOnce(bounded, source.PropertyID, source.IntegrationID, urgent)
	if errors.Is(err, context.Canceled) || fault.Has(err, fault.CanceledReason) {
		err = errStopping.With(err)
	}
	return out, err
}

// Close cancels the readings in progress and waits for them. A canceled reading stores nothing. Later readings are refused with
// errStopping.
func (s *Spaces) Close() {
	s.mu.Lock()
	s.init()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	s.group.Wait()
}

// init prepares the zero value for use. The caller holds the mutex.
func (s *Spaces) init() {
	if s.running == nil {
		s.running, s.closed = make(map[space.Source]*runningRead), make(chan struct{})
	}
}

// now returns the time of the configured clock, or of the system.
func (s *Spaces) now() time.Time {
	if s.Clock == nil {
		return clock.System.Now()
	}
	return s.Clock.Now()
}

// timeout returns the time limit of a reading, or its default.
func (s *Spaces) timeout() time.Duration {
	if s.Timeout <= 0 {
		return 30 * time.Second
	}
	return s.Timeout
}

// errEndpointChanged means that the partner changed the endpoint during the call, so that the answer is that of a former one.
var errEndpointChanged = errors.New("the endpoint was changed during the call")

// readOnce calls getSpaces once, if urgent is true even while the circuit breaker is open, and stores the spaces, or the failure. If the
// endpoint is changed during the call, it stores nothing and calls the changed one.
func (s *Spaces) readOnce(ctx context.Context, propertyID, integrationID string, urgent bool) (Outcome, error) {
	for {
		out, err := s.callOnce(ctx, propertyID, integrationID, urgent)
		if !errors.Is(err, errEndpointChanged) {
			return out, err
		}
	}
}

// callOnce calls getSpaces once and stores the spaces, or the failure, unless the endpoint is changed during the call: then it returns
// errEndpointChanged. urgent calls even while the circuit breaker is open. A call that was not made (see wasHeldBack) or was canceled
// stores nothing.
func (s *Spaces) callOnce(ctx context.Context, propertyID, integrationID string, urgent bool) (Outcome, error) {
	e, err := s.Directory.Endpoint(s.DB.View(ctx), propertyID, integrationID, partner.GetSpaces)
	if err != nil {
		return Outcome{}, err
	}
	secrets, err := s.Directory.SigningSecrets(s.DB.View(ctx), propertyID, integrationID)
	if err != nil {
		return Outcome{}, err
	}
	listing, err := s.Fetch(ctx, e, secrets, urgent)
	if errors.Is(err, context.Canceled) || fault.Has(err, fault.CanceledReason) {
		return Outcome{}, err
	}
	failure := failureForStaff(err)
	if failure != nil {
		s.Log.Warn("getSpaces failed", "property", propertyID, "integration", integrationID, "error", err)
	}
	if wasHeldBack(failure) {
		return Outcome{Failure: failure, Recorded: space.Recorded{Problem: callFailure(failure, err).Problem}}, nil
	}
	out, err := s.storeResult(ctx, e, listing, failure, err)
	if err != nil {
		return Outcome{}, fmt.Errorf("record a reading of getSpaces: %w", err)
	}
	return out, nil
}

// callFailure converts a failed call for the endpoint's record, with a text for staff. cause is the error of the call.
func callFailure(failure *fault.Fault, cause error) partner.Failure {
	said := strings.TrimSpace(failure.Meta[checkin.MetaReason] + " " + failure.Meta[checkin.MetaMessage])
	out := partner.FailureOf(cause, failure.Message, said)
	if out.Problem.Kind == "" {
		out.Problem = problemOf(cause)
	}
	return out
}

// problemOf returns the text for staff about an error that did not come from the PMS.
func problemOf(cause error) message.Message {
	if errors.Is(cause, context.DeadlineExceeded) {
		return message.Message{Kind: "endpoint.totalTime"}
	}
	return message.Message{Kind: "endpoint.setting"}
}

// storeResult stores the spaces that a PMS lists at the endpoint called, or why they could not be read, and replans the affected
// reservations. failure is for staff, and cause is the error of the call; both are nil after success. A list that is not valid is a failure
// in the result. If the registered endpoint is another one by now, it stores nothing and returns errEndpointChanged.
func (s *Spaces) storeResult(ctx context.Context, called partner.Endpoint, listing []space.Listed, failure *fault.Fault, cause error) (Outcome, error) {
	reading, health := space.Reading{Spaces: listing}, partner.Failure{}
	if failure != nil {
		health = callFailure(failure, cause)
		reading = space.Reading{Err: errors.New(failure.Message), Problem: health.Problem}
	}
	propertyID, integrationID := called.PropertyID, called.IntegrationID
	out := Outcome{Failure: failure}
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		registered, err := s.Directory.Endpoint(tx, propertyID, integrationID, partner.GetSpaces)
		if err != nil {
			return err
		}
		if !registered.CalledAs(called) {
			return errEndpointChanged
		}
		if err := partner.RecordCall(tx, propertyID, integrationID, partner.GetSpaces, health); err != nil {
			return err
		}
		r, err := s.Mappings.Record(tx, propertyID, integrationID, reading)
		if err != nil {
			return err
		}
		out.Recorded = r
		if s.Replan == nil || r.AffectedStays.Empty() {
			return nil
		}
		return s.Replan(tx, propertyID, r.AffectedStays)
	})
	if out.Failure == nil && out.Problem.Kind != "" {
		out.Failure = fault.New(fault.Precondition, fault.PartnerError, "%s", message.Reader{}.Text(out.Problem))
	}
	return out, err
}

// wasHeldBack reports whether no call was made, because the circuit breaker was open or too many calls to the PMS ran. It is false for a
// call that failed in another way before a request was sent.
func wasHeldBack(f *fault.Fault) bool { return f != nil && f.Meta[checkin.MetaNotCalled] != "" }

// failureForStaff returns the fault that staff see for a failed call, or nil if err is nil. Internal errors get a general message. Others
// end with the reason and message of the PMS.
func failureForStaff(err error) *fault.Fault {
	f, ok := fault.Of(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, fault.PartnerUnavailable, "the partner did not answer in time")
	case !ok || f.Kind == fault.Internal:
		return fault.New(fault.Precondition, fault.PartnerError, "getSpaces could not be called")
	}
	text := f.Message
	for _, key := range []string{checkin.MetaReason, checkin.MetaMessage} {
		if said := f.Meta[key]; said != "" {
			text += "; " + strconv.Quote(said)
		}
	}
	out := fault.New(f.Kind, f.Reason, "%s", text)
	out.RetryAfter, out.Meta = f.RetryAfter, f.Meta
	return out
}
