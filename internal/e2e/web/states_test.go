package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/browser"
	"latchkey.dev/internal/test/pseudo"
)

// state is a page in one state.
type state struct {
	name  string
	path  string
	given func(*scripted)
	act   func(*browser.Page) // what the guest does before the page is checked
	// dialog means that a dialog covers the page.
	dialog bool
}

// sends is the button that sends the form of a page.
const sends = "main form p > button:not([name])"

// next presses what a selector names, in any language, and waits for the next page.
func next(p *browser.Page, selector string) {
	p.Script(`document.querySelector("h1").dataset.former = ""`)
	p.ClickAt(selector)
	p.WaitUntil("the next page", `document.querySelector("h1:not([data-former])") && document.readyState === "complete"`)
}

func press(selector string) func(*browser.Page) {
	return func(p *browser.Page) { next(p, selector) }
}

// wrong sends a form that comes back with its faults.
func wrong(p *browser.Page) {
	p.Tolerate("status of 422")
	p.ClickAt(sends)
	p.Wait("#errors")
}

func failing(f *fault.Fault) func(*scripted) { return func(s *scripted) { s.fail = f } }

var guestStates = []state{
	{name: "link", path: "/g/l/lkl_x"},
	{name: "link-bound", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.Bound = true }},
	{name: "link-renewed", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.Bound = true }, act: press(`form[action$="/renew"] button`)},
	{name: "link-handed", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.HandedOver = true }},
	{name: "link-handed-bound", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.HandedOver, s.link.Bound = true, true }},
	{name: "link-canceled", path: "/g/l/lkl_x", given: func(s *scripted) { s.link = &guestv1.Link{Property: s.link.Property, Canceled: true} }},
	{name: "unknown", path: "/g/l/lkl_x", given: func(s *scripted) { s.link = nil }, act: func(p *browser.Page) { p.Tolerate("status of 404") }},
	{name: "device-ended", path: "/g/stays/stay1", given: func(s *scripted) { s.ended = "accessEnded" }},
	{name: "stay", path: "/g/stays/stay1"},
	{name: "stay-long", path: "/g/stays/stay1", given: long},
	{name: "stay-not-today", path: "/g/stays/stay1", given: both(stage("notToday"), func(s *scripted) {
		for _, t := range s.stay.Tasks {
			t.State = "done"
		}
	})},
	{name: "stay-started", path: "/g/stays/stay1", given: started("verified", "")},
	{name: "stay-ended", path: "/g/stays/stay1", given: stage("ended")},
	{name: "form-name", path: "/g/stays/stay1/form/g1/name"},
	{name: "form-name-long", path: "/g/stays/stay1/form/g1/name", given: long},
	{name: "form-wrong", path: "/g/stays/stay1/form/g1/document", given: failing(fault.Fields(
		fault.Field{Path: "answers.document.type", Reason: "required"}, fault.Field{Path: "answers.document.number", Reason: "badCharacter"})), act: wrong},
	{name: "form-locked", path: "/g/stays/stay1/form/g1/document", given: locked("guest")},
	{name: "form-birth-wrong", path: "/g/stays/stay1/form/g1/birth", given: failing(fault.Fields(
		fault.Field{Path: "answers.birthDate", Reason: "notADate"}, fault.Field{Path: "answers.sex", Reason: "required"})), act: wrong},
	{name: "form-document", path: "/g/stays/stay1/form/g1/document"},
	{name: "form-citizenship", path: "/g/stays/stay1/form/g1/citizenship"},
	{name: "form-birth", path: "/g/stays/stay1/form/g1/birth"},
	{name: "form-address", path: "/g/stays/stay1/form/g1/address"},
	{name: "form-contact", path: "/g/stays/stay1/form/g1/contact"},
	{name: "form-property", path: "/g/stays/stay1/form/g1/property"},
	{name: "check", path: "/g/stays/stay1/form/check"},
	{name: "check-long", path: "/g/stays/stay1/form/check", given: long},
	{name: "people", path: "/g/stays/stay1/people"},
	{name: "people-long", path: "/g/stays/stay1/people", given: long},
	{name: "arrival", path: "/g/stays/stay1/form/arrival"},
	{name: "arrival-wrong", path: "/g/stays/stay1/form/arrival", given: failing(fault.Fields(fault.Field{Path: "time", Reason: "invalid"})), act: wrong},
	{name: "rules", path: "/g/stays/stay1/form/rules"},
	{name: "rules-accepted", path: "/g/stays/stay1/form/rules", given: func(s *scripted) { s.stay.HouseRulesAcceptedAt = timestamppb.New(moment) }},
	{name: "share", path: "/g/stays/stay1/form/share"},
	{name: "share-minors", path: "/g/stays/stay1/form/share", given: func(s *scripted) {
		yes := true
		s.stay.Shared, s.stay.Shared[0].Shared, s.stay.KeepProfile = s.stay.Shared[:1], &yes, &yes
		s.stay.Guests[2].Minor, s.stay.Guests[2].MayShare = true, true
	}},
	{name: "find", path: "/q/dor_2XK7M4PQRS"},
	{name: "find-wrong", path: "/q/dor_2XK7M4PQRS", given: failing(fault.New(fault.NotFound, "", "")), act: find("#errors")},
	{name: "find-too-many", path: "/q/dor_2XK7M4PQRS", given: failing(fault.New(fault.Exhausted, "", "")), act: find("#errors")},
	{name: "which", path: "/q/dor_2XK7M4PQRS", given: choices, act: find(".choices")},
	{name: "checkin-start", path: "/g/stays/stay1/checkin"},
	{name: "email", path: "/g/stays/stay1/email", given: noAddress},
	{name: "email-wrong", path: "/g/stays/stay1/email", given: both(noAddress, failing(fault.Fields(fault.Field{Path: "email", Reason: "notAnAddress"}))), act: wrong},
	{name: "checkin-not-today", path: "/g/stays/stay1/checkin", given: stage("notToday")},
	{name: "checkin-details", path: "/g/stays/stay1/checkin", given: stage("details")},
	{name: "checkin-confirm", path: "/g/stays/stay1/checkin", given: stage("confirmDetails")},
	{name: "checkin-rules", path: "/g/stays/stay1/checkin", given: stage("houseRules")},
	{name: "checkin-ready", path: "/g/stays/stay1/checkin", given: stage("ready")},
	{name: "checkin-waiting", path: "/g/stays/stay1/checkin", given: both(stage("waiting"), func(s *scripted) { s.stay.CheckIn.AcceptedAt = timestamppb.New(moment) })},
	{name: "checkin-late", path: "/g/stays/stay1/checkin", given: both(stage("waiting"), func(s *scripted) { s.stay.CheckIn.Late, s.stay.CheckIn.AcceptedAt = true, timestamppb.New(moment) })},
	{name: "checkin-owing", path: "/g/stays/stay1/checkin", given: stop("owing")},
	{name: "stay-owing", path: "/g/stays/stay1", given: stop("owing")},
	{name: "checkin-room", path: "/g/stays/stay1/checkin", given: stop("roomNotReady")},
	{name: "checkin-pms", path: "/g/stays/stay1/checkin", given: stop("partnerError")},
	{name: "checkin-identity", path: "/g/stays/stay1/checkin", given: stage("identityCheck", &guestv1.CheckInStop{Reason: "identityCheck"})},
	{name: "checkin-signature", path: "/g/stays/stay1/checkin", given: stage("signature")},
	{name: "checkin-sign", path: "/g/stays/stay1/checkin", given: signing, act: func(p *browser.Page) {
		if p.Holds(`matchMedia("(scripting: none)").matches`) {
			p.Wait("noscript .note")
			return
		}
		p.ClickAt("button[name=do][value=sign]")
		p.Wait("[data-small]:not([hidden])")
		p.Draw("canvas", [2]float64{.1, .7}, [2]float64{.3, .2}, [2]float64{.5, .8}, [2]float64{.9, .3})
	}},
	{name: "checkin-desk", path: "/g/stays/stay1/checkin", given: stage("atDesk", &guestv1.CheckInStop{Reason: "minorAlone"})},
	{name: "checkin-ended", path: "/g/stays/stay1/checkin", given: stage("ended")},
	{name: "key", path: "/g/stays/stay1/key", given: started("verified", "")},
	{name: "key-long", path: "/g/stays/stay1/key", given: both(started("verified", ""), long)},
	{name: "key-gate", path: "/g/stays/stay1/key", given: both(started("used", ""), func(s *scripted) {
		s.pins.Gates = []*guestv1.GatePin{{GateId: "gat_1", Name: "Gate", Pin: "13579246"}}
	})},
	{name: "key-planned", path: "/g/stays/stay1/key", given: started("sent", "")},
	{name: "key-unconfirmed", path: "/g/stays/stay1/key", given: started("unconfirmed", "")},
	{name: "key-failed", path: "/g/stays/stay1/key", given: started("failed", "lockOffline")},
	{name: "key-desk", path: "/g/stays/stay1/key", given: both(started("", ""), func(s *scripted) {
		s.pins, s.stay.PinWithheld = nil, "noCode"
		s.pinFail = fault.New(fault.NotFound, "", "")
	})},
	{name: "help", path: "/g/stays/stay1", act: press(`form[action$="/help"] button`)},
	{name: "shut", path: "/g/stays/stay1/key/help", given: started("verified", "")},
	{name: "shut-offline", path: "/g/stays/stay1/key/help", given: started("failed", "lockOffline")},
	{name: "shut-jammed", path: "/g/stays/stay1/key/help", given: started("verified", "lockJammed")},
	{name: "shut-moving", path: "/g/stays/stay1/key/help", given: started("sent", "")},
	{name: "messages", path: "/g/stays/stay1/messages", given: func(s *scripted) {
		at := s.stay.GetFrom()
		s.messages = []*guestv1.Message{
			{Number: 1, Sender: "property", Text: "Welcome to Lisbon.\nWhen do you arrive?", SentAt: at}, {Number: 2, Sender: "guest", Text: "At about nine in the evening. Is the desk open then?", SentAt: at, ReadAt: at},
			{Number: 3, Sender: "property", Text: "Yes, until ten. " + strings.Repeat("Verylongword", 8), SentAt: at},
		}
	}},
	{name: "messages-none", path: "/g/stays/stay1/messages"},
	{name: "messages-closed", path: "/g/stays/stay1/messages", given: func(s *scripted) { s.messageFail = fault.New(fault.Denied, fault.MainGuestOnly, "") }},
	{name: "ledger", path: "/g/stays/stay1/ledger", given: func(s *scripted) {
		at := s.stay.GetFrom()
		s.ledger = &guestv1.DisclosureList{NextPageToken: "older", List: []*guestv1.Disclosure{
			{GuestId: "gst_1", Why: "read", Groups: []string{"identity", "contact"}, At: at, Times: 3, LastAt: s.stay.GetTo()},
			{GuestId: "gst_1", Why: "read", Refused: "outsideStay", At: at, Times: 1},
			{GuestId: "gst_2", Why: "checkIn", Groups: []string{"identity"}, At: at, Times: 1},
		}}
	}},
	{name: "ledger-none", path: "/g/stays/stay1/ledger"},
	{name: "ledger-partial", path: "/g/stays/stay1/ledger", given: func(s *scripted) { s.ledger = &guestv1.DisclosureList{Partial: true} }},
	{name: "data", path: "/g/stays/stay1/data", given: erasing("none", false, true)},
	{name: "data-in-house", path: "/g/stays/stay1/data", given: erasing("none", true, false)},
	{name: "data-unsure", path: "/g/stays/stay1/data", given: erasing("none", false, true), act: func(p *browser.Page) {
		p.Tolerate("status of 422")
		p.ClickAt("button[name=do][value=erase]")
		p.Wait("#f-sure[aria-invalid]")
	}},
	{name: "data-requested", path: "/g/stays/stay1/data", given: erasing("requested", true, true)},
	{name: "data-partial", path: "/g/stays/stay1/data"},
	{name: "erasure-requested", path: "/g/erasure/lkr_x", given: erasing("requested", false, true)},
	{name: "erasure-done", path: "/g/erasure/lkr_x", given: erasing("done", false, true)},
	{name: "devices", path: "/g/stays/stay1/devices"},
	{name: "devices-one", path: "/g/stays/stay1/devices", given: func(s *scripted) { s.devices = s.devices[:1]; s.devices[0].Kind = "door" }},
	{name: "another", path: "/g/stays/stay1/devices/another"},
	{name: "another-partial", path: "/g/stays/stay1/devices/another", given: func(s *scripted) { s.devices = s.devices[:1]; s.devices[0].Kind = "door" }},
	{name: "another-made", path: "/g/stays/stay1/devices/another", act: press(`main form[action$="/devices/another"] button`)},
	{name: "people-passed", path: "/g/stays/stay1/people", act: press(`form[action$="/people/g2"]:has(input[value=show]) button`)},
	{name: "people-no-mail", path: "/g/stays/stay1/people", given: func(s *scripted) { s.stay.SendsNoMail = true }},
	{name: "link-device", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.Source = "device" }},
	{name: "link-device-bound", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.Source, s.link.Bound = "device", true }},
	{name: "link-passed-bound", path: "/g/l/lkl_x", given: func(s *scripted) { s.link.Source, s.link.Bound = "mainGuest", true }},
	{name: "group", path: "/g/stays/stay1/group"},
	{name: "greeted-none", path: "/g/k"},
	{name: "greeted-no-key", path: "/g/k#ogFhYQJQAAAAAAAAAAAAAAAAAAAAAA", act: func(p *browser.Page) {
		if !p.Holds(`matchMedia("(scripting: none)").matches`) {
			p.Wait("#greeted [data-state]:not([hidden])")
		}
	}},
	{name: "first", path: "/g/"},
	{name: "first-wrong", path: "/g/", act: func(p *browser.Page) {
		p.Tolerate("status of 422")
		p.FillAt("#f-link", "https://example.com/")
		p.ClickAt(sends)
		p.Wait("#f-link[aria-invalid]")
	}},
	{name: "look", path: "/g/stays/stay1", act: func(p *browser.Page) {
		p.ClickAt(".look:has([name=theme]) > summary")
		p.Wait(".look[open]")
	}},
	{name: "forgotten", path: "/g/stays/stay1", act: func(p *browser.Page) {
		p.ClickAt(`.more:has(form[action$="/end"]) > summary`)
		next(p, `form[action$="/end"] button`)
	}},
}

