package web_test

import (
	"testing"

	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// An owner drags a space of the PMS onto a room, then from that room onto another. Nothing is mapped until the form is saved, and a bed fits no room.
func TestOwnerMapsByDrag(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.PMS.SetSpaces(append(sandbox.PMSSpaces(), sandbox.Space{ID: "S401", Type: "Room", Name: "Suite 401", IsPrivate: true, IsActive: true}))
	p := browser.Open(t)
	w.signUp(p)
	p.Visit(w.Base + "/app/spaces/new")
	p.Fill("Rooms, one a line", "Annex\nBarn")
	p.Next("Add all of them", "Rooms")
	p.Next("Read the PMS’s rooms again", "Rooms")
	p.WaitText("1 space of")
	p.Axe()
	const suite = `[data-drag="S401"]`
	row := func(name string) string {
		p.Script(`document.querySelectorAll(".places tbody tr").forEach((r) => { r.dataset.name = r.querySelector("th a").textContent })`)
		return `tr[data-name="` + name + `"]`
	}
	chosen := func(name, want string) {
		t.Helper()
		if got := p.Value("At the PMS: " + name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	p.Drag(suite, row("Annex")+" th")
	chosen("Annex", "S401")
	p.Screenshot("dragged")
	p.Drag(row("Annex")+" [data-drag]", row("Barn")+" th")
	chosen("Annex", "")
	chosen("Barn", "S401")
	p.Reload()
	p.WaitText("1 space of")
	chosen("Barn", "")
	p.Drag(suite, row("Barn")+" th")
	p.Next("Save the mapping", "Rooms")
	p.WaitText("The mapping is saved. Current stays follow it now.")
	chosen("Barn", "S401")
	if p.Has(suite) {
		t.Error("a mapped space is still offered")
	}
}
