package staff

import (
	"net/http"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// guarded is the etag of the settings that a form shows, and the setting that it changes as a whole, such as a list. If another person changed
// that setting since, the form is refused: it keeps what was typed, and shows what is stored now.
type guarded struct{ Etag, Setting string }

// notedInput is an input with a note below it, such as what another person stored meanwhile.
type notedInput struct {
	kit.Input
	Note string // message, or ""
	Text string // that the note is about
}

// plainPath replaces the brackets of indices and keys in the path of a field, which some paths have.
var plainPath = strings.NewReplacer("[", ".", "]", "")

// renamed returns a fault with the wrong fields below a prefix alone, under the names of their inputs. Without any, it returns the fault unchanged.
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

// changeRules changes a rule of the check-in whose new value is made of the stored one.
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

// refuseOwn adds what is wrong with a posted form to its page, and returns the status of the answer. outdated is the message that another person
// changed the setting.
func (x *exchange) refuseOwn(p *page, f *fault.Fault, inputs []kit.Input, outdated string) (int, error) {
	if f.Reason == fault.Outdated {
		p.Wrong = []kit.Wrong{{Title: p.T("staff.settings.outdated"), Text: p.T(outdated)}}
		return http.StatusConflict, nil
	}
	if !p.Refuse(f, inputs) {
		return 0, f
	}
	return http.StatusUnprocessableEntity, nil
}

// noted adds to each input what is stored now if it differs, on a page that was refused because another person changed something.
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
