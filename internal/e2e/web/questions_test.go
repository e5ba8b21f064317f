package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// An owner asks guests a question of the property, in two languages and as the first of two, and writes house rules in German. A guest reads both
// in German.
func TestOwnerAsksGuests(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			link := w.link()
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			for _, page := range []string{"texts", "questions"} {
				p.Visit(w.Base + "/app/settings/" + page)
				p.Axe()
				p.KeyboardWalk()
				p.Fits()
				p.Screenshot(page + "-empty")
			}
			if m.language != "" {
				return
			}
			p.Fill("Question (Deutsch)", "Bringen Sie einen Hund mit?")
			p.Click("Add the question")
			p.WaitText("Write the question.")
			if got := p.Value("Question (Deutsch)"); got != "Bringen Sie einen Hund mit?" {
				t.Errorf("the refused form has %q", got)
			}
			p.Axe()
			p.Fits()
			p.Screenshot("questions-wrong")
			p.Fill("Question", "Do you bring a dog?")
			p.Click("Add the question")
			p.WaitText("Saved.")
			p.Fill("Question", "Number plate")
			p.Fill("Question (Deutsch)", "Kennzeichen")
			p.Click("An answer is required")
			p.Click("Add the question")
			p.Wait("button[value=up]")
			p.Axe()
			p.Fits()
			p.Screenshot("questions")
			p.Click("Up Number plate")
			p.WaitUntil("the new order", `document.querySelector(".rows a")?.textContent === "Number plate"`)
			p.Next("Do you bring a dog?", "Do you bring a dog?")
			p.Fill("Question", "A dog?")
			p.Click("Only the main guest is asked")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("question")
			p.Next("Save", "Your questions")
			p.WaitText("main guest only")

			p.Visit(w.Base + "/app/settings/checkin")
			p.Fill("House rules", "Quiet from 22:00.")
			p.Click("Save")
			p.WaitText("Saved.")
			p.Visit(w.Base + "/app/settings/texts")
			p.Fill("House rules (Deutsch)", "Ruhe ab 22 Uhr.")
			p.Click("Save Deutsch")
			p.WaitText("Saved.")
			p.WaitText("Quiet from 22:00.") // in the other languages
			p.Screenshot("texts-saved")

			guest := browser.Open(t, m.options()...)
			guest.Tolerate("status of 422")
			guest.SetCookie(w.Base, "lk-lang", "de")
			guest.Visit(link)
			guest.Next("Meinen Aufenthalt öffnen", "Ihr Aufenthalt")
			guest.Next("Sie Offen", "Wie heißen Sie?")
			guest.Fill("Vornamen", "Ada")
			guest.Fill("Nachname", "Lovelace")
			guest.Click("Weiter")
			guest.WaitText("Bringen Sie einen Hund mit?")
			guest.Axe()
			guest.Fits()
			guest.Screenshot("guest")
			guest.Click("Weiter")
			guest.Wait("#errors")
			guest.Fill("Kennzeichen", "B-AL 1815")
			guest.Click("Weiter")
			guest.WaitText("B-AL 1815")
			guest.Next("Das stimmt alles", "Ihr Aufenthalt")
			guest.Next("Hausordnung Offen", "Hausordnung")
			guest.WaitText("Ruhe ab 22 Uhr.")

			p.Visit(w.Base + "/app/settings/questions")
			p.Next("A dog?", "A dog?")
			p.Click("Delete…")
			p.Next("Delete A dog?", "Your questions")
			p.WaitText("Deleted.")
		})
	}
}
