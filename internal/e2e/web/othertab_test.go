package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// A page that is open in one tab loads as a whole after another property was opened in a second tab: it never shows the rooms of one property under the
// name of the other.
func TestPageOfAnotherTab(t *testing.T) {
	t.Parallel()
	w := open(t)
	marta := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(marta)
	marta.Visit(w.secondProperty("Sea View"))
	marta.Fill("Your name", "Marta")
	marta.Fill("Email", "marta@example.com")
	marta.Fill("Password", staffPassword)
	marta.Click("Create my account")
	marta.Wait("nav")
	show := func(name string) {
		t.Helper()
		marta.Visit(w.Base + "/app/account")
		marta.Click("Open " + name)
		marta.WaitUntil("the pages of "+name, `document.title.includes("`+name+`")`)
	}
	old := browser.Open(t, browser.SameDevice(marta), browser.WithSize(browser.Desktop))
	old.Visit(w.Base + "/app/gates")
	old.WaitUntil("a stream", `!document.querySelector(".live").hidden`)
	show("Sea View")
	if _, err := propertyv1.NewGateServiceClient(w.Public).CreateGate(w.Staff(t.Context()), &propertyv1.CreateGateRequest{Name: "Boat house"}); err != nil {
		t.Fatal(err)
	}
	old.WaitUntil("the page of the other property", `document.querySelector(".house").textContent === "Sea View"`)
}
