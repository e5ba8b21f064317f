package web_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"latchkey.dev/internal/test/browser"
	"latchkey.dev/internal/test/pseudo"
)

// A guest chooses light or dark colors against those of the device, with and without script. The choice holds on the next page, on a
// page that the back button shows, and for the next visit; "Like this device" ends it.
func TestGuestChoosesColors(t *testing.T) {
	const light, dark = "rgb(250, 250, 248)", "rgb(20, 21, 19)"
	for _, test := range []struct {
		name            string
		options         []browser.Option
		press, own, say string
	}{
		{"light on a dark device", []browser.Option{browser.Dark}, "Light", dark, light},
		{"dark on a light device", nil, "Dark", light, dark},
		{"dark without script", []browser.Option{browser.WithoutScript}, "Dark", light, dark},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := base().serve(t)
			p := browser.Open(t, append(test.options, browser.WithSize(browser.Phone), browser.ReducedMotion)...)
			p.SetCookie(address, "lk-stay-stay1", "x")
			ground := func(want string) {
				t.Helper()
				p.WaitUntil("the ground "+want, `document.readyState === "complete" && getComputedStyle(document.documentElement).backgroundColor === "`+want+`"`)
			}
			p.Visit(address + "/g/stays/stay1")
			p.Visit(address + "/g/stays/stay1/form/rules")
			ground(test.own)
			p.Click("Light or dark")
			p.Click(test.press)
			ground(test.say)
			p.WaitHeading("House rules")
			p.Axe()
			p.Click("Light or dark")
			p.Screenshot("chosen")
			p.Axe()
			p.Visit(address + "/g/l/lkl_x")
			ground(test.say)
			p.Back()
			p.Back()
			ground(test.say)
			p.Click("Light or dark")
			p.Click("Like this device")
			ground(test.own)
		})
	}
}

// A guest chooses a language by its own name, on the phone without script and at the tablet. The tablet's next guest has the property's.
func TestGuestChoosesLanguage(t *testing.T) {
	pseudo.Add(t, pseudo.RightToLeft)
	other := func(english string) string { return pseudo.Text(pseudo.RightToLeft, english) }
	address := base().serve(t)

	p := browser.Open(t, browser.WithSize(browser.Phone), browser.WithoutScript)
	p.SetCookie(address, "lk-stay-stay1", "x")
	p.Visit(address + "/g/stays/stay1/form/rules")
	p.Click("Language: English")
	p.Next(other("English"), other("House rules"))
	p.Next(other("Back"), other("Your stay"))

	k := browser.Open(t, browser.WithSize(browser.Kiosk))
	k.SetCookie(address, "lk-kiosk", "x")
	k.Visit(address + "/k/")
	k.Next(other("English"), other("Welcome"))
	k.Screenshot("kiosk")
	k.Next(other("Check in"), other("Find your booking"))
	k.Visit(address + "/k/")
	k.WaitHeading("Welcome")
}

// A guest chooses colors and a language while a form is open: what was typed stays, and the Enter key still continues.
func TestLookKeepsTheForm(t *testing.T) {
	pseudo.Add(t, pseudo.RightToLeft)
	for name, options := range map[string][]browser.Option{"with script": nil, "without script": {browser.WithoutScript}} {
		t.Run(name, func(t *testing.T) {
			address := base().serve(t)
			p := browser.Open(t, append(options, browser.WithSize(browser.Phone), browser.ReducedMotion)...)
			p.SetCookie(address, "lk-stay-stay1", "x")
			p.Visit(address + "/g/stays/stay1/form/g1/name")
			p.Fill("Given names", "Anabela")
			p.Click("Light or dark")
			p.Click("Dark")
			p.WaitUntil("dark colors", `document.documentElement.dataset.theme === "dark" && document.getElementById("f-firstName").value === "Anabela"`)
			p.Axe()
			p.Click("Language: English")
			p.Click(pseudo.Text(pseudo.RightToLeft, "English"))
			p.WaitUntil("the other language", `document.documentElement.dir === "rtl" && document.getElementById("f-firstName").value === "Anabela"`)
			p.Script(`document.getElementById("f-firstName").focus()`)
			p.Press(kb.Enter)
			p.WaitHeading(pseudo.Text(pseudo.RightToLeft, "What is your country of citizenship?"))
		})
	}
}
