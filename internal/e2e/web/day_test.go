package web_test

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/test/browser"
)

// A person looks at another day with the links and with the field, finds a stay by its room, and chooses how many rows a page has. Each works
// without a script.
func TestDaysAndRows(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			p.Visit(w.Base + "/app/today")
			p.Screenshot("today")
			p.Click("Tomorrow")
			p.WaitText("Day after")
			p.Axe()
			p.Fits()
			p.KeyboardWalk()
			p.Screenshot("today-tomorrow")
			nextYear := time.Now().AddDate(1, 0, 0).Format(time.DateOnly)
			p.Script(`document.getElementById("day").value = "` + nextYear + `"`) // keys enter a date in the order of the language
			p.Click("Show")
			p.WaitUntil("the page of "+nextYear, `location.search.includes("`+nextYear+`")`) // tomorrow's page has the text below, too
			p.WaitText("No stay begins on this day.")
			p.Fill("Name, number, room or group", "101")
			p.Click("Search")
			p.WaitText("#1001")
			p.Screenshot("found-by-room")
			p.Visit(w.Base + "/app/audit?page=")
			p.Click("Rows per page: 50")
			p.Axe()
			p.Fits()
			p.Screenshot("rows")
			p.Click("100")
			p.WaitText("Rows per page: 100")
		})
	}
}

// A front desk waives an open amount in the row of its guest: without a reason, or after the amount has changed, nothing is waived.
func TestTodayWaivesAnAmount(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
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
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 4")
			w.signUp(p)
			p.Visit(w.Base + "/app/today")
			p.WaitText("Stopped: an amount is open 84.00 EUR")
			p.Screenshot("owing")
			p.Click("Check in without payment Ada Lovelace")
			p.Axe()
			p.Fits()
			p.KeyboardWalk()
			p.Fill("Reason", " ")
			p.Click("Let the guest check in, 84.00 EUR stays open")
			p.WaitText("Enter the reason, in at most 500 characters. Nothing was done.")
			p.Axe()
			p.Fits()
			p.Screenshot("waive-wrong")
			owe(90)
			k.Click("Try again")
			k.WaitText("90.00 EUR")
			p.Fill("Reason", "invoice to the company")
			p.Click("Let the guest check in, 84.00 EUR stays open")
			p.WaitText("The open amount has changed")
			p.Axe()
			p.Screenshot("waive-outdated")
			p.Click("Check in without payment Ada Lovelace")
			p.Fill("Reason", "invoice to the company")
			p.Click("Let the guest check in, 90.00 EUR stays open")
			p.WaitText("The guest can check in although an amount is open.")
			k.Click("Try again")
			w.fillAtKiosk(k, "Ada", "Lovelace")
		})
	}
}

// An owner finds who did what in the audit log, by person, by action and by days, also without a script.
func TestAuditLogOfToday(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			p.Visit(w.Base + "/app/gates")
			p.Fill("Name", "Sauna")
			p.Click("Add it")
			p.WaitText("Saved.")
			p.Visit(w.Base + "/app/audit")
			p.WaitText("GateService/CreateGate")
			p.WaitText("SessionService/CreateFirstOwner")
			p.Axe()
			p.Fits()
			p.KeyboardWalk()
			p.Screenshot("audit")
			p.Choose("Who", "Marta Silva")
			p.Choose("What", "Add a gate")
			p.Click("Show")
			p.Wait("a[href=\"/app/audit\"].button")
			if page := p.HTML(); !strings.Contains(page, "GateService/CreateGate</code>") || strings.Contains(page, "SessionService/CreateFirstOwner</code>") {
				t.Error("the page is not filtered")
			}
			p.Axe()
			p.Fits()
			p.Screenshot("audit-filtered")
			p.Visit(w.Base + "/app/audit?firstDay=2031-01-01")
			p.WaitText("No entry fits this choice.")
			p.Next("Show all entries", "Audit log")
			p.Visit(w.Base + "/app/audit?firstDay=2031-01-02&lastDay=2031-01-01")
			p.Wait("#errors")
			p.Axe()
			p.Screenshot("audit-wrong")
		})
	}
}
