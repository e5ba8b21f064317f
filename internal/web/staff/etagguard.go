package staff

import (
	"net/http"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// etagGuard has the hidden fields of a form that replaces a whole setting, such as a list. Setting is the name of the setting, and Etag the
// version of the settings that the form shows. If another person has changed the setting meanwhile, the API refuses the form, and the page
// shows both values.
type etagGuard struct{ Etag, Setting string }

// notedInput is an input with a note below it, such as the value that another person has stored meanwhile.
type notedInput struct {
	kit.Input
	Note string // message kind of the note, or ""
	Text string // the value that the note shows
}

// plainPath replaces brackets in the path of a refused field, as in list[0], by dots.
var plainPath = strings.NewReplacer("[", ".", "]", "")

// renamed returns a fault with only those refused fields of f whose paths, with dots for brackets (list.0 for list[0]), start with prefix.
// It replaces prefix by input, so that the paths match the names of a form's inputs. Without such fields it returns f unchanged.
func renamed(f *fault.Fault, prefix, input string) *fault.Fault {
	var fields []fault.Field
	for _, field := range f.Fields {
		if rest, ok := strings.CutPrefix(plainPath.Replace(field.Path), prefix); ok {
			field.Path = input + rest
			fields = append(fields, field)
		}
	}
	if len(fields) == 0 {
		return f
	}
	return fault.Fields(fields...)
}

// changeRules stores a check-in setting whose new value depends on the stored one, such as a list with one more entry. change computes it,
// and can be called twice. If that setting has changed since the page was shown, changeRules stores nothing and returns an error with the
// reason [fault.Outdated].
func (x *exchange) changeRules(change func(stored *propertyv1.CheckInSettings) *propertyv1.CheckInSettingsChange) error {
	return x.saveUnlessChanged(func(etag string) error {
		stored, err := x.checkInSettings()
		if err != nil {
			return err
		}
		_, err = x.site.api.CheckIns.UpdateCheckInSettings(x.call(), &propertyv1.UpdateCheckInSettingsRequest{Settings: change(stored), Etag: etag})
		return err
	}, x.rulesEtag)
}

// refuseChanged adds the error that another person has changed the values meanwhile. The caller shows the form with the stored values.
func (p *page) refuseChanged() {
	p.Wrong = []kit.Wrong{{Title: p.T("staff.settings.outdated"), Text: p.T("staff.settings.outdated.text")}}
}

// refuseSetting adds the errors of a refused settings form to its page, and returns the HTTP status: 409 if the form is outdated, else 422.
// f is why the API refused the form. outdated is the message kind for the case that another person has changed the setting. If f is not
// about the form, the error is f itself.
func (x *exchange) refuseSetting(p *page, f *fault.Fault, inputs []kit.Input, outdated string) (int, error) {
	if f.Reason == fault.Outdated {
		p.Wrong = []kit.Wrong{{Title: p.T("staff.settings.outdated"), Text: p.T(outdated)}}
		return http.StatusConflict, nil
	}
	if !p.Refuse(f, inputs) {
		return 0, f
	}
	return http.StatusUnprocessableEntity, nil
}

// noted returns the shown inputs with notes. If outdated is true (another person has changed the setting), each input whose stored value
// differs gets a note with that value. shown and stored are in the same order.
func noted(shown, stored []kit.Input, outdated bool) (list []notedInput) {
	for i, input := range shown {
		n := notedInput{Input: input}
		if now := stored[i].Value; outdated && now != strings.ReplaceAll(input.Value, "\r\n", "\n") {
			switch {
			case input.Type == "switch" && now == "":
				n.Note = "staff.stored.off"
			case input.Type == "switch":
				n.Note = "staff.stored.on"
			case now == "":
				n.Note = "staff.stored.none"
			default:
				n.Note, n.Text = "staff.stored", now
			}
		}
		list = append(list, n)
	}
	return list
}