var kioskStates = []state{
	{name: "sign", path: "/k/stop", given: signing},
	{name: "enrol", path: "/k/enrol"},
	{name: "enrol-wrong", path: "/k/enrol", given: failing(fault.New(fault.NotFound, "", "")), act: func(p *browser.Page) {
		p.Tolerate("status of 422")
		p.FillAt("#f-code", "ABCD-EFGH")
		p.ClickAt(sends)
		p.Wait("#errors")
	}},
	{name: "start", path: "/k/"},
	{name: "start-long", path: "/k/", given: long},
	{name: "start-closed", path: "/k/", given: func(s *scripted) { s.kiosk.Closed = "partnerUnavailable" }},
	{name: "start-larger", path: "/k/", act: func(p *browser.Page) { p.ClickAt("[data-larger]") }},
	{name: "find", path: "/k/find"},
	{name: "find-wrong", path: "/k/find", given: failing(fault.New(fault.NotFound, "", "")), act: find("#errors")},
	{name: "find-too-many", path: "/k/find", given: failing(fault.New(fault.Exhausted, "", "")), act: find("#errors")},
	{name: "which", path: "/k/find", given: choices, act: find(".choices")},
	{name: "you", path: "/k/you"},
	{name: "you-long", path: "/k/you", given: long},
	{name: "email", path: "/k/email", given: noAddress},
	{name: "form", path: "/k/form/document", given: stage("details")},
	{name: "form-locked", path: "/k/form/document", given: both(stage("details"), locked("mailLink"))},
	{name: "form-address", path: "/k/form/address", given: stage("details")},
	{name: "form-companion", path: "/k/form/2.name", given: companionMissing},
	{name: "people", path: "/k/people", given: companionMissing},
	{name: "people-wrong", path: "/k/people", given: both(companionMissing, failing(fault.Fields(fault.Field{Path: "adultCount", Reason: "outOfRange"}))), act: wrong},
	{name: "share", path: "/k/share", given: sharing},
	{name: "share-minors", path: "/k/share", given: both(sharing, func(s *scripted) { s.stay.Guests[2].Minor, s.stay.Guests[2].MayShare = true, true })},
	{name: "confirm", path: "/k/confirm", given: stage("confirmDetails")},
	{name: "rules", path: "/k/confirm", given: stage("houseRules")},
	{name: "ready", path: "/k/confirm", given: stage("ready")},
	{name: "asking", path: "/k/asking", given: stage("calling")},
	{name: "owing", path: "/k/stop", given: stop("owing")},
	{name: "room", path: "/k/stop", given: stop("roomNotReady")},
	{name: "identity", path: "/k/stop", given: stage("identityCheck", &guestv1.CheckInStop{Reason: "identityCheck"})},
	{name: "not-today", path: "/k/stop", given: stage("notToday")},
	{name: "code", path: "/k/code", given: started("verified", "")},
	{name: "code-long", path: "/k/code", given: both(started("unconfirmed", ""), long)},
	{name: "code-shown", path: "/k/code", given: both(started("verified", ""), func(s *scripted) { s.pinFail = fault.New(fault.Precondition, "", "") })},
	{name: "code-failed", path: "/k/code", given: started("failed", "lockOffline")},
	{name: "phone", path: "/k/phone", given: stage("waiting")},
	{name: "late", path: "/k/asking", given: both(stage("waiting"), func(s *scripted) { s.stay.CheckIn.Late = true })},
	{name: "closed", path: "/k/closed"},
	{name: "cut", path: "/k/cut"},
	{name: "help", path: "/k/", act: press(`form[action="/k/help"] button`)},
	{name: "still", dialog: true, path: "/k/you", act: func(p *browser.Page) { p.Script(`document.getElementById("still").showModal()`) }},
	{name: "waiting", dialog: true, path: "/k/you", act: func(p *browser.Page) { p.Script(`document.getElementById("asking").showModal()`) }},
}

