package web_test

import (
	"regexp"
	"strings"
	"testing"

	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// An owner reads the PMS's rooms, cures what differs, adds rooms, and deletes one that has no lock.
func TestOwnerMapsRooms(t *testing.T) {
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			rooms := sandbox.PMSSpaces()[1:] // R101 is gone
			rooms[0].Name = "Double 102"
			w.PMS.SetSpaces(append(rooms, sandbox.Space{ID: "S401", Type: "Room", Name: "Suite 401", IsPrivate: true, IsActive: true}))
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/spaces")
			p.WaitText("Room 101")
			p.Axe()
			if m.language != "" {
				p.Fits()
				p.Screenshot("spaces")
				return
			}
			p.Next("Read the PMS’s rooms again", "Rooms")
			p.WaitText("3 differences to the PMS")
			p.WaitText("Ada Lovelace")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("spaces")
			p.Click("Make the room “Suite 401”")
			p.WaitText("2 differences")
			p.Click("Accept “Double 102”")
			p.WaitText("1 difference")
			p.Choose("At the PMS: Room 101", "– none –")
			p.Next("Preview", "What would change")
			p.WaitText("1 reservation is concerned.")
			p.WaitText("no door")
			p.Axe()
			p.Fits()
			p.Screenshot("preview")
			p.Next("Not now", "Rooms")
			p.Next("Changes of the mapping", "Changes of the mapping")
			p.WaitText("Suite 401: – → Suite 401")
			p.Axe()
			p.Fits()
			p.Screenshot("changes")
			p.Next("Undo: Suite 401", "Rooms")
			p.WaitText("The change is undone.")
			p.Next("Add rooms", "Add rooms")
			p.Axe()
			p.Fill("Rooms, one a line", "501, 5\n: 3")
			p.Click("Add all of them")
			p.WaitText("These lines cannot be read: 2.")
			p.Axe()
			p.Fits()
			p.Screenshot("rooms-wrong")
			p.Fill("Rooms, one a line", "501, 5\nDorm 9: 2")
			p.Next("Add all of them", "Rooms")
			p.WaitText("Dorm 9-2")
			p.Next("Rooms from a file", "Rooms from a file")
			p.Axe()
			p.KeyboardWalk()
			p.Fill("Or paste the lines here", "type,name,dorm,pmsId\nRoom,601,,\nHut,602,,")
			p.Click("Preview")
			p.WaitText("The type must be Room, Dorm or Bed.")
			p.Axe()
			p.Fits()
			p.Screenshot("file-wrong")
			p.Fill("Or paste the lines here", "type;name;dorm;pmsId\nRoom;601;;S401\nBed;Dorm 9-3;Dorm 9;\nRoom;501;;")
			p.Click("Preview")
			p.WaitText("2 rooms and beds are made")
			p.WaitText("1 mapping changes.")
			p.Axe()
			p.Fits()
			p.Screenshot("file")
			p.Next("Do it", "Rooms")
			p.WaitText("Dorm 9-3")
			p.Next("501", "501")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("room")
			p.Click("Delete…")
			p.Next("Delete 501 for good", "Rooms")
			p.WaitText("Deleted.")
		})
	}
}

