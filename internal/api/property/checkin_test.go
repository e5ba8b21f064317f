package property

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"latchkey.dev/ent"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

func (h *tenant) changeCheckIn(c *propertyv1.CheckInSettingsChange) (*propertyv1.CheckInSettings, error) {
	h.Helper()
	r, err := (&CheckIns{Deps: h.w.deps}).UpdateCheckInSettings(h.ctx, &propertyv1.UpdateCheckInSettingsRequest{Settings: c})
	return r.GetData(), err
}

// wrongFields returns the paths and reasons of a refused change.
func wrongFields(err error) map[string]fault.Reason {
	f, _ := fault.Of(err)
	out := map[string]fault.Reason{}
	if f != nil {
		for _, w := range f.Fields {
			out[w.Path] = w.Reason
		}
	}
	return out
}

// A signature that does not count by the law is refused, whichever of both settings changes.
func TestSignatureOfTheRule(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		drawn := ptr("drawn")
		refused := map[string]fault.Reason{"settings.signature": fault.Conflicting}
		_, err := a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: ptr("DE"), Signature: drawn})
		same(t, "DE with drawn signatures", refused, wrongFields(err))
		s := must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: ptr("DE")}))(t)
		same(t, "the signature of DE", "paper", s.GetSignature())
		_, err = a.changeCheckIn(&propertyv1.CheckInSettingsChange{Signature: drawn})
		same(t, "drawn signatures in DE", refused, wrongFields(err))
		s = must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: ptr("IT"), Signature: drawn}))(t)
		same(t, "the signature of IT", "drawn", s.GetSignature())
		s = must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: ptr("DE")}))(t)
		same(t, "the signature of DE after IT", "paper", s.GetSignature())
	})
}

// Settings by which fewer guests fill in a form than the law requires are refused, whichever of both settings changes. A new rule alone
// also sets the guests that it requires.
func TestGuestsWhoFillInByLaw(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		refused := map[string]fault.Reason{"settings.whoFills": fault.Conflicting}
		change := func(rule, who string) (*propertyv1.CheckInSettings, error) {
			c := &propertyv1.CheckInSettingsChange{}
			if rule != "" {
				c.Rule = &rule
			}
			if who != "" {
				c.WhoFills = &who
			}
			return a.changeCheckIn(c)
		}
		s := must(change("none", "lead"))(t)
		same(t, "without a law", "lead", s.GetWhoFills())
		_, err := change("ES", "adults")
		same(t, "adults in ES", refused, wrongFields(err))
		f, _ := fault.Of(err)
		same(t, "the message", "the law of ES (RD 933/2021) asks for answers of every guest, also of children: use all, or the rule none if the law does not apply to you", f.Fields[0].Message)
		s = must(change("ES", ""))(t)
		same(t, "who fills in after ES", "all", s.GetWhoFills())
		_, err = change("", "lead")
		same(t, "lead in ES", refused, wrongFields(err))
		s = must(change("none", ""))(t)
		same(t, "who fills in after none", "all", s.GetWhoFills())
		s = must(change("", "adults"))(t)
		same(t, "adults without a law", "adults", s.GetWhoFills())
		for _, r := range must((&CheckIns{Deps: a.w.deps}).ListCheckInRules(a.ctx, &propertyv1.ListCheckInRulesRequest{}))(t).GetData().GetList() {
			_, err := change(r.GetName(), "lead")
			same(t, r.GetName()+" refuses the main guest only", r.GetWhoFills() != "lead", err != nil)
		}
	})
}

// Texts are kept in the languages that pages and mails can be in, and in no other.
func TestTextsNeedALanguageOfTheService(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		change := func(tags ...string) (*propertyv1.CheckInSettings, error) {
			texts := map[string]*propertyv1.LocalTexts{}
			for _, tag := range tags {
				texts[tag] = &propertyv1.LocalTexts{Directions: "Turn left."}
			}
			return a.changeCheckIn(&propertyv1.CheckInSettingsChange{Texts: &propertyv1.TextsByLanguage{ByLanguage: texts}})
		}
		same(t, "stored", 4, len(must(change("de", "en", "es", "fr"))(t).GetTexts()))
		_, err := change("de", "de-AT", "pt", "xyz-00000")
		same(t, "other languages", map[string]fault.Reason{
			"settings.texts.byLanguage[de-AT]": fault.WrongValue, "settings.texts.byLanguage[pt]": fault.WrongValue, "settings.texts.byLanguage[xyz-00000]": fault.WrongValue,
		}, wrongFields(err))
	})
}

