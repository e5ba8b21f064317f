package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// Directory finds the endpoints of partners; [partner.Registry] is one.
type Directory interface {
	Endpoint(ctx context.Context, c *ent.Client, propertyID, integrationID, action string) (partner.Endpoint, error)
	SigningSecrets(ctx context.Context, c *ent.Client, propertyID, integrationID string) ([]string, error)
}

// Spaces reads the listings of partners and stores what they bring.
type Spaces struct {
	DB        *db.DB
	Directory Directory
	// Fetch calls getSpaces. Its error is a fault whose message is for staff. A call that is urgent is
	// made although the partner's last calls failed.
	Fetch    func(ctx context.Context, e partner.Endpoint, signingSecrets []string, urgent bool) ([]space.Listed, error)
	Mappings space.Mappings
	// Replan plans the stays anew that a reading concerns, in its transaction.
	Replan func(tx *db.Tx, propertyID string, t space.Touched) error
	Log    *slog.Logger
	Clock  clock.Clock // nil: the system's
	// Timeout bounds a reading as a whole; 0 means 30 s.
	Timeout time.Duration

	mu      sync.Mutex
	flights map[space.Source]*flight
	closed  chan struct{} // made with flights, closed by Close
	flying  sync.WaitGroup
}

// flight is one reading under way, for all who wait for it.
type flight struct {
	landed  chan struct{}
	urgent  bool
	outcome Outcome
	err     error
}

// Outcome is what a reading of getSpaces came to.
type Outcome struct {
	space.Recorded
	// Failure is why the reading does not count, nil if it does: a fault with a message for staff, partnerError if the
	// partner answered and partnerUnavailable if not.
	Failure *fault.Fault
}

var errStopping = fault.New(fault.Unavailable, fault.UnavailableReason, "the server is shutting down; try again").Retry(time.Second)

// Read calls getSpaces of an integration and returns what the answer changed. Calls for the same integration at the same
// time share one reading. A partner's failure is no error: see [Outcome]. Without a registered endpoint the error is
// fault.EndpointNotFound. While the partner's calls are paused after failures, no call is made.
func (s *Spaces) Read(ctx context.Context, propertyID, integrationID string) (Outcome, error) {
	f, err := s.join(ctx, space.Source{PropertyID: propertyID, IntegrationID: integrationID}, false)
	if err != nil {
		return Outcome{}, err
	}
	return f.wait(ctx)
}

// ReadNow is Read for a person who waits for the answer: the call is made also while the partner's calls are paused.
func (s *Spaces) ReadNow(ctx context.Context, propertyID, integrationID string) (Outcome, error) {
	for {
		f, err := s.join(ctx, space.Source{PropertyID: propertyID, IntegrationID: integrationID}, true)
		if err != nil {
			return Outcome{}, err
		}
		if out, err := f.wait(ctx); err != nil || f.urgent || !notCalled(out.Failure) {
			return out, err
		}
	}
}

// ReadAgain is Read for a caller who knows of a change that a reading under way may have missed: it begins when that one has ended.
func (s *Spaces) ReadAgain(ctx context.Context, propertyID, integrationID string) (Outcome, error) {
	s.mu.Lock()
	before := s.flights[space.Source{PropertyID: propertyID, IntegrationID: integrationID}]
	s.mu.Unlock()
	if before != nil {
		if _, err := before.wait(ctx); ctx.Err() != nil {
			return Outcome{}, err
		}
	}
	return s.Read(ctx, propertyID, integrationID)
}

func (f *flight) wait(ctx context.Context) (Outcome, error) {
	select {
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	case <-f.landed:
		return f.outcome, f.err
	}
}

