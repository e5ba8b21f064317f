package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// An owner uploads a CSV file with a fault, reads its line, and uploads the file again: the preview changes nothing, the rooms are made and one
// is mapped, and the mapping is undone.
func TestOwnerUploadsRooms(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Desktop}, {size: browser.Narrow, scriptOff: true}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.PMS.SetSpaces(append(sandbox.PMSSpaces(), sandbox.Space{ID: "S401", Type: "Room", Name: "Suite 401", IsPrivate: true, IsActive: true}))
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			p.Visit(w.Base + "/app/spaces")
			p.Click("Read the PMS’s rooms again")
			p.WaitText("The list of the PMS is read.")
			p.Next("Rooms from a file", "Rooms from a file")

			file := filepath.Join(t.TempDir(), "rooms.csv")
			upload := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				p.Upload("#f-file", file)
				p.Click("Preview")
			}
			upload("type,name,pmsId\nRoom,Suite 401,S401\nHut,602,\n")
			p.WaitText("Line 3")
			p.WaitText("The type must be Room, Dorm or Bed.")
			p.Axe()
			if text := p.Value("Or paste the lines here"); !strings.Contains(text, "Hut,602") {
				t.Errorf("the page does not show the lines of the file: %q", text)
			}
			upload("\ufefftype;name;pmsId\r\nRoom;Suite 401;S401\r\nRoom;602;\r\n") // as a spreadsheet writes it
			p.WaitText("2 rooms and beds are made")
			p.WaitText("1 mapping changes.")
			p.Axe()
			p.Fits()
			p.Screenshot("upload")
			p.Next("Not now", "Rooms")
			if strings.Contains(p.Text(), "602") {
				t.Error("the preview makes rooms")
			}
			p.Next("Rooms from a file", "Rooms from a file")
			upload("type,name,pmsId\nRoom,Suite 401,S401\nRoom,602,\n")
			p.WaitText("2 rooms and beds are made")
			p.Next("Do it", "Rooms")
			p.WaitText("The file is taken over.")
			p.WaitText("602")

			p.Next("Changes of the mapping", "Changes of the mapping")
			p.WaitText("Suite 401: – → Suite 401")
			p.Next("Undo: Suite 401", "Rooms")
			p.WaitText("The change is undone.")
			p.WaitText("602")
		})
	}
}