// companionMissing is a stay at a tablet whose second guest has to answer.
func companionMissing(s *scripted) {
	stage("details")(s)
	s.stay.CheckIn.MissingGuestIds = []string{"g2"}
	s.form.GuestId = "g2"
}

// sharing is a stay at a tablet whose guest is asked what is shared.
func sharing(s *scripted) {
	stage("confirmDetails")(s)
	s.stay.KeepProfile = nil
	s.stay.Tasks = []*guestv1.Task{{Kind: "sharing", State: "todo"}}
}

func noAddress(s *scripted) { s.stay.NeedsMailAddress, s.stay.MaskedEmail = true, "" }

func choices(s *scripted) {
	s.choices = []*guestv1.Choice{{Id: "c1", SpaceName: "Room 204", Initials: "A. S."}, {Id: "c2", SpaceName: longRoom[:40], Initials: "T. S."}, {Id: "c3", Initials: "M. O."}}
}

// find searches for a booking, and waits until the next page has what a selector names.
func find(shows string) func(*browser.Page) {
	return func(p *browser.Page) {
		p.Tolerate("status of 422")
		p.FillAt("#f-number", "8790")
		p.FillAt("#f-name", "Silva")
		p.ClickAt(sends)
		p.Wait(shows)
	}
}

// Each page in each state follows the rules of accessibility, fits and keeps still while it loads, and a page of each kind can be used with
// the keyboard alone, in the full matrix every page.
func TestGuestPages(t *testing.T) {
	checkStates(t, guestStates, matrix(guestSettings, browser.Phone, browser.Tablet, browser.Narrow), guestKinds, 48)
}

