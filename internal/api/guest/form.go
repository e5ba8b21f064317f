package guest

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
)

// Forms implements FormService.
type Forms struct {
	guestv1.UnimplementedFormServiceServer
	Deps
}

// GetForm returns the registration form of one guest whom the caller sees.
func (s *Forms) GetForm(ctx context.Context, r *guestv1.GetFormRequest) (*guestv1.GetFormResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return nil, err
	}
	m, err := formMessage(ctx, p, a, r.GetGuestId(), s.DB.View(ctx).Now())
	if err != nil {
		return nil, err
	}
	return &guestv1.GetFormResponse{Data: m}, nil
}

// ListForms returns the registration forms of all guests whom the caller sees.
func (s *Forms) ListForms(ctx context.Context, _ *guestv1.ListFormsRequest) (*guestv1.ListFormsResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return nil, err
	}
	out, now := &guestv1.ListFormsResponse{}, s.DB.View(ctx).Now()
	for _, m := range p.Visible(a) {
		form, err := formMessage(ctx, p, a, m.Row.ID, now)
		if err != nil {
			return nil, err
		}
		out.Data = append(out.Data, form)
	}
	return out, nil
}

// SaveStep stores the answers of one step of a guest's form, or none if one is wrong, and the language of the page. It removes answers to
// questions that are no longer asked: see [guest.SaveStep]. After the stay it fails.
func (s *Forms) SaveStep(ctx context.Context, r *guestv1.SaveStepRequest) (*guestv1.SaveStepResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*guestv1.SaveStepResponse, error) {
		p, err := guest.SaveStep(tx, s.Keys, a, r.GetGuestId(), rule.Step(r.GetStep()), r.GetAnswers())
		if err == nil {
			err = guest.KeepLanguage(tx, a, r.GetLanguage(), r.GetLanguageOfBrowser())
		}
		if err == nil {
			err = s.evaluate(tx, a)
		}
		if err != nil {
			return nil, err
		}
		m, err := formMessage(ctx, p, a, r.GetGuestId(), tx.Now())
		return &guestv1.SaveStepResponse{Data: m}, err
	})
}

// SignForm stores the signature of one guest. It fails if the answers changed after the guest saw them. If the guest has signed already, it
// keeps the former signature. After the stay it fails.
func (s *Forms) SignForm(ctx context.Context, r *guestv1.SignFormRequest) (*guestv1.SignFormResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.SignFormResponse, error) {
		p, err := guest.Sign(tx, s.Keys, a, r.GetGuestId(), r.GetShown(), r.GetDrawing())
		if err != nil {
			return nil, err
		}
		m, err := formMessage(ctx, p, a, r.GetGuestId(), tx.Now())
		return &guestv1.SignFormResponse{Data: m}, err
	})
}

// evaluate applies a change of a form to a check-in, if it has begun and not ended. Answers can cause or end a stop (a reason that holds
// the check-in back), such as a minor alone. Staff are notified of a stop.
func (s *Forms) evaluate(tx *db.Tx, a actor.Actor) error {
	return s.CheckIns.EvaluateChange(tx, checkin.Key{PropertyID: a.PropertyID, ReservationID: a.ReservationID})
}

// formMessage converts the form of one guest for a session: its steps with their fields, the signature, and the next step to fill in. Next
// is empty if nothing is missing. It fails for a guest whom the session does not see.
func formMessage(ctx context.Context, p *guest.Party, a actor.Actor, guestID string, now time.Time) (*guestv1.Form, error) {
	form, err := p.FormOf(a, guestID)
	if err != nil {
		return nil, err
	}
	signature, err := p.Signature(form, now)
	if err != nil {
		return nil, err
	}
	out := &guestv1.Form{GuestId: guestID, FromProfile: form.Member.Row.FromProfile, Signature: signatureMessage(signature), MinSteps: int32(form.MinSteps), MaxSteps: int32(form.MaxSteps)}
	law := p.Law()
	if law.Name != "none" {
		out.Rule = law.Name
	}
	often := p.OftenCountries()
	steps := map[rule.Step]*guestv1.FormStep{}
	for _, ask := range form.Asks {
		step := steps[ask.Step]
		if step == nil {
			step = &guestv1.FormStep{Name: string(ask.Step), Complete: true}
			steps[ask.Step] = step
			out.Steps = append(out.Steps, step)
		}
		step.Fields = append(step.Fields, fieldMessage(form, law, ask, often, chain.Reader(ctx)))
		if form.IsMissing(ask) {
			step.Complete = false
		}
		step.Reason = reasonMessage(step.Reason, ask, p)
	}
	for _, step := range out.Steps {
		if !step.Complete && out.Next == "" {
			out.Next = step.Name
		}
	}
	return out, nil
}

