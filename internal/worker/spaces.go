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
	// Fetch calls getSpaces. Its error is a fault whose message is for staff.
	Fetch    func(ctx context.Context, e partner.Endpoint, signingSecrets []string) ([]space.Listed, error)
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
	landed   chan struct{}
	recorded space.Recorded
	err      error
}

var errStopping = fault.New(fault.Unavailable, fault.UnavailableReason, "the server is shutting down; try again").Retry(time.Second)

// Read calls getSpaces of an integration now and returns what the answer changed. Calls for the
// same integration at the same time share one reading. A partner's failure is no error: see
// [space.Recorded]. Without a registered endpoint it is fault.EndpointNotFound.
func (s *Spaces) Read(ctx context.Context, propertyID, integrationID string) (space.Recorded, error) {
	f, err := s.join(ctx, space.Source{PropertyID: propertyID, IntegrationID: integrationID})
	if err != nil {
		return space.Recorded{}, err
	}
	select {
	case <-ctx.Done():
		return space.Recorded{}, ctx.Err()
	case <-f.landed:
		return f.recorded, f.err
	}
}

// ReadAnew is Read for who knows of a change that a reading under way may have missed: it begins when that one has ended.
func (s *Spaces) ReadAnew(ctx context.Context, propertyID, integrationID string) (space.Recorded, error) {
	s.mu.Lock()
	before := s.flights[space.Source{PropertyID: propertyID, IntegrationID: integrationID}]
	s.mu.Unlock()
	if before != nil {
		select {
		case <-ctx.Done():
			return space.Recorded{}, ctx.Err()
		case <-before.landed:
		}
	}
	return s.Read(ctx, propertyID, integrationID)
}

// join finds the reading under way or starts one.
func (s *Spaces) join(ctx context.Context, source space.Source) (*flight, error) {
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
	f := &flight{landed: make(chan struct{})}
	s.flights[source] = f
	s.flying.Go(func() {
		f.recorded, f.err = s.fly(ctx, source)
		s.mu.Lock()
		delete(s.flights, source)
		s.mu.Unlock()
		close(f.landed)
	})
	return f, nil
}

// fly reads under a context of its own: others may wait when the first who asked has gone.
func (s *Spaces) fly(ctx context.Context, source space.Source) (space.Recorded, error) {
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
	recorded, err := s.read(bounded, source.PropertyID, source.IntegrationID)
	if errors.Is(err, context.Canceled) || fault.Has(err, fault.CanceledReason) {
		err = errStopping.With(err)
	}
	return recorded, err
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

func (s *Spaces) read(ctx context.Context, propertyID, integrationID string) (space.Recorded, error) {
	e, err := s.Directory.Endpoint(ctx, s.DB.Read(), propertyID, integrationID, partner.GetSpaces)
	if err != nil {
		return space.Recorded{}, err
	}
	secrets, err := s.Directory.SigningSecrets(ctx, s.DB.Read(), propertyID, integrationID)
	if err != nil {
		return space.Recorded{}, err
	}
	listing, failure := s.Fetch(ctx, e, secrets)
	if errors.Is(failure, context.Canceled) || fault.Has(failure, fault.CanceledReason) {
		return space.Recorded{}, failure
	}
	reading, text := space.Reading{Spaces: listing}, ""
	if failure != nil {
		text = explain(failure)
		reading = space.Reading{Err: errors.New(text)}
		s.Log.Warn("getSpaces failed", "property", propertyID, "integration", integrationID, "error", failure)
	}
	var recorded space.Recorded
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := partner.RecordCall(tx, propertyID, integrationID, partner.GetSpaces, text); err != nil {
			return err
		}
		r, err := s.Mappings.Record(tx, propertyID, integrationID, reading)
		if err != nil {
			return err
		}
		recorded = r
		if s.Replan == nil || r.Touched.Empty() {
			return nil
		}
		return s.Replan(tx, propertyID, r.Touched)
	})
	if err != nil {
		return space.Recorded{}, fmt.Errorf("record a reading of getSpaces: %w", err)
	}
	return recorded, nil
}

// explain is what staff are told of a failed call. Only a fault's own words are meant for them.
func explain(err error) string {
	f, ok := fault.Of(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the partner did not answer in time"
	case !ok || f.Kind == fault.Internal:
		return "getSpaces could not be called"
	}
	text := f.Message
	for _, key := range []string{checkin.MetaReason, checkin.MetaMessage} {
		if said := f.Meta[key]; said != "" {
			text += "; " + strconv.Quote(said)
		}
	}
	return text
}