func TestKioskPages(t *testing.T) {
	checkStates(t, kioskStates, matrix(kioskSettings, browser.Kiosk, browser.Tablet), kioskKinds, 72)
}

func checkStates(t *testing.T, states []state, settings []setting, kinds []string, target int) {
	for _, kind := range kinds {
		if !slices.ContainsFunc(states, func(s state) bool { return s.name == kind }) {
			t.Errorf("no state %q", kind)
		}
	}
	for _, m := range settings {
		t.Run(m.String(), func(t *testing.T) {
			m.begin(t)
			p := browser.Open(t, m.options()...)
			for _, s := range states {
				if !all && m.language != "" && s.act != nil {
					continue // the pages before and after the action are in the other settings
				}
				kind := all || slices.Contains(kinds, s.name)
				if m.kinds && !kind {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					p := p.For(t)
					s.check(t, p, m, target)
					if kind && !s.dialog { // a dialog above the page has the focus
						p.KeyboardWalk()
					}
				})
			}
		})
	}
}

// firstView is how many bytes a page with its files may take over the wire. Each state has an origin of its own, so nothing is in the cache.
const firstView = 60_000

func (s state) check(t *testing.T, p *browser.Page, m setting, target int) {
	script := base()
	if s.given != nil {
		s.given(script)
	}
	address := script.serve(t)
	t.Cleanup(func() { p.Visit("about:blank") }) // before the server ends: what the page still waits for is no fault of the next one
	p.Forget(address)
	for _, name := range []string{"lk-stay-stay1", "lk-kiosk", "lk-visit"} {
		if s.path != "/g/" { // a device without a stay
			p.SetCookie(address, name, "x")
		}
	}
	if strings.HasPrefix(s.path, "/k/find") && s.act != nil {
		enrolScripted(p, address, script)
	}
	if status := map[string]string{"unknown": "404", "link-canceled": "410", "device-ended": "410"}[s.name]; status != "" {
		p.Tolerate("status of " + status)
	}
	if m.language != "" {
		p.SetCookie(address, "lk-lang", m.language)
		if s.path == "/k/" {
			s.path = "/k/?chosen"
		}
	}
	p.Visit(address + s.path)
	p.LayoutShift()
	if m.language != "" && s.path != "/k/closed" {
		direction := "ltr"
		if m.language == pseudo.RightToLeft {
			direction = "rtl"
		}
		p.WaitUntil("the language", fmt.Sprintf(`document.documentElement.lang === %q && getComputedStyle(document.body).direction === %q`, m.language, direction))
	}
	if weight := p.Weight(); weight > firstView || weight < 1000 {
		t.Errorf("%s takes %d bytes over the wire; at most %d", s.path, weight, firstView)
	}
	if s.act != nil {
		s.act(p)
	}
	if m.spaced {
		p.SpaceText()
	}
	p.Screenshot(strings.ReplaceAll(t.Name(), "/", "_"))
	p.Axe()
	p.Fits()
	p.KeepsStill()
	if m.forced {
		p.ShowsInForcedColors()
	}
	p.Targets(target)
}

// enrolScripted gives the tablet its key, which signs each search.
func enrolScripted(p *browser.Page, address string, s *scripted) {
	fail := s.fail
	s.fail = nil
	p.Visit(address + "/k/enrol")
	p.Fill("Enrolment code", "ABCD-EFGH")
	p.Next("Set up", "Welcome")
	s.fail = fail
}
