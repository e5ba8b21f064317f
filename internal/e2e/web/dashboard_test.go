package web_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/test/browser"
)

const staffPassword = "correct horse battery"

// ownerLink makes a link for an owner of the world's property.
func (w *world) ownerLink() string {
	w.t.Helper()
	return w.ownerLinkOf(w.PropertyID)
}

// ownerLinkOf is ownerLink for a property.
func (w *world) ownerLinkOf(propertyID string) string {
	w.t.Helper()
	made, err := adminv1.NewOwnerServiceClient(w.Socket).CreateOwnerLink(w.t.Context(), &adminv1.CreateOwnerLinkRequest{PropertyId: propertyID})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Base + "/app/first/" + made.GetData().GetSecret()
}

// signUp opens an owner's link in a browser and creates the account.
func (w *world) signUp(p *browser.Page) {
	w.t.Helper()
	p.Visit(w.ownerLink())
	p.Fill("Your name", "Marta Silva")
	p.Fill("Email", "marta@example.com")
	p.Fill("Password", staffPassword)
	p.Click("Create my account")
	p.Wait("nav")
}

// An owner creates an account with the link, adds an authenticator app, signs out, and signs in with both factors.
func TestOwnerSignsIn(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			p.Visit(w.ownerLink())
			p.KeyboardWalk()
			p.Fill("Your name", "Marta Silva")
			p.Fill("Email", "marta")
			p.Fill("Password", "too short")
			p.Click("Create my account")
			p.WaitText("Use at least 12 characters")
			p.Axe()
			p.Screenshot("first-wrong")
			p.Fill("Email", "marta@example.com")
			p.Fill("Password", staffPassword)
			p.Click("Create my account")
			p.Wait("nav")
			p.Visit(w.Base + "/app/account")
			p.WaitHeading("Your account")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("account")
			p.Next("Set up", "Authenticator app")
			p.Click("Set up")
			p.Wait("svg.qr")
			p.Axe()
			p.Screenshot("enrol")
			secret := regexp.MustCompile(`<code class="secret">([A-Z2-7]+)<`).FindStringSubmatch(p.HTML())[1]
			at := time.Now().Add(-30 * time.Second)
			code := func() string {
				at = at.Add(30 * time.Second)
				c, err := totp.GenerateCode(secret, at)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			p.Fill("Code of the app", code())
			p.Next("Use this app", "Your recovery codes")
			p.Axe()
			p.Next("I have kept them", "Your account")
			p.Next("Sign out", "Sign in")
			p.Axe()
			p.Screenshot("login")
			p.Fill("Email", "Marta@Example.com")
			p.Fill("Password", "not her password")
			p.Click("Sign in")
			p.WaitText("do not belong together")
			p.Fill("Password", staffPassword)
			p.Next("Sign in", "Second step")
			p.Axe()
			p.Fill("Code", code())
			p.Click("Continue")
			p.Wait("nav")
		})
	}
}

// A front desk sees who arrives and who will get in, finds a stay by its name, opens its door, and answers its guest.
func TestFrontDesk(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}, {size: browser.Phone, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			w.book("B-2", "1002", "", map[string]any{"booker": map[string]any{"firstName": "Charlotte-Elisabeth", "lastName": "Dubois-Vandermeersch", "email": "c@example.com"}})
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/today")
			p.Wait("table.day")
			p.WaitText("Lovelace")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("today")
			p.Visit(w.Base + "/app/today?tab=departures&day=2031-01-01")
			p.Wait(".empty")
			p.Axe()
			p.Screenshot("empty")
			p.Visit(w.Base + "/app/reservations?q=dub")
			p.WaitText("1002")
			p.Axe()
			p.Screenshot("found")
			p.Visit(w.Base + "/app/reservations?q=1001")
			p.Click("Ada Lovelace")
			p.WaitHeading("Ada Lovelace · #1001")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("reservation")
			stay := p.Address()
			p.Visit(stay + "/guests")
			p.Wait("main[data-ready] h1")
			p.Axe()
			p.Screenshot("guests")
			p.Visit(stay + "/messages")
			p.Axe()
			if m.language == "" {
				p.Fill("Answer", "Your room is ready.\nCome in.")
				p.Click("Send")
				p.WaitText("Come in.")
			}
			p.Screenshot("messages")
		})
	}
}

