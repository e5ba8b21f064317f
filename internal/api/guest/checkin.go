package guest

import (
	"context"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/message"
)

// CheckIns implements CheckInService for gRPC, REST and Connect.
type CheckIns struct {
	guestv1.UnimplementedCheckInServiceServer
	Deps
	Service *checkin.Service
}

// keyOf returns the key of the check-in for the stay of a guest's session.
func keyOf(a actor.Actor) checkin.Key {
	return checkin.Key{PropertyID: a.PropertyID, ReservationID: a.ReservationID}
}

// GetCheckIn returns the stored check-in. It makes no call to the PMS.
func (s *CheckIns) GetCheckIn(ctx context.Context, _ *guestv1.GetCheckInRequest) (*guestv1.GetCheckInResponse, error) {
	m, err := s.answer(ctx, func(a actor.Actor) (checkin.View, error) {
		return s.Service.Read(ctx, keyOf(a))
	})
	return &guestv1.GetCheckInResponse{Data: m}, err
}

// StartCheckIn records that the guest begins the check-in, unless it has begun or cannot begin now, and, if the request has one, the
// language. It asks the PMS for the amount owed and the room; a failure of the PMS is a stop in the answer, not an error. It refuses too
// frequent calls, and a companion (an accompanying guest), after it has stored the language.
func (s *CheckIns) StartCheckIn(ctx context.Context, r *guestv1.StartCheckInRequest) (*guestv1.StartCheckInResponse, error) {
	m, err := s.answer(ctx, func(a actor.Actor) (checkin.View, error) {
		if language := r.GetLanguage(); language != "" {
			err := s.DB.Write(ctx, func(tx *db.Tx) error { return guest.ChooseLanguage(tx, s.Keys, a, language, r.GetLanguageOfBrowser()) })
			if err != nil {
				return checkin.View{}, err
			}
		}
		return s.Service.Start(ctx, a)
	})
	return &guestv1.StartCheckInResponse{Data: m}, err
}

// AskAgain asks the PMS for the amount owed and the room now, before the next planned time. It can also call the PMS's checkIn endpoint: it
// repeats a call without an answer, and makes a new one after a refusal. If the PMS may not be asked now, it asks nothing. It refuses a
// companion (an accompanying guest) and too frequent calls.
func (s *CheckIns) AskAgain(ctx context.Context, _ *guestv1.AskAgainRequest) (*guestv1.AskAgainResponse, error) {
	m, err := s.answer(ctx, func(a actor.Actor) (checkin.View, error) { return s.Service.AskAgain(ctx, a) })
	return &guestv1.AskAgainResponse{Data: m}, err
}

// ConfirmDetails records that the guest confirms the data of all guests as still right. It does nothing while an answer is missing, or if
// the stay is over or canceled. It refuses a companion (an accompanying guest).
func (s *CheckIns) ConfirmDetails(ctx context.Context, _ *guestv1.ConfirmDetailsRequest) (*guestv1.ConfirmDetailsResponse, error) {
	m, err := s.answer(ctx, func(a actor.Actor) (checkin.View, error) { return s.Service.ConfirmDetails(ctx, a) })
	return &guestv1.ConfirmDetailsResponse{Data: m}, err
}

// CompleteCheckIn asks the PMS for the amount owed and the room once more, and then calls its checkIn endpoint. If an earlier call had no
// answer, it only repeats that one. It changes nothing if something else holds the check-in back. It can wait some time for the PMS to
// start the stay. It refuses a companion and too frequent calls.
func (s *CheckIns) CompleteCheckIn(ctx context.Context, _ *guestv1.CompleteCheckInRequest) (*guestv1.CompleteCheckInResponse, error) {
	m, err := s.answer(ctx, func(a actor.Actor) (checkin.View, error) { return s.Service.Complete(ctx, a) })
	return &guestv1.CompleteCheckInResponse{Data: m}, err
}

// RequestHelp notifies staff, also by mail, that the guest asks for help. A repeated request within five minutes does nothing.
func (s *CheckIns) RequestHelp(ctx context.Context, _ *guestv1.RequestHelpRequest) (*guestv1.RequestHelpResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	return &guestv1.RequestHelpResponse{}, s.Service.RequestHelp(ctx, keyOf(a))
}

// message converts a check-in. If the check-in waits for the room, the message includes whether the caller gets a mail when the room is
// ready.
func (s *CheckIns) message(ctx context.Context, a actor.Actor, v checkin.View) (*guestv1.CheckIn, error) {
	waitsForRoom := func(stop checkin.Stop) bool { return stop.Reason == checkin.StopRoomNotReady }
	if !slices.ContainsFunc(v.Stops, waitsForRoom) {
		return checkInMessage(ctx, v, a, false), nil
	}
	address, err := s.readyAddress(s.DB.View(ctx), a, v.People)
	if err != nil {
		return nil, err
	}
	return checkInMessage(ctx, v, a, address != ""), nil
}

// answer calls f with the calling guest's session, and converts the check-in that f returns.
func (s *CheckIns) answer(ctx context.Context, f func(actor.Actor) (checkin.View, error)) (*guestv1.CheckIn, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	v, err := f(a)
	if err != nil {
		return nil, err
	}
	return s.message(ctx, a, v)
}

// checkInMessage converts a check-in to its protobuf message. mailed means that the caller gets mails about the stay. A companion (an
// accompanying guest) gets the stage and whether their own form is missing. Only the main guest gets the amount owed and the PMS's answers.
func checkInMessage(ctx context.Context, v checkin.View, a actor.Actor, mailed bool) *guestv1.CheckIn {
	if a.GuestID != "" {
		m := &guestv1.CheckIn{Stage: string(v.Stage), OpensOn: v.Reservation.ArrivalOn}
		if slices.Contains(v.Party.MissingGuestIDs, a.GuestID) {
			m.MissingGuestIds = []string{a.GuestID}
		}
		return m
	}
	m := &guestv1.CheckIn{
		Stage: string(v.Stage), MissingGuestIds: v.Party.MissingGuestIDs, AcceptedAt: clock.Timestamp(v.Attempt.AcceptedAt), Late: v.Late, OpensOn: v.Reservation.ArrivalOn,
		NextAskAt: clock.Timestamp(v.NextAsk()), UnsignedGuestIds: v.ToSign(),
	}
	if v.Answer != nil {
		m.AskedAt = clock.Timestamp(v.Answer.At)
	}
	for _, stop := range v.Stops {
		m.Stops = append(m.Stops, stopMessage(stop, mailed && v.IsRoomReadyMailPending(), chain.Reader(ctx)))
	}
	return m
}

// stopMessage converts a reason that stops a check-in. mailed means that the guest gets a mail when the room is ready.
func stopMessage(stop checkin.Stop, mailed bool, to message.Reader) *guestv1.CheckInStop {
	text := stop.Message()
	if stop.Reason == checkin.StopRoomNotReady && !mailed {
		text.Kind += "NoMail"
	}
	m := &guestv1.CheckInStop{Reason: string(stop.Reason), Text: to.Text(text), Retry: stop.Retry, Mailed: stop.Reason == checkin.StopRoomNotReady && mailed}
	if stop.Owing != nil {
		m.Amount, m.Currency = stop.Owing.Number(), stop.Owing.Currency
	}
	return m
}