func TestOftenCountries(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		change := func(codes ...string) (*propertyv1.CheckInSettings, error) {
			return a.changeCheckIn(&propertyv1.CheckInSettingsChange{OftenCountries: &propertyv1.OftenCountries{List: codes}})
		}
		same(t, "stored", []string{"PT", "XK"}, must(change("PT", "XK"))(t).GetOftenCountries())
		_, err := change("ES", "UK", "XX")
		same(t, "no countries", map[string]fault.Reason{
			"settings.oftenCountries.list[1]": fault.WrongValue, "settings.oftenCountries.list[2]": fault.WrongValue,
		}, wrongFields(err))
		same(t, "removed", 0, len(must(change())(t).GetOftenCountries()))
	})
}

func TestOwnQuestions(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		_, err := a.changeCheckIn(&propertyv1.CheckInSettingsChange{
			Rule: ptr("XX"), StaffEmail: ptr("nowhere"), Fields: &propertyv1.OwnFields{List: []*propertyv1.OwnField{
				{Name: "plate", Label: "Number plate"}, {Name: "PLATE", Label: " "}, {Name: "birthdate", Label: "When?"}, {Name: "documentNumber", Label: "Which?"},
				{Name: "postcode", Label: "Where?", Labels: map[string]string{"de": " ", "xyz-00000": "Wo?"}}, {Name: "pet", Label: "A pet?"},
			}},
		})
		same(t, "wrong fields", map[string]fault.Reason{
			"settings.rule": fault.WrongValue, "settings.staffEmail": fault.BadFormat,
			"settings.fields.list[1].name": fault.Duplicate, "settings.fields.list[1].label": fault.Required,
			"settings.fields.list[2].name": fault.Conflicting, "settings.fields.list[3].name": fault.Conflicting, "settings.fields.list[4].name": fault.Conflicting,
			"settings.fields.list[4].labels[de]": fault.Required, "settings.fields.list[4].labels[xyz-00000]": fault.WrongValue,
		}, wrongFields(err))
		want := []*propertyv1.OwnField{{Name: "plate", Label: "Number plate", Required: true, Labels: map[string]string{"de": "Kennzeichen", "pt-BR": "Placa"}}}
		got := must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Fields: &propertyv1.OwnFields{List: want}}))(t)
		if diff := cmp.Diff(want, got.GetFields(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

// ListCheckInRules returns the settings that each rule brings with it.
func TestRulesOfCountries(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		rules := must((&CheckIns{Deps: a.w.deps}).ListCheckInRules(a.ctx, &propertyv1.ListCheckInRulesRequest{}))(t).GetData().GetList()
		for _, r := range rules {
			s := must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: &r.Name}))(t)
			same(t, "the identity check of "+r.GetName(), r.GetIdentityCheck(), s.GetIdentityCheck())
			same(t, "the signature of "+r.GetName(), r.GetSignature(), s.GetSignature())
			_, err := a.changeCheckIn(&propertyv1.CheckInSettingsChange{Signature: ptr("drawn")})
			same(t, r.GetName()+" refuses drawn signatures", r.GetNoDrawnSignature(), err != nil)
		}
		same(t, "rules", 11, len(rules))
	})
}

// A change that names the stored rule again keeps the settings that the property made stricter than its law.
func TestSameRuleKeepsStricterSettings(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: ptr("none"), IdentityCheck: ptr("live"), Signature: ptr("drawn")}))(t)
		s := must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{Rule: ptr("none"), HouseRules: ptr("Be quiet.")}))(t)
		same(t, "the identity check", "live", s.GetIdentityCheck())
		same(t, "the signature", "drawn", s.GetSignature())
	})
}

// Staff see which answers are open until the departure.
func TestOpenUntilDeparture(t *testing.T) {
	g := staffGuest(guest.Member{Row: &ent.Guest{ID: "gst_1"}, Open: []rule.Field{rule.NextDestination}})
	if !g.GetComplete() || !slices.Equal(g.GetOpenUntilDeparture(), []string{"nextDestination"}) {
		t.Errorf("%v", g)
	}
}