// An open list shows a new arrival at once, keeps the focus, and says since when it is not live.
func TestTodayIsLive(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	way := w.newInternet()
	p := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(p)
	p.Visit(way.base + "/app/today")
	p.WaitUntil("a stream", `!document.querySelector(".live").hidden`)
	p.Axe()
	p.Script(`[...document.querySelectorAll("table a")].find(a => a.textContent.includes("Lovelace")).focus()`)
	w.book("B-2", "1002", "R102", map[string]any{"booker": map[string]any{"firstName": "Grace", "lastName": "Hopper", "email": "grace@example.com"}})
	p.WaitText("Grace Hopper")
	p.WaitUntil("the focus", `document.activeElement.textContent.includes("Lovelace")`)
	p.Screenshot("live")
	p.Tolerate("Failed to load resource")
	p.Tolerate("ERR_")
	way.cut.Store(true)
	way.server.CloseClientConnections()
	p.WaitText("Not live since")
	w.book("B-3", "1003", "R103", map[string]any{"booker": map[string]any{"firstName": "Alan", "lastName": "Turing", "email": "alan@example.com"}})
	way.cut.Store(false)
	p.WaitText("Alan Turing")
	p.WaitUntil("a stream again", `!document.querySelector("[data-on]").hidden`)
	way.away.Store(true) // a proxy answers in place of the server, which ends an event stream for good
	way.server.CloseClientConnections()
	p.WaitText("Not live since")
	w.book("B-4", "1004", "R104", map[string]any{"booker": map[string]any{"firstName": "Mary", "lastName": "Jackson", "email": "mary@example.com"}})
	way.away.Store(false)
	p.WaitText("Mary Jackson")
	p.WaitUntil("a stream once more", `!document.querySelector("[data-on]").hidden`)
}

// A guest at the tablet is stopped by an open amount, and goes on to the form after the desk has waived it with a reason. Whether the guest
// is checked in then is up to the PMS.
func TestDeskWaivesAnAmount(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	owe := func(amount float64) {
		t.Helper()
		if _, err := w.PMS.SetOwing(t.Context(), "B-1", amount); err != nil {
			t.Fatal(err)
		}
	}
	owe(84)
	k := w.enrol()
	k.Next("Check in", "Find your booking")
	w.findAt(k, "1001", "Lovelace")
	k.WaitHeading("Is this your booking?")
	k.Click("Yes, check in")
	k.WaitText("84.00 EUR")
	desk := browser.Open(t, browser.WithSize(browser.Desktop))
	desk.Tolerate("status of 409")
	w.signUp(desk)
	desk.Visit(w.Base + "/app/reservations?q=1001")
	desk.Click("Ada Lovelace")
	desk.WaitText("Stopped: an amount is open 84.00 EUR")
	desk.Click("Check in without payment")
	desk.Fill("Reason", "invoice to the company")
	desk.Axe()
	desk.Fits()
	desk.Screenshot("waive")
	owe(90)
	k.Click("Try again")
	k.WaitText("90.00 EUR")
	desk.Click("Let the guest check in, 84.00 EUR stays open")
	desk.WaitText("The open amount has changed")
	desk.Axe()
	desk.Screenshot("waive-outdated-stay")
	desk.Click("Check in without payment")
	desk.Fill("Reason", "invoice to the company")
	desk.Click("Let the guest check in, 90.00 EUR stays open")
	desk.WaitText("The guest can check in although an amount is open.")
	k.Click("Try again")
	w.fillAtKiosk(k, "Ada", "Lovelace") // the form comes after the stop
}
