package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// The pages of gates, tablets, codes, rooms and the set-up, and the answer with a join code, show what a colleague changes while they are open.
func TestOtherPagesAreLive(t *testing.T) {
	t.Parallel()
	w := open(t)
	staff := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(staff)
	p := browser.Open(t, browser.SameDevice(staff), browser.WithSize(browser.Narrow))
	live := func(path string) {
		t.Helper()
		if path != "" {
			p.Visit(w.Base + path)
		}
		p.WaitUntil("a stream", `document.querySelector(".live") !== null && !document.querySelector(".live").hidden`)
		p.Fits()
	}
	ctx := w.Staff(t.Context())
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	live("/app/gates")
	must(propertyv1.NewGateServiceClient(w.Public).CreateGate(ctx, &propertyv1.CreateGateRequest{Name: "Boat house"}))
	p.WaitText("Boat house")
	p.Axe()
	p.Screenshot("gates-live")

	live("/app/settings/kiosks")
	must(propertyv1.NewKioskServiceClient(w.Public).CreateKiosk(ctx, &propertyv1.CreateKioskRequest{Name: "Lobby tablet"}))
	p.WaitText("Lobby tablet")
	p.Axe()
	p.Screenshot("kiosks-live")

	live("/app/codes")
	made, err := propertyv1.NewCodeServiceClient(w.Public).CreateCode(ctx, &propertyv1.CreateCodeRequest{Kind: "staff", Holder: "Rosa", AllRooms: true})
	must(made, err)
	p.WaitText("Rosa")
	live("/app/codes/" + made.GetData().GetId())
	must(propertyv1.NewCodeServiceClient(w.Public).RevokeCode(ctx, &propertyv1.RevokeCodeRequest{Id: made.GetData().GetId()}))
	p.WaitUntil("the end of the code", `/Ended|being removed|Being removed/.test(document.getElementById("state").textContent)`)

	spaces := propertyv1.NewSpaceServiceClient(w.Public)
	listed, err := spaces.ListSpaces(ctx, &propertyv1.ListSpacesRequest{})
	must(listed, err)
	live("/app/spaces/rooms/" + listed.GetData().GetList()[0].GetId())
	floor := "9 north"
	must(spaces.UpdateSpace(ctx, &propertyv1.UpdateSpaceRequest{Id: listed.GetData().GetList()[0].GetId(), Floor: &floor}))
	p.WaitText("Floor 9 north")
	p.Axe()
	live("/app/setup")

	p.Visit(w.Base + "/app/bridges/new")
	p.Fill("Name", "Attic")
	p.Click("Make a join code")
	p.WaitText("Waits for its join code")
	live("")
	p.Axe()
	p.Screenshot("join-live")
	bridges := propertyv1.NewBridgeServiceClient(w.Public)
	all, err := bridges.ListBridges(ctx, &propertyv1.ListBridgesRequest{})
	must(all, err)
	for _, b := range all.GetData().GetList() {
		if b.GetName() == "Attic" {
			must(bridges.RevokeBridge(ctx, &propertyv1.RevokeBridgeRequest{Id: b.GetId()}))
		}
	}
	p.WaitText("Revoked")
	p.WaitText("LATCHKEY_JOIN_CODE") // the code stays on the page
}