// A new link without an address to mail it to is refused with the reason, and the former link stays.
func TestResendWithoutAnAddress(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		scope := reservation.Scope{PropertyID: a.id, IntegrationID: a.integration()}
		reserve := func(email string) (id string) {
			a.w.write(t, func(tx *db.Tx) error {
				stored, err := reservation.Service{Keys: a.w.deps.Keys}.Upsert(tx, scope, reservation.Patch{
					reservation.PMSID: "S", reservation.Number: "1", reservation.LastName: "Silva", reservation.Email: email, reservation.State: "confirmed",
					reservation.From: tx.Now().Format(time.RFC3339), reservation.To: tx.Now().Add(48 * time.Hour).Format(time.RFC3339),
				}, nil)
				if err == nil {
					id = stored.Row.ID
				}
				return err
			})
			return id
		}
		address, ordered := "", 0
		s := &CheckIns{
			Deps:         a.w.deps,
			MailLink:     func(*db.Tx, mail.LinkOrder) (bool, error) { ordered++; return true, nil },
			GuestAddress: func(*db.Tx, *reservation.Row) (string, error) { return address, nil },
		}
		resend := func(email string) error {
			_, err := s.ResendInvitation(a.ctx, &propertyv1.ResendInvitationRequest{ReservationId: reserve(email)})
			return err
		}
		for email, want := range map[string]string{
			"": "no mail address of the guest is known", "ada.123@guest.booking.com": "a booking agency's relay",
		} {
			if err := resend(email); !fault.Has(err, fault.NoGuestAddress) || !strings.Contains(err.Error(), want) || ordered != 0 {
				t.Errorf("with the address %q: %v, %d mails", email, err, ordered)
			}
		}
		address = "ada@example.com"
		if err := resend(address); err != nil || ordered != 1 {
			t.Errorf("with an address: %v, %d mails", err, ordered)
		}
	})
}

// The stored time of the next evaluation is not always a call to the PMS: a check-in that waits for staff is evaluated at the departure.
func TestNextAsk(t *testing.T) {
	departure := time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC)
	for stage, want := range map[checkin.Stage]bool{checkin.Signature: false, checkin.Waiting: false, checkin.Stopped: true} {
		v := checkin.View{Row: &checkin.Row{NextAskAt: &departure}, People: &guest.Party{}, Step: checkin.Step{Stage: stage, At: departure}}
		m, err := (&CheckIns{}).message(context.Background(), nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.GetNextAskAt() != nil; got != want {
			t.Errorf("%s: asked again %v", stage, m.GetNextAskAt())
		}
	}
}

// A clearance of a stay that was moved to a later day counts no more, so it is not listed as one.
func TestClearancesOfAMovedStayAreNotListed(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		must(a.changeCheckIn(&propertyv1.CheckInSettingsChange{IdentityCheck: ptr("live")}))(t)
		today, integrationID := a.w.clock.Now().UTC().Truncate(time.Hour), a.integration()
		reserve := func(in time.Duration) string {
			return a.reserve(integrationID, "1", reservation.Patch{
				reservation.From: today.Add(in).Format(time.RFC3339), reservation.To: today.Add(in + 48*time.Hour).Format(time.RFC3339),
			})
		}
		id := reserve(0)
		s := &CheckIns{Deps: a.w.deps, Service: &checkin.Service{DB: a.w.d, Keys: a.w.deps.Keys}}
		listed := func() (stages []string) {
			for _, c := range must(s.GetCheckIn(a.ctx, &propertyv1.GetCheckInRequest{ReservationId: id}))(t).GetData().GetCleared() {
				stages = append(stages, c.GetStage()+" "+c.GetRefused())
			}
			return stages
		}
		must(s.ClearStage(a.ctx, &propertyv1.ClearStageRequest{ReservationId: id, Stage: "identityCheck"}))(t)
		same(t, "on the day of arrival", []string{"identityCheck "}, listed())
		reserve(72 * time.Hour)
		same(t, "after the move", []string(nil), listed())
		must(s.ClearStage(a.ctx, &propertyv1.ClearStageRequest{ReservationId: id, Stage: "identityCheck", RefuseBecause: "another person"}))(t)
		same(t, "a refusal", []string{"identityCheck another person"}, listed())
	})
}

func TestRetentionOfAPropertyIsNotLongerThanTheInstallations(t *testing.T) {
	const installation = 400 * 24 * time.Hour
	for name, tt := range map[string]struct {
		change property.CheckInChange
		want   int
	}{
		"unchanged":   {property.CheckInChange{}, 0},
		"as long":     {property.CheckInChange{KeepStayDays: new(400), MessageDays: new(400)}, 0},
		"longer":      {property.CheckInChange{KeepStayDays: new(401), MessageDays: new(401)}, 2},
		"the default": {property.CheckInChange{KeepStayDays: new(0)}, 0},
	} {
		if got := retentionProblems(tt.change, installation); len(got) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