// signatureMessage converts the signature of a guest. It returns nil if none is needed.
func signatureMessage(s guest.Signature) *guestv1.FormSignature {
	if s.State == guest.SignatureNotNeeded {
		return nil
	}
	m := &guestv1.FormSignature{State: string(s.State), Shown: s.Shown, SignedAt: clock.Timestamp(s.At)}
	for _, f := range s.Fields {
		m.Fields = append(m.Fields, string(f))
	}
	return m
}

// fieldMessage converts one question of a form with its answer. often are the countries to show first in a list of countries.
func fieldMessage(form guest.Form, law *rule.Rule, ask rule.Ask, often []string, to message.Reader) *guestv1.FormField {
	shape, purpose := rule.ShapeOf(ask.Field), rule.Purpose(law, ask, message.Has)
	f := &guestv1.FormField{
		Name: string(ask.Field), Kind: string(shape.Kind), Required: ask.Required, Options: shape.Options,
		Autocomplete: shape.Autocomplete, Label: ask.Label, Labels: ask.Labels, MaxLength: int32(shape.MaxLength),
		Reason: string(ask.Reason()), NoneAllowed: shape.NoneAllowed,
		ByDeparture: ask.Later, Purpose: purpose, Why: to.Text(message.Message{Kind: purpose}),
	}
	if shape.Kind == rule.CountryCode {
		f.Often = often
	}
	f.Value, f.Withheld = form.Value(ask.Field)
	f.LockedBy = string(form.LockedBy(ask.Field))
	return f
}

// reasonMessage returns why a form has a step. has is the reason of the step's fields so far, and ask its next field. The strongest reason
// counts: the law's form, then a question of the law that depends on an answer, then the property. The name step gets no reason from the
// property, because every form has it.
func reasonMessage(has *guestv1.FormReason, ask rule.Ask, p *guest.Party) *guestv1.FormReason {
	why, law := ask.Reason(), p.Law()
	switch {
	case has.GetKind() == string(rule.ByLaw), why == rule.ByProperty && (has != nil || ask.Step == rule.NameStep):
		return has
	case why == rule.ByProperty:
		return &guestv1.FormReason{Kind: string(why)}
	}
	out := &guestv1.FormReason{Kind: string(why), Source: law.Source, Url: law.URL}
	if until, ok := p.KeptUntil(); ok && why == rule.ByLaw {
		out.KeptUntil = until.Format(time.DateOnly)
	}
	return out
}

// SetParty stores how many adults and children the party has, and adds or removes companions; those with answers or a link remain. It
// refuses a companion's session, and after the stay. A session without the mailed link also gets an error if it names too many people.
func (s *Forms) SetParty(ctx context.Context, r *guestv1.SetPartyRequest) (*guestv1.SetPartyResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.SetPartyResponse, error) {
		if err := guest.SetParty(tx, s.Keys, a, int(r.GetAdultCount()), int(r.GetChildCount())); err != nil {
			return nil, err
		}
		return &guestv1.SetPartyResponse{}, s.evaluate(tx, a)
	})
}

var errInvitedJustNow = fault.New(fault.Exhausted, fault.TooManyAttempts, "this guest was mailed a link less than a minute ago; try again in a minute").Retry(time.Minute)