// An owner changes the settings, reads what is wrong at its field, and adds a tablet.
func TestOwnerChangesSettings(t *testing.T) {
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			for _, name := range []string{"property", "checkin", "retention", "mail", "integrations", "kiosks"} {
				p.Visit(w.Base + "/app/settings/" + name)
				p.Wait("main[data-ready] h1")
				p.Axe()
				p.Fits()
				p.Screenshot(name)
			}
			if m.language != "" {
				return
			}
			other := browser.Open(t, append(m.options(), browser.SameDevice(p))...) // another person's
			other.Tolerate("status of 409")
			other.Visit(w.Base + "/app/settings/property")
			p.Visit(w.Base + "/app/settings/property")
			p.KeyboardWalk()
			p.Fill("Time zone", "Lisbon")
			p.Fill("Minutes after check-out", "an hour")
			p.Click("Save")
			p.WaitText("Enter a time zone by continent and city")
			p.WaitText("Enter 0 to 1440 minutes.")
			p.Axe()
			p.Screenshot("property-wrong")
			p.Fill("Time zone", "Europe/Madrid")
			p.Fill("Minutes after check-out", "30")
			p.Click("Save")
			p.WaitText("Saved.")
			other.Fill("Minutes before check-in", "45")
			other.Click("Save")
			other.WaitText("Another person changed this meanwhile.")
			if zone, early := other.Value("Time zone"), other.Value("Minutes before check-in"); zone != "Europe/Madrid" || early != "45" {
				t.Errorf("the refused form has the zone %q and %q minutes", zone, early)
			}
			other.Axe()
			other.Fits()
			other.Screenshot("property-changed")
			other.Click("Save")
			other.WaitText("Saved.")
			p.Visit(w.Base + "/app/settings/retention")
			p.Fill("Days after a stay until it is deleted", "a month")
			p.Click("Save")
			p.Wait("#errors")
			p.Axe()
			p.Fill("Days after a stay until it is deleted", "90")
			p.Click("Save")
			p.WaitText("Saved.")
			p.Visit(w.Base + "/app/settings/kiosks")
			p.Fill("Name", "Lobby")
			p.Click("Add")
			p.WaitText("Another one has this name")
			p.Fill("Name", "Garden")
			p.Click("Add")
			p.WaitText("Code for Garden")
			p.Axe()
			p.Screenshot("kiosk-code")
			p.Visit(w.Base + "/app/settings/kiosks")
			p.Next("Poster Garden", "Poster of Garden")
			p.WaitText("Checken Sie mit Ihrem Telefon ein")
			if link := p.QR(); !strings.HasPrefix(link, w.Base+"/q/") {
				t.Errorf("the poster leads to %s", link)
			}
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("poster")
			p.Visit(w.Base + "/app/settings/integrations")
			p.Click("Tokens and access Sandbox PMS")
			p.Next("New access token", "Integrations")
			p.Wait("code.secret")
			p.Axe()
			p.Screenshot("token")
		})
	}
}

// An owner invites a colleague, who joins with the link and sees the pages of the role alone.
func TestOwnerInvites(t *testing.T) {
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 4")
			w.signUp(p)
			p.WaitHeading("Set-up")
			p.WaitText("1 step is left")
			p.Axe()
			p.Fits()
			p.Screenshot("setup")
			p.Visit(w.Base + "/app/settings/people")
			p.Axe()
			p.Fill("Email", "marta@example.com")
			p.Click("Invite")
			p.WaitText("A person with this address works here")
			p.Axe()
			p.Fill("Email", "joao@example.com")
			p.Choose("Role", "Housekeeping")
			p.Click("Invite")
			p.Wait("code.secret")
			if !m.scriptOff {
				p.Click("Copy")
				p.WaitText("Copied.")
			}
			p.WaitText("Open invitations")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("people")
			link := regexp.MustCompile(`http[^<"]*/app/invite/[A-Za-z0-9_-]+`).FindString(p.HTML())
			joao := browser.Open(t, m.options()...)
			joao.Tolerate("status of 4")
			joao.Visit(link)
			joao.WaitText("joao@example.com")
			joao.Axe()
			joao.Screenshot("invite")
			joao.Fill("Your name", "João Costa")
			joao.Fill("Password", "short")
			joao.Click("Join")
			joao.WaitText("Use at least 12 characters.")
			joao.Fill("Password", staffPassword)
			joao.Click("Join")
			joao.Wait("nav")
			joao.Visit(w.Base + "/app/settings/people")
			joao.WaitText("Your role does not include this")
			joao.Visit(link)
			joao.WaitText("does not work")
			p.Visit(w.Base + "/app/settings/people")
			p.Click("Change João Costa")
			p.Click("End access for now João Costa")
			p.WaitText("no access")
		})
	}
}
