package web_test

import (
	"regexp"
	"testing"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// A person who works at one property is invited to another. The link asks for the password of the account, and for no name. Afterwards the account
// has both properties, and the person changes between them.
func TestPersonOfAnotherPropertyIsInvited(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Desktop}, {size: browser.Narrow, scriptOff: true}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			marta := browser.Open(t, m.options()...)
			marta.Tolerate("status of 4")
			w.signUp(marta)
			other := w.secondProperty("Sea View")
			carla := browser.Open(t, m.options()...)
			carla.Visit(other)
			carla.Fill("Your name", "Carla Reis")
			carla.Fill("Email", "carla@example.com")
			carla.Fill("Password", staffPassword)
			carla.Click("Create my account")
			carla.Wait("nav")
			carla.Visit(w.Base + "/app/settings/people")
			carla.Fill("Email", "Marta@example.com")
			carla.Choose("Role", "Manager")
			carla.Click("Invite")
			carla.Wait("code.secret")
			link := regexp.MustCompile(`http[^<"]*/app/invite/[A-Za-z0-9_-]+`).FindString(carla.HTML())

			marta.Visit(link)
			marta.WaitHeading("Join Sea View")
			marta.WaitText("You have an account with this address. Enter its password.")
			if marta.Has(`input[name="name"]`) {
				t.Error("the page asks a known person for a name")
			}
			marta.Axe()
			marta.Fits()
			marta.Screenshot("invite-known")
			marta.Fill("Password", "not her password")
			marta.Click("Join")
			marta.Wait("#errors")
			marta.Axe()
			marta.Fill("Password", staffPassword)
			marta.Click("Join")
			marta.Wait("nav")
			marta.WaitUntil("the pages of the property that she joined", `document.title.includes("Sea View")`)
			marta.Visit(w.Base + "/app/account")
			marta.WaitText("Sea View Manager")
			marta.Axe()
			marta.Fits()
			marta.Screenshot("two-properties")
			marta.Click("Open Hostel Miramar")
			marta.WaitUntil("the pages of the first property", `document.title.includes("Hostel Miramar")`)
			marta.Visit(w.Base + "/app/account")
			marta.Click("Open Sea View")
			marta.WaitUntil("the pages of the second property", `document.title.includes("Sea View")`)
			marta.Visit(link)
			marta.WaitText("does not work")
		})
	}
}

// secondProperty creates another property, and returns a link for its owner.
func (w *world) secondProperty(name string) (link string) {
	w.t.Helper()
	zone := "Europe/Lisbon"
	made, err := adminv1.NewPropertyServiceClient(w.Socket).CreateProperty(w.t.Context(), &adminv1.CreatePropertyRequest{
		Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.ownerLinkOf(made.GetData().GetId())
}

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