// InviteCompanion mails a companion (an accompanying guest) the link to their form, and fails for a second mail in the same minute, or
// after too many such mails of the stay in a day. If the request has no address, the answer has the link. The former link ends and, unless
// the address is the same, the sessions that it opened. It needs the main guest's session of a mailed link, and refuses another address
// once the companion has answered on the former link. It refuses to invite a minor unless the main guest is known to be an adult. After the
// stay it fails.
func (s *Forms) InviteCompanion(ctx context.Context, r *guestv1.InviteCompanionRequest) (*guestv1.InviteCompanionResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.InviteCompanionResponse, error) {
		if r.GetEmail() == "" {
			made, err := guest.CreateCompanionLink(tx, s.Keys, a, r.GetGuestId())
			if err != nil {
				return nil, err
			}
			return &guestv1.InviteCompanionResponse{Link: made.Secret, ExpiresAt: timestamppb.New(made.ExpiresAt)}, nil
		}
		err := guest.InviteCompanion(tx, s.Keys, a, r.GetGuestId(), r.GetEmail())
		if err != nil || s.MailLink == nil {
			return &guestv1.InviteCompanionResponse{}, err
		}
		mailed, err := s.MailLink(tx, mail.LinkOrder{
			PropertyID: a.PropertyID, ReservationID: a.ReservationID, GuestID: r.GetGuestId(), Address: r.GetEmail(), Occasion: tx.Now().Truncate(time.Minute).Format(time.RFC3339),
		})
		if err == nil && !mailed {
			err = errInvitedJustNow // the error rolls back, so the former link and address remain
		}
		return &guestv1.InviteCompanionResponse{}, err
	})
}

// RemoveCompanion deletes a companion (an accompanying guest) with all answers, ends the companion's links and sessions, and makes the
// party smaller by one, unless the companion was one too many. It needs the main guest's session with the mailed link. After the stay it
// fails. After the check-in it fails for a companion who answered on a link of their own.
func (s *Forms) RemoveCompanion(ctx context.Context, r *guestv1.RemoveCompanionRequest) (*guestv1.RemoveCompanionResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.RemoveCompanionResponse, error) {
		if err := guest.RemoveCompanion(tx, s.Keys, a, r.GetGuestId()); err != nil {
			return nil, err
		}
		return &guestv1.RemoveCompanionResponse{}, s.evaluate(tx, a)
	})
}

// SetMailAddress stores the guest's address for mails about the stay, for as long as the PMS has no usable one. Links that were mailed to
// the former address end. It refuses a companion's session, and the address of a booking agency. A session without the mailed link cannot
// replace an address that was given with it.
func (s *Forms) SetMailAddress(ctx context.Context, r *guestv1.SetMailAddressRequest) (*guestv1.SetMailAddressResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.SetMailAddressResponse, error) {
		if !mail.Reaches(r.GetEmail()) {
			return nil, fault.Fields(fault.Field{Path: "email", Reason: fault.NotAnAddress, Message: "must be the guest's own address, not one of a booking agency"})
		}
		return &guestv1.SetMailAddressResponse{}, guest.SetMailAddress(tx, s.Keys, a, r.GetEmail())
	})
}

// SetArrival stores the hour at which the main guest will arrive; "" clears it. It refuses a companion's session. After the stay it fails.
func (s *Forms) SetArrival(ctx context.Context, r *guestv1.SetArrivalRequest) (*guestv1.SetArrivalResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.SetArrivalResponse, error) {
		return &guestv1.SetArrivalResponse{}, guest.SetArrival(tx, s.Keys, a, r.GetTime())
	})
}

// AcceptHouseRules stores that the guest accepts the house rules. A repeated call stores the new time. It refuses a companion's session.
// After the stay it fails.
func (s *Forms) AcceptHouseRules(ctx context.Context, _ *guestv1.AcceptHouseRulesRequest) (*guestv1.AcceptHouseRulesResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.AcceptHouseRulesResponse, error) {
		at, err := guest.AcceptHouseRules(tx, s.Keys, a)
		return &guestv1.AcceptHouseRulesResponse{AcceptedAt: timestamppb.New(at)}, err
	})
}

// SetSharing stores which groups of the answers of a guest and of minors in the party the PMS may read; groups that are left out are not
// shared. Guests decide for themselves, and an adult main guest for minors. If one choice is refused, it stores none. For the main guest
// with a mailed link, it also stores whether the property keeps the answers for the next stay: without keep_profile, it deletes the profile
// that this stay kept.
func (s *Forms) SetSharing(ctx context.Context, r *guestv1.SetSharingRequest) (*guestv1.SetSharingResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.SetSharingResponse, error) {
		choices := []guest.SharingChoice{{GuestID: r.GetGuestId(), Groups: r.GetGroups()}}
		for _, m := range r.GetMinors() {
			choices = append(choices, guest.SharingChoice{GuestID: m.GetGuestId(), Groups: m.GetGroups()})
		}
		return &guestv1.SetSharingResponse{}, guest.SetSharing(tx, s.Keys, a, r.GetKeepProfile(), choices...)
	})
}
