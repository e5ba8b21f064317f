package checkin

import (
	"context"
	"log/slog"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
)

// Service runs check-ins. All exported fields but Starts are required.
type Service struct {
	DB   *db.DB
	Keys *keyring.Ring
	// PMS returns the PMS of an integration.
	PMS    func(ctx context.Context, propertyID, integrationID string) (PMS, error)
	Queue  *jobs.Queue
	Log    *slog.Logger
	Starts *Starts // Starts, if not nil, makes "check in now" wait for the PMS to start the stay

	turns     turns
	interrupt func(point string) error // interrupt, if not nil, simulates a crash between two steps, in tests
}

// WithDB returns a copy of the service that uses another database handle, such as that of a lease. The copy counts presses of buttons on
// its own, which does not matter: sweeps use it, and only guests press.
func (s *Service) WithDB(d *db.DB) *Service {
	return &Service{DB: d, Keys: s.Keys, PMS: s.PMS, Queue: s.Queue, Log: s.Log, Starts: s.Starts, interrupt: s.interrupt}
}

// View is a check-in as pages show it.
type View struct {
	Step
	Facts
	Row    *Row
	People *guest.Party
	record *record
}

// NextAsk returns when the service calls the PMS again by itself about a stopped check-in, or zero. The stored NextAskAt differs: it also
// schedules the evaluation at the departure, which calls no PMS.
func (v View) NextAsk() time.Time {
	if v.Stage != Stopped {
		return time.Time{}
	}
	return v.At
}

// Row is what is stored about a check-in. Its id is empty if nothing is stored.
type Row = ent.Stay

// view returns the check-in and the decision about it at a time.
func (r *record) view(now time.Time) View {
	f := r.facts(now)
	return View{Step: Next(f), Facts: f, Row: r.stay, People: r.Party, record: r}
}

// Get returns a check-in with the decision about it now. It does not ask the PMS and stores nothing. An unknown reservation is the error
// fault.ReservationNotFound.
func (s *Service) Get(view *db.Tx, k Key) (View, error) {
	r, err := s.load(view, k)
	if err != nil {
		return View{}, err
	}
	return r.view(view.Now()), nil
}

// Read is [Service.Get] with a database view of its own.
func (s *Service) Read(ctx context.Context, k Key) (v View, err error) {
	err = s.DB.ViewShared(ctx, func(view *db.Tx) error {
		v, err = s.Get(view, k)
		return err
	})
	return v, err
}

// Of returns the check-in of a party that [guest.LoadParty] returned, or [guest.ViewParty] with true. It reads nothing.
func Of(p *guest.Party, now time.Time) (View, error) {
	r, err := newRecord(p, true)
	if err != nil {
		return View{}, err
	}
	return r.view(now), nil
}

// mainGuest returns the key of the check-in whose steps the session a may take. It refuses any actor but the main guest, such as a
// companion.
func mainGuest(a actor.Actor) (Key, error) {
	if a.Kind != actor.Guest || a.GuestID != "" {
		return Key{}, guest.ErrMainGuestOnly
	}
	return Key{PropertyID: a.PropertyID, ReservationID: a.ReservationID}, nil
}

// Start records that the guest is at the property, and asks the PMS, whose failure is a stop and no error. If the check-in has begun
// already, it only asks. If the PMS may not be asked now, it does nothing. It returns an error for a companion, and after too many presses:
// see inTurn.
func (s *Service) Start(ctx context.Context, a actor.Actor) (View, error) {
	k, err := mainGuest(a)
	if err != nil {
		return View{}, err
	}
	ctx = context.WithoutCancel(ctx) // a guest who closes the page does not interrupt a call
	v, err := s.write(ctx, k, func(r *record, now time.Time) {
		if f := r.facts(now); Next(f).Stage == NotStarted && !f.begun() {
			r.begin(a.Origin, now)
		}
	})
	if err != nil || !v.mayAsk() {
		return v, err
	}
	return s.inTurn(ctx, k, a, func() (View, error) { return s.ask(ctx, k, v, "") })
}

// begin records that the guest begins the check-in. origin is that of the session. It clears what an earlier beginning and call left, from
// before the PMS moved the stay to a later day.
func (r *record) begin(origin string, now time.Time) {
	r.stay.BeganBy, r.stay.BeganAt, r.stay.Answer, r.stay.RoomReadyMailedAt = origin, &now, schema.StatusAnswer{}, nil
	r.forgetAttempt()
}

// forgetAttempt removes everything that is stored about the checkIn call, so that a new check-in begins with a new key.
func (r *record) forgetAttempt() {
	r.stay.AttemptKey, r.stay.AttemptSession, r.stay.AttemptState, r.stay.Attempts, r.stay.Refusal = "", "", "", 0, schema.StatusAnswer{}
	r.stay.AttemptAt, r.stay.AcceptedAt, r.stay.AttemptBody = nil, nil, nil
}

// mayAsk reports whether the PMS may be asked (getCheckInStatus): the guest has begun on the present dates, the stay is confirmed and not
// over, and no checkIn call runs, was accepted, or has an effect that is not known. In the last case only that call may be repeated: see
// [Service.retry].
func (v View) mayAsk() bool {
	if v.Attempt.State == AttemptCalling || v.Attempt.State == AttemptAccepted || !v.begun() {
		return false
	}
	switch v.Stage {
	case NotToday, CheckedIn, Ended:
		return false
	}
	return v.Reservation.State == "confirmed"
}