// join finds the reading under way or starts one.
func (s *Spaces) join(ctx context.Context, source space.Source, urgent bool) (*flight, error) {
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
	if f, ok := s.flights[source]; ok {
		return f, nil
	}
	f := &flight{landed: make(chan struct{}), urgent: urgent}
	s.flights[source] = f
	s.flying.Go(func() {
		f.outcome, f.err = s.fly(ctx, source, urgent)
		s.mu.Lock()
		delete(s.flights, source)
		s.mu.Unlock()
		close(f.landed)
	})
	return f, nil
}

// fly reads under a context of its own: others may wait when the first who asked has gone.
func (s *Spaces) fly(ctx context.Context, source space.Source, urgent bool) (Outcome, error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout())
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	s.flying.Go(func() {
		select {
		case <-s.closed:
			cancel()
		case <-over:
		}
	})
	out, err := s.read(bounded, source.PropertyID, source.IntegrationID, urgent)
	if errors.Is(err, context.Canceled) || fault.Has(err, fault.CanceledReason) {
		err = errStopping.With(err)
	}
	return out, err
}

// Close gives up the readings under way, which changes nothing, and waits for them to end.
func (s *Spaces) Close() {
	s.mu.Lock()
	s.init()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	s.flying.Wait()
}

func (s *Spaces) init() {
	if s.flights == nil {
		s.flights, s.closed = make(map[space.Source]*flight), make(chan struct{})
	}
}

func (s *Spaces) now() time.Time {
	if s.Clock == nil {
		return clock.System.Now()
	}
	return s.Clock.Now()
}

func (s *Spaces) timeout() time.Duration {
	if s.Timeout <= 0 {
		return 30 * time.Second
	}
	return s.Timeout
}

func (s *Spaces) read(ctx context.Context, propertyID, integrationID string, urgent bool) (Outcome, error) {
	e, err := s.Directory.Endpoint(ctx, s.DB.Read(), propertyID, integrationID, partner.GetSpaces)
	if err != nil {
		return Outcome{}, err
	}
	secrets, err := s.Directory.SigningSecrets(ctx, s.DB.Read(), propertyID, integrationID)
	if err != nil {
		return Outcome{}, err
	}
	listing, err := s.Fetch(ctx, e, secrets, urgent)
	if errors.Is(err, context.Canceled) || fault.Has(err, fault.CanceledReason) {
		return Outcome{}, err
	}
	failure := failureOf(err)
	if failure != nil {
		s.Log.Warn("getSpaces failed", "property", propertyID, "integration", integrationID, "error", err)
	}
	if notCalled(failure) {
		return Outcome{Failure: failure}, nil
	}
	out, err := s.record(ctx, propertyID, integrationID, listing, failure)
	if err != nil {
		return Outcome{}, fmt.Errorf("record a reading of getSpaces: %w", err)
	}
	return out, nil
}

// record stores what a call of getSpaces brought.
func (s *Spaces) record(ctx context.Context, propertyID, integrationID string, listing []space.Listed, failure *fault.Fault) (Outcome, error) {
	reading, text := space.Reading{Spaces: listing}, ""
	if failure != nil {
		text = failure.Message
		reading = space.Reading{Err: errors.New(text)}
	}
	out := Outcome{Failure: failure}
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := partner.RecordCall(tx, propertyID, integrationID, partner.GetSpaces, text); err != nil {
			return err
		}
		r, err := s.Mappings.Record(tx, propertyID, integrationID, reading)
		if err != nil {
			return err
		}
		out.Recorded = r
		if s.Replan == nil || r.Touched.Empty() {
			return nil
		}
		return s.Replan(tx, propertyID, r.Touched)
	})
	if out.Failure == nil && out.Failed != "" {
		out.Failure = fault.New(fault.Precondition, fault.PartnerError, "%s", out.Failed)
	}
	return out, err
}

// notCalled reports whether a failure is that of a call that was not made.
func notCalled(f *fault.Fault) bool { return f != nil && f.Meta[checkin.MetaNotCalled] != "" }

// failureOf makes the fault that staff read of a failed call, nil for none. Only a fault's own words are meant for them.
func failureOf(err error) *fault.Fault {
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
