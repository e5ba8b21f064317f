package staff

import (
	"maps"
	"net/http"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// textsView is the page with the property's texts for guests. It has a form for each language.
type textsView struct {
	Languages []textsForm
}

// textsForm has the texts in one language.
type textsForm struct {
	etagGuard
	Tag, Language string // Language is the name of the language in that language
	Inputs        []notedInput
}

// guestTexts returns the texts that a property writes for guests, such as the house rules. Each has a standard text, from s, and a text in
// one language, from local. Guests with that language read the text in it or, if that is empty, the standard text. If the standard text is
// empty, they read neither.
func guestTexts(s *propertyv1.CheckInSettings, local *propertyv1.LocalTexts) []guestText {
	return []guestText{
		{"houseRules", s.GetHouseRules(), local.GetHouseRules()}, {"directions", s.GetDirections(), local.GetDirections()}, {"address", s.GetAddress(), local.GetAddress()},
	}
}

type guestText struct{ Name, Standard, Local string }

// inputOfText returns the name of the input for a text. tag is its language, and name one of those in guestTexts.
func inputOfText(tag, name string) string { return "texts." + tag + "." + name }

// showTexts handles the page of the texts that the property writes for guests.
func (s *site) showTexts(x *exchange) error { return x.textsPage("", nil) }

// textsPage renders the page of the texts that the property writes for guests. f is why the API refused the form of the language posted, or
// nil. That form shows the posted values and the errors, also those of a conflict (409). An f about something else is returned.
func (x *exchange) textsPage(posted string, f *fault.Fault) error {
	stored, err := x.checkInSettings()
	if err != nil {
		return err
	}
	p, v, status := x.settingsPage("texts"), textsView{}, http.StatusOK
	for _, tag := range p.Languages {
		form := textsForm{etagGuard: etagGuard{stored.GetEtag(), "settings.texts"}, Tag: tag, Language: p.LanguageName(tag)}
		texts, inputs := guestTexts(stored, stored.GetTexts()[tag]), []kit.Input{}
		for _, text := range texts {
			inputs = append(inputs, kit.Input{Name: inputOfText(tag, text.Name), Label: "staff.texts." + text.Name, Of: form.Language, Type: "lines", Value: text.Local})
		}
		shown := inputs
		if f != nil && tag == posted {
			shown = x.Posted(slices.Clone(inputs))
			if status, err = x.refuseSetting(p, renamed(f, "settings.texts.byLanguage.", "texts."), shown, "staff.texts.outdated"); err != nil {
				return err
			}
		}
		form.Inputs = noted(shown, inputs, status == http.StatusConflict && tag == posted)
		for i := range form.Inputs {
			form.Inputs[i].noteFallback(texts[i].Standard)
		}
		v.Languages = append(v.Languages, form)
	}
	p.Data = v
	return x.render(status, "texts", p)
}

// noteFallback adds a note about what guests read, if the text is empty or there is no standard text. standard is the standard text. It
// keeps a note that the input has already.
func (n *notedInput) noteFallback(standard string) {
	switch {
	case n.Note != "":
	case n.Value == "" && standard == "":
		n.Note = "staff.texts.none"
	case n.Value == "":
		n.Note, n.Text = "staff.texts.fallback", standard
	case standard == "":
		n.Note = "staff.texts.unread"
	}
}

// changeTexts handles the form with the texts for guests in one language. Texts in other languages do not change. For a language that the
// pages do not have, it stores nothing and redirects to the page without an error.
func (s *site) changeTexts(x *exchange) error {
	tag := x.Value("form")
	if !slices.Contains(x.newPage("staff.settings.texts").Languages, tag) {
		return x.Redirect("/app/settings/texts")
	}
	mine := &propertyv1.LocalTexts{
		HouseRules: x.Value(inputOfText(tag, "houseRules")), Directions: x.Value(inputOfText(tag, "directions")), Address: x.Value(inputOfText(tag, "address")),
	}
	err := x.changeRules(func(stored *propertyv1.CheckInSettings) *propertyv1.CheckInSettingsChange {
		texts := map[string]*propertyv1.LocalTexts{}
		maps.Copy(texts, stored.GetTexts())
		texts[tag] = mine
		if mine.GetHouseRules() == "" && mine.GetDirections() == "" && mine.GetAddress() == "" {
			delete(texts, tag)
		}
		return &propertyv1.CheckInSettingsChange{Texts: &propertyv1.TextsByLanguage{ByLanguage: texts}}
	})
	if err != nil {
		return x.textsPage(tag, s.Fault(err))
	}
	return x.Redirect("/app/settings/texts?done=saved")
}