// AskAgain asks the PMS at once whether the guest may check in (getCheckInStatus). If the effect of a checkIn call is not known, it repeats
// that call under its key instead. If the PMS refused the call, it is like a new press of "check in now": it asks, and calls checkIn under
// a new key. If the PMS may not be asked now, it does nothing. It refuses as [Service.Start] does.
func (s *Service) AskAgain(ctx context.Context, a actor.Actor) (View, error) {
	k, err := mainGuest(a)
	if err != nil {
		return View{}, err
	}
	ctx = context.WithoutCancel(ctx) // a guest who closes the page does not interrupt a call
	return s.inTurn(ctx, k, a, func() (View, error) { return s.askAgain(ctx, k, a) })
}

// askAgain does the work of AskAgain for any caller: it neither refuses companions nor waits for its turn, see inTurn. by is the guest, or
// the zero value if staff ask. If the PMS refused checkIn, it calls checkIn under a new key only for a guest; for staff it only asks
// (getCheckInStatus). Both repeat a checkIn call whose effect is not known. ctx must not end when the caller leaves.
func (s *Service) askAgain(ctx context.Context, k Key, by actor.Actor) (View, error) {
	v, err := s.Read(ctx, k)
	switch {
	case err != nil:
		return View{}, err
	case v.CanComplete && v.Attempt.State == AttemptCalling:
		return s.retry(ctx, k, by)
	case v.CanComplete && v.Attempt.State == AttemptRefused && by.ID != "":
		return s.press(ctx, k, v, by.ID)
	case !v.mayAsk():
		return v, nil
	}
	return s.ask(ctx, k, v, "")
}

// ConfirmDetails records that the data of all guests are still right. It does nothing if an answer is missing, or if the stay is over or
// canceled. It returns an error for a companion.
func (s *Service) ConfirmDetails(ctx context.Context, a actor.Actor) (View, error) {
	k, err := mainGuest(a)
	if err != nil {
		return View{}, err
	}
	return s.write(ctx, k, func(r *record, now time.Time) {
		if f := r.facts(now); Next(f).Stage != Ended && len(f.Party.MissingGuestIDs) == 0 {
			r.stay.DetailsConfirmedAt = &now
		}
	})
}

// Complete is the guest's press of "check in now". It asks the PMS once more (getCheckInStatus), and then to check the guest in (checkIn).
// If the effect of an earlier checkIn call is not known, it only repeats that call. If something else is open, it changes nothing. With
// Starts it then waits, up to Starts.Wait, for the PMS to start the stay. It refuses as [Service.Start] does.
func (s *Service) Complete(ctx context.Context, a actor.Actor) (View, error) {
	k, err := mainGuest(a)
	if err != nil {
		return View{}, err
	}
	if s.Starts != nil {
		return s.completeAndWait(ctx, k, a)
	}
	return s.complete(context.WithoutCancel(ctx), k, a)
}

// complete is Complete without the wait for the PMS to start the stay.
func (s *Service) complete(ctx context.Context, k Key, a actor.Actor) (View, error) {
	return s.inTurn(ctx, k, a, func() (View, error) { return s.completeInTurn(ctx, k, a) })
}

// completeInTurn is complete for a caller who has made sure that no other call about the stay runs.
func (s *Service) completeInTurn(ctx context.Context, k Key, a actor.Actor) (View, error) {
	v, err := s.Read(ctx, k)
	switch {
	case err != nil:
		return View{}, err
	case !v.CanComplete:
		return v, nil
	case v.Attempt.State == AttemptCalling:
		return s.retry(ctx, k, a)
	}
	return s.press(ctx, k, v, a.ID)
}

// press calls getCheckInStatus, and then checkIn if nothing stops the check-in. session is that of the guest who pressed.
func (s *Service) press(ctx context.Context, k Key, v View, session string) (View, error) {
	v, err := s.ask(ctx, k, v, session)
	if err != nil || !v.record.claimed {
		return v, err
	}
	return s.call(ctx, k, v)
}

// claim begins a new attempt to call checkIn if nothing else is open, and sets r.claimed. It decides on the reservation that its own
// transaction reads, so checkIn is never called for a started reservation. session is that of the guest who pressed.
func (r *record) claim(now time.Time, session string) {
	f := r.facts(now)
	if f.Attempt.State == AttemptCalling || f.Attempt.State == AttemptAccepted {
		return
	}
	f.Attempt = Attempt{}
	if Next(f).Stage != Ready {
		return
	}
	r.forgetAttempt()
	r.storeCall(id.New(id.Request), now)
	r.stay.AttemptSession = session
}

// claimRetry begins another call under the key of an attempt whose effect is not known, if the retry is due, and sets r.claimed. If a
// person pressed, it waits only for a call that still runs, and not until the retry is due.
func (r *record) claimRetry(now time.Time, pressed bool) {
	f := r.facts(now)
	step := Next(f)
	if f.Attempt.State != AttemptCalling || step.Do != DoCall && !(pressed && step.CanComplete) {
		return
	}
	r.storeCall(f.Attempt.Key, now)
}

// storeCall records that a checkIn call under a key begins now. The caller makes the call after the transaction.
func (r *record) storeCall(key string, now time.Time) {
	r.stay.AttemptKey, r.stay.AttemptState, r.stay.Attempts, r.stay.AttemptAt = key, string(AttemptCalling), r.stay.Attempts+1, &now
	r.stay.Refusal = schema.StatusAnswer{}
	r.claimed = true
}
