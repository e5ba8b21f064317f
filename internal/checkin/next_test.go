package checkin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/money"
)

func eur(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: "EUR"} }

func TestToSign(t *testing.T) {
	f := Facts{Rules: Rules{Signature: "drawn"}, Party: PartyFacts{Signs: true, Unsigned: []string{"gst_1"}}}
	if got := f.ToSign(); len(got) != 1 {
		t.Errorf("before staff decide: %v", got)
	}
	for _, c := range []Clearance{{Stage: Signature}, {Stage: Signature, Refused: true}} {
		f.Cleared = []Clearance{c}
		if got := f.ToSign(); got != nil {
			t.Errorf("after %+v: %v", c, got)
		}
	}
}

// A clearance counts from the day of arrival on. What does not clear a stage is kept.
func TestClearances(t *testing.T) {
	lisbon, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	before, onDay := "2026-06-20T22:59:00Z", "2026-06-20T23:00:00Z" // in Lisbon the 20th and the 21st
	refused := schema.ClearedStage{Stage: "signature", By: "Marta", At: before, Refused: "no document"}
	for name, c := range map[string]struct{ stored, want []schema.ClearedStage }{
		"on the day of arrival": {[]schema.ClearedStage{{Stage: "signature", By: "Marta", At: onDay}}, []schema.ClearedStage{{Stage: "signature", By: "Marta", At: onDay}}},
		"before a move":         {[]schema.ClearedStage{{Stage: "signature", By: "Marta", At: before}}, nil},
		"a refusal":             {[]schema.ClearedStage{refused}, []schema.ClearedStage{refused}},
		"a refusal that was taken back before a move": {[]schema.ClearedStage{refused, {Stage: "signature", By: "Marta", At: before}}, nil},
		"a waived amount": {[]schema.ClearedStage{{Stage: "owing", By: "Marta", At: before}}, []schema.ClearedStage{{Stage: "owing", By: "Marta", At: before}}},
		"by the PMS":      {[]schema.ClearedStage{{Stage: "signature", By: "pms", At: before}}, []schema.ClearedStage{{Stage: "signature", By: "pms", At: before}}},
	} {
		var got []schema.ClearedStage
		for _, one := range clearances(c.stored, "2026-06-21", lisbon) {
			got = append(got, one.Stored)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// noon is the moment of the tables, on the day of arrival.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// ready returns the facts of a check-in that lacks nothing but the press.
func ready() Facts {
	return Facts{
		Now: noon,
		Reservation: ReservationFacts{
			State: "confirmed", Today: "2026-11-21", ArrivalOn: "2026-11-21", To: noon.Add(46 * time.Hour), ChangedAt: noon.Add(-time.Hour),
		},
		Rules:   Rules{IdentityCheck: "none", Signature: "none"},
		Answer:  &Answer{At: noon.Add(-time.Second), About: noon.Add(-time.Hour), Owing: new(eur(0)), RoomReady: true},
		BeganAt: noon.Add(-time.Minute), BeganOn: "2026-11-21", ConfirmedOn: "2026-11-21", HouseRulesAccepted: true,
	}
}

func retry(reason StopReason) []Stop { return []Stop{{Reason: reason, Retry: true}} }

func waived(owing money.Amount) []Clearance { return []Clearance{{Stage: OwingWaived, Waived: &owing}} }

func TestNext(t *testing.T) {
	const second = time.Second
	key := "key-1"
	for name, c := range map[string]struct {
		change func(f *Facts)
		want   Step
	}{
		"all is there": {want: Step{Stage: Ready, CanComplete: true}},

		// The reservation.
		"checked in by the desk before it began": {func(f *Facts) { f.Reservation.State, f.BeganAt = "started", time.Time{} }, Step{Stage: CheckedIn}},
		"started in the middle":                  {func(f *Facts) { f.Reservation.State, f.Party.MissingGuestIDs = "started", []string{"g"} }, Step{Stage: CheckedIn}},
		"started while checkIn is called": {func(f *Facts) {
			f.Reservation.State, f.Attempt = "started", Attempt{Key: key, State: AttemptCalling, Calls: 1, At: noon.Add(-time.Hour)}
		}, Step{Stage: CheckedIn}},
		"checked out": {func(f *Facts) { f.Reservation.State = "processed" }, Step{Stage: Ended}},
		"canceled while checkIn is called": {func(f *Facts) {
			f.Reservation.State, f.Attempt = "canceled", Attempt{Key: key, State: AttemptCalling, Calls: 1, At: noon.Add(-time.Hour)}
		}, Step{Stage: Ended}},
		"no show":           {func(f *Facts) { f.Reservation.To = noon }, Step{Stage: Ended}},
		"not firm":          {func(f *Facts) { f.Reservation.State = "optional" }, Step{Stage: AtDesk, Stops: []Stop{{Reason: StopAtDesk}}}},
		"tomorrow":          {func(f *Facts) { f.Reservation.ArrivalOn = "2026-11-22" }, Step{Stage: NotToday}},
		"moved to tomorrow": {func(f *Facts) { f.Reservation.ArrivalOn, f.Answer = "2026-11-22", nil }, Step{Stage: NotToday}},
		"yesterday":         {func(f *Facts) { f.Reservation.ArrivalOn = "2026-11-20" }, Step{Stage: Ready, CanComplete: true}},

		// The beginning.
		"not begun": {func(f *Facts) { f.BeganAt, f.Answer = time.Time{}, nil }, Step{Stage: NotStarted}},
		"begun before the stay was moved": {func(f *Facts) {
			f.BeganOn, f.Attempt = "2026-11-20", Attempt{Key: key, State: AttemptAccepted, AcceptedAt: noon}
		}, Step{Stage: NotStarted}},
		"begun and not asked":      {func(f *Facts) { f.Answer = nil }, Step{Stage: NotStarted, Do: DoAsk, At: noon.Add(-30 * time.Second)}},
		"just begun":               {func(f *Facts) { f.Answer, f.BeganAt = nil, noon.Add(-10*time.Second) }, Step{Stage: NotStarted, Do: DoWait, At: noon.Add(20 * time.Second)}},
		"credit":                   {func(f *Facts) { f.Answer.Owing = new(eur(-500)) }, Step{Stage: Ready, CanComplete: true}},
		"the PMS did not say owed": {func(f *Facts) { f.Answer.Owing = nil }, Step{Stage: Ready, CanComplete: true}},

		// What the PMS answered.
		"owing": {func(f *Facts) { f.Answer.Owing = new(eur(8400)) },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(8400)), Retry: true}}, CanComplete: true}},
		"owing, waived":                   {func(f *Facts) { f.Answer.Owing, f.Cleared = new(eur(8400)), waived(eur(8400)) }, Step{Stage: Ready, CanComplete: true}},
		"owing less than what was waived": {func(f *Facts) { f.Answer.Owing, f.Cleared = new(eur(100)), waived(eur(8400)) }, Step{Stage: Ready, CanComplete: true}},
		"owing more than what was waived": {func(f *Facts) { f.Answer.Owing, f.Cleared = new(eur(8401)), waived(eur(8400)) },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(8401)), Retry: true}}, CanComplete: true}},
		"waived in another currency": {func(f *Facts) {
			f.Answer.Owing, f.Cleared = new(eur(1)), waived(money.Amount{Minor: 100, Currency: "USD"})
		},
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(1)), Retry: true}}, CanComplete: true}},
		"waived, and the room is not ready": {func(f *Facts) { f.Answer.Owing, f.Answer.RoomReady, f.Cleared = new(eur(1)), false, waived(eur(1)) }, Step{
			Stage: Stopped, Stops: []Stop{{Reason: StopRoomNotReady, Retry: true}}, Do: DoWait, At: noon.Add(-time.Second + askInterval), CanComplete: true,
		}},
		"owing and answers missing": {func(f *Facts) { f.Answer.Owing, f.Party.MissingGuestIDs = new(eur(8400)), []string{"g"} },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(8400)), Retry: true}}}},
		"owing, allowed": {func(f *Facts) { f.Answer.Owing, f.Rules.Policy.Owing = new(eur(8400)), OwingAllowed }, Step{Stage: Ready, CanComplete: true}},
		"at the threshold": {func(f *Facts) { f.Answer.Owing, f.Rules.Policy = new(eur(5000)), Policy{OwingThreshold, 5000} },
			Step{Stage: Ready, CanComplete: true}},
		"above the threshold": {func(f *Facts) { f.Answer.Owing, f.Rules.Policy = new(eur(5001)), Policy{OwingThreshold, 5000} },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(5001)), Retry: true}}, CanComplete: true}},
		"owing, unknown policy": {func(f *Facts) { f.Answer.Owing, f.Rules.Policy.Owing = new(eur(1)), "maybe" },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(1)), Retry: true}}, CanComplete: true}},
		"owing, and the PMS changed the reservation": {func(f *Facts) { f.Answer.Owing, f.Reservation.ChangedAt = new(eur(8400)), noon },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(8400)), Retry: true}}, Do: DoAsk, At: noon, CanComplete: true}},
		"ready, and the PMS changed the reservation": {func(f *Facts) { f.Reservation.ChangedAt = noon }, Step{Stage: Ready, CanComplete: true}},
		"room not ready": {func(f *Facts) { f.Answer.RoomReady = false },
			Step{Stage: Stopped, Stops: retry(StopRoomNotReady), Do: DoWait, At: noon.Add(2*time.Minute - second), CanComplete: true}},
		"room not ready, two minutes later": {func(f *Facts) { f.Answer.RoomReady, f.Answer.At = false, noon.Add(-2*time.Minute) },
			Step{Stage: Stopped, Stops: retry(StopRoomNotReady), Do: DoAsk, At: noon, CanComplete: true}},
		"room not ready, a day later": {func(f *Facts) {
			f.Answer.RoomReady, f.Answer.At, f.BeganAt = false, noon.Add(-2*time.Minute), noon.Add(-25*time.Hour)
		}, Step{Stage: Stopped, Stops: retry(StopRoomNotReady), Do: DoWait, At: noon.Add(28 * time.Minute), CanComplete: true}},
		"room not ready, a day and half an hour later": {func(f *Facts) {
			f.Answer.RoomReady, f.Answer.At, f.BeganAt = false, noon.Add(-30*time.Minute), noon.Add(-25*time.Hour)
		}, Step{Stage: Stopped, Stops: retry(StopRoomNotReady), Do: DoAsk, At: noon, CanComplete: true}},
		"owing and room not ready": {func(f *Facts) { f.Answer.Owing, f.Answer.RoomReady = new(eur(1)), false },
			Step{
				Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(1)), Retry: true}, {Reason: StopRoomNotReady, Retry: true}},
				Do: DoWait, At: noon.Add(2*time.Minute - second), CanComplete: true,
			}},
		"the PMS answered with an error": {func(f *Facts) { *f.Answer = Answer{At: noon, About: noon.Add(-time.Hour), Failure: StopPartnerError} },
			Step{Stage: Stopped, Stops: retry(StopPartnerError), Do: DoWait, At: noon.Add(2 * time.Minute), CanComplete: true}},
		"an error, although owing is allowed": {func(f *Facts) {
			*f.Answer, f.Rules.Policy.Owing = Answer{At: noon, About: noon.Add(-time.Hour), Failure: StopPartnerError, Owing: new(eur(0)), RoomReady: true}, OwingAllowed
		}, Step{Stage: Stopped, Stops: retry(StopPartnerError), Do: DoWait, At: noon.Add(2 * time.Minute), CanComplete: true}},
		"the PMS is silent": {func(f *Facts) {
			*f.Answer = Answer{At: noon, About: noon.Add(-time.Hour), Failure: StopPartnerUnavailable}
		},
			Step{Stage: Stopped, Stops: retry(StopPartnerUnavailable), Do: DoWait, At: noon.Add(2 * time.Minute), CanComplete: true}},
		"not registered":       {func(f *Facts) { *f.Answer = Answer{At: noon, NotRegistered: true} }, Step{Stage: Ready, CanComplete: true}},
		"not registered, paid": {func(f *Facts) { *f.Answer, f.Reservation.Owing = Answer{At: noon, NotRegistered: true}, new(eur(0)) }, Step{Stage: Ready, CanComplete: true}},
		"not registered, owing": {func(f *Facts) { *f.Answer, f.Reservation.Owing = Answer{At: noon, NotRegistered: true}, new(eur(1)) },
			Step{Stage: Stopped, Stops: []Stop{{Reason: StopOwing, Owing: new(eur(1)), Retry: true}}, CanComplete: true}},

		// What the guest has to do.
		"answers are missing": {func(f *Facts) { f.Party.MissingGuestIDs, f.ConfirmedOn = []string{"g"}, "" }, Step{Stage: Details}},
		"not confirmed":       {func(f *Facts) { f.ConfirmedOn, f.HouseRulesAccepted = "", false }, Step{Stage: ConfirmDetails}},
		"confirmed yesterday": {func(f *Facts) { f.ConfirmedOn = "2026-11-20" }, Step{Stage: ConfirmDetails}},
		"house rules":         {func(f *Facts) { f.Rules.HouseRules, f.HouseRulesAccepted = true, false }, Step{Stage: HouseRules}},
		"house rules accepted": {func(f *Facts) { f.Rules.HouseRules = true },
			Step{Stage: Ready, CanComplete: true}},
		"a minor alone": {func(f *Facts) { f.Party.MinorAlone = true }, Step{Stage: Stopped, Stops: []Stop{{Reason: StopMinorAlone}}}},

		// What the law wants.
		"identity check": {func(f *Facts) { f.Rules.IdentityCheck, f.Rules.HouseRules, f.HouseRulesAccepted = "live", true, false },
			Step{Stage: IdentityCheck, Stops: []Stop{{Reason: StopIdentityCheck}}}},
		"identity check after the details": {func(f *Facts) { f.Rules.IdentityCheck, f.ConfirmedOn = "compareAtDesk", "" }, Step{Stage: ConfirmDetails}},
		"identity check cleared": {func(f *Facts) { f.Rules.IdentityCheck, f.Cleared = "live", []Clearance{{Stage: IdentityCheck}} },
			Step{Stage: Ready, CanComplete: true}},
		"identity check refused": {func(f *Facts) {
			f.Rules.IdentityCheck, f.Cleared = "live", []Clearance{{Stage: IdentityCheck, Refused: true}}
		}, Step{Stage: Stopped, Stops: []Stop{{Reason: StopStageRefused}}}},
		"refused, then cleared": {func(f *Facts) {
			f.Rules.IdentityCheck, f.Cleared = "live", []Clearance{{Stage: IdentityCheck, Refused: true}, {Stage: IdentityCheck}}
		}, Step{Stage: Ready, CanComplete: true}},
		"refused, but the settings changed": {func(f *Facts) { f.Cleared = []Clearance{{Stage: IdentityCheck, Refused: true}} },
			Step{Stage: Ready, CanComplete: true}},
		"signature": {func(f *Facts) { f.Rules.Signature, f.Party.Signs = "paper", true },
			Step{Stage: Signature, Stops: []Stop{{Reason: StopSignature}}}},
		"no signature": {func(f *Facts) { f.Rules.Signature = "paper" }, Step{Stage: Ready, CanComplete: true}},
		"identity check cleared, signature open": {func(f *Facts) {
			f.Rules.IdentityCheck, f.Rules.Signature, f.Party.Signs, f.Cleared = "live", "paper", true, []Clearance{{Stage: IdentityCheck}}
		}, Step{Stage: Signature, Stops: []Stop{{Reason: StopSignature}}}},
		"signature on a screen": {func(f *Facts) {
			f.Rules.Signature, f.Party.Signs, f.Party.Unsigned = "drawn", true, []string{"gst_1"}
		}, Step{Stage: Signature}},
		"signed on a screen": {func(f *Facts) { f.Rules.Signature, f.Party.Signs = "drawn", true },
			Step{Stage: Ready, CanComplete: true}},
		"signature on a screen, cleared at the desk": {func(f *Facts) {
			f.Rules.Signature, f.Party.Signs, f.Party.Unsigned, f.Cleared = "drawn", true, []string{"gst_1"}, []Clearance{{Stage: Signature}}
		}, Step{Stage: Ready, CanComplete: true}},
		"signed on a screen, refused by staff": {func(f *Facts) {
			f.Rules.Signature, f.Party.Signs, f.Cleared = "drawn", true, []Clearance{{Stage: Signature, Refused: true}}
		}, Step{Stage: Stopped, Stops: []Stop{{Reason: StopStageRefused}}}},

		// The call.
		"checkIn runs": {func(f *Facts) { f.Attempt = Attempt{Key: key, State: AttemptCalling, Calls: 1, At: noon} },
			Step{Stage: Calling, Do: DoWait, At: noon.Add(30 * second)}},
		"checkIn was cut off by a crash": {func(f *Facts) {
			f.Attempt = Attempt{Key: key, State: AttemptCalling, Calls: 1, At: noon.Add(-30 * second)}
		}, Step{Stage: Calling, Do: DoCall, At: noon}},
		"no answer to checkIn": {func(f *Facts) { f.Attempt = Attempt{Key: key, State: AttemptCalling, Calls: 1, At: noon, Failed: true} },
			Step{Stage: Stopped, Stops: retry(StopNoAnswer), Do: DoWait, At: noon.Add(5 * second), CanComplete: true}},
		"no answer to checkIn, the next call is due": {func(f *Facts) {
			f.Attempt = Attempt{Key: key, State: AttemptCalling, Calls: 3, At: noon.Add(-20 * second), Failed: true}
		}, Step{Stage: Stopped, Stops: retry(StopNoAnswer), Do: DoCall, At: noon, CanComplete: true}},
		"no answer to many calls": {func(f *Facts) {
			f.Attempt = Attempt{Key: key, State: AttemptCalling, Calls: 99, At: noon, Failed: true}
		}, Step{Stage: Stopped, Stops: retry(StopNoAnswer), Do: DoWait, At: noon.Add(2 * time.Minute), CanComplete: true}},
		"no answer for a day: the calls become rare": {func(f *Facts) {
			f.BeganAt, f.Attempt = noon.Add(-25*time.Hour), Attempt{Key: key, State: AttemptCalling, Calls: 700, At: noon.Add(-10 * time.Minute), Failed: true}
		}, Step{Stage: Stopped, Stops: retry(StopNoAnswer), Do: DoWait, At: noon.Add(20 * time.Minute), CanComplete: true}},
		"no answer to checkIn, although the room is not ready any more": {func(f *Facts) {
			f.Answer.RoomReady, f.Attempt = false, Attempt{Key: key, State: AttemptCalling, Calls: 1, At: noon, Failed: true}
		}, Step{Stage: Stopped, Stops: retry(StopNoAnswer), Do: DoWait, At: noon.Add(5 * second), CanComplete: true}},
		"checkIn refused": {func(f *Facts) { f.Attempt = Attempt{Key: key, State: AttemptRefused, Calls: 1, At: noon} },
			Step{Stage: Stopped, Stops: retry(StopCheckInRefused), CanComplete: true}},
		"checkIn is not registered": {func(f *Facts) { f.Attempt = Attempt{Key: key, State: AttemptAtDesk, Calls: 1, At: noon} },
			Step{Stage: AtDesk, Stops: retry(StopAtDesk), CanComplete: true}},
		"accepted": {func(f *Facts) {
			f.Attempt = Attempt{Key: key, State: AttemptAccepted, Calls: 1, At: noon, AcceptedAt: noon}
		},
			Step{Stage: Waiting, Do: DoWait, At: noon.Add(time.Minute)}},
		"accepted, no update for a minute": {func(f *Facts) {
			f.Attempt = Attempt{Key: key, State: AttemptAccepted, Calls: 1, At: noon, AcceptedAt: noon.Add(-time.Minute)}
		}, Step{Stage: Waiting, Late: true}},
	} {
		f := ready()
		if c.change != nil {
			c.change(&f)
		}
		if diff := cmp.Diff(c.want, Next(f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// checkIn may be called only while the reservation is confirmed, whatever else is known.
func TestOnlyAConfirmedStayIsCalled(t *testing.T) {
	for _, state := range []string{"started", "processed", "canceled", "enquired", "requested", "optional", "unheardOf"} {
		for _, attempt := range []AttemptState{NoAttempt, AttemptCalling, AttemptAccepted, AttemptRefused, AttemptAtDesk} {
			for _, failed := range []bool{false, true} {
				f := ready()
				f.Reservation.State, f.Attempt = state, Attempt{Key: "k", State: attempt, At: noon.Add(-time.Hour), Failed: failed}
				if s := Next(f); s.Do != DoNothing || s.CanComplete {
					t.Errorf("%s, attempt %q, failed %v: %+v", state, attempt, failed, s)
				}
			}
		}
	}
}
