package staff

import (
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// kept are the texts about what is stored and for how long, as message kinds.
var kept = []string{"staff.kept.stays", "staff.kept.codes", "staff.kept.forms", "staff.kept.law", "staff.kept.messages", "staff.kept.audit", "staff.kept.erase"}

// keptFor is how many days the server stores one kind of data. Label is a message kind.
type keptFor struct {
	Label string
	Days  int32
}

// keptByServer returns the retention times that the server sets and the property cannot change, in the order of the page.
func keptByServer(r *propertyv1.ServerRetention) []keptFor {
	return []keptFor{
		{"staff.kept.stayDays", r.GetStayDays()}, {"staff.kept.eventDays", r.GetEventDays()}, {"staff.kept.auditDays", r.GetAuditDays()},
		{"staff.kept.canceledStayDays", r.GetCanceledStayDays()}, {"staff.kept.noShowFormDays", r.GetNoShowFormDays()}, {"staff.kept.profileDays", r.GetProfileDays()},
		{"staff.kept.guestSessionDays", r.GetGuestSessionDays()}, {"staff.kept.undeliveredEventDays", r.GetUndeliveredEventDays()},
		{"staff.kept.tokenDays", r.GetTokenDays()}, {"staff.kept.answerDays", r.GetAnswerDays()}, {"staff.kept.erasureProofDays", r.GetErasureProofDays()},
		{"staff.kept.removedStayDays", r.GetRemovedStayDays()},
	}
}

// retentionForm returns the form with the retention times that the property sets.
func retentionForm(s *propertyv1.CheckInSettings) settingsForm {
	return settingsForm{Name: "retention", Etag: s.GetEtag(), Button: "staff.save", Groups: []group{
		{"staff.settings.keep", "staff.settings.keep.text", []kit.Input{
			{Name: "settings.keepStayDays", Label: "staff.settings.keepStays", Hint: "staff.settings.keepStays.hint", Mode: "numeric", Value: digits(s.GetKeepStayDays())},
			{Name: "settings.messageDays", Label: "staff.settings.messageDays", Hint: "staff.settings.messageDays.hint", Mode: "numeric", Value: digits(s.GetMessageDays())},
		}},
	}}
}

// showRetention handles the page of the retention times.
func (s *site) showRetention(x *exchange) error { return x.retentionForms("", nil) }

// retentionForms renders the page of the retention times. posted is the name of the posted form, and f is why the API refused it, or
// nil. It returns f if f concerns no field of the form.
func (x *exchange) retentionForms(posted string, f *fault.Fault) error {
	stored, err := x.checkInSettings()
	if err != nil {
		return err
	}
	erasures, err := x.erasures()
	if err != nil {
		return err
	}
	return x.showForms(settingsView{Tab: "retention", Erasures: erasures, Forms: []settingsForm{retentionForm(stored)}, Kept: kept, Server: keptByServer(stored.GetServerRetention())}, posted, f)
}

// changeRetention handles the form of the retention times.
func (s *site) changeRetention(x *exchange) error {
	if x.Value("form") != "retention" {
		return x.Redirect("/app/settings/retention")
	}
	err := x.saveRules(&propertyv1.CheckInSettingsChange{KeepStayDays: x.number("settings.keepStayDays"), MessageDays: x.number("settings.messageDays")})
	return x.finishForm("retention", err, func(f *fault.Fault) error { return x.retentionForms("retention", f) })
}
