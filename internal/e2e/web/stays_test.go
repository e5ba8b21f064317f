package web_test

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/message"
)

// The names are as long as the product allows to look good, and the room's name is as long as a room's name may be.
const (
	longRoom  = "Garden View Family Suite with Terrace 204"
	longGiven = "Maximiliana Hubertina Wilhelmina Sophie"
	longName  = "von Wittgenstein-Schwarzenberg y Echeverría de la Torre"
)

func long(s *scripted) {
	s.stay.SpaceName, s.stay.ParentSpaceName = longRoom[:40], "Dormitory on the second floor, left wing"
	s.stay.Guests[0].FirstName, s.stay.Guests[0].LastName = longGiven, longName
	s.stay.Property.Name = "Boutique Hostel & Guesthouse Miramar do Oceano"
	s.kiosk.Property.Name = s.stay.Property.Name
	for _, d := range s.stay.Doors {
		d.Name = longRoom[:40]
	}
	for _, step := range s.form.Steps {
		for _, f := range step.Fields {
			if f.Value != "" && f.Kind == "text" {
				f.Value = longName
			}
		}
	}
}

// base is a stay on the day of arrival with two guests, and an open form.
func base() *scripted {
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(moment.Add(d)) }
	face := &guestv1.PropertyFace{
		Id: "prp_1", Name: "Hostel Miramar", TimeZone: "Europe/Lisbon", Language: "en", DeskPhone: "+351 21 555 01 00", Accent: "#0b5d66",
		Address: "Rua das Flores 12\n1200-195 Lisboa\nPortugal", Directions: "Five minutes on foot from Cais do Sodré.\nThe entrance is the green door.",
	}
	return &scripted{
		link: &guestv1.Link{Property: face, Initial: "A", FromDate: "2026-11-21", ToDate: "2026-11-23"},
		stay: &guestv1.Stay{
			Id: "stay1", Property: face, Number: "8790", State: "confirmed", From: at(time.Hour), To: at(45 * time.Hour), SpaceName: "Bed 1", ParentSpaceName: "Room 204",
			AdultCount: 2, ChildCount: 1, PartnerName: "Mews", MaskedEmail: "a…@example.com", CodeMail: &guestv1.StayMail{State: "sent", MaskedTo: "a…@example.com"},
			Guests: []*guestv1.StayGuest{
				{Id: "g1", Role: "main", FirstName: "Ana", LastName: "Silva", Complete: true},
				{Id: "g2", Role: "companion", FirstName: "Tomás", LastName: "Silva", Invited: true},
				{Id: "g3", Role: "companion", Child: true},
			},
			Tasks: []*guestv1.Task{
				{Kind: "you", State: "done"}, {Kind: "companions", State: "todo"}, {Kind: "arrival", State: "todo"}, {Kind: "houseRules", State: "todo"}, {Kind: "sharing", State: "blocked"},
			},
			HouseRules: "Quiet from 22:00 to 7:00.\nNo smoking in the house.\nThe kitchen closes at midnight.",
			Shared: []*guestv1.SharedGroup{
				{Name: "identity", Fields: []string{"firstName", "lastName", "nationality"}}, {Name: "contact", Fields: []string{"email", "mobile"}},
				{Name: "document", Fields: []string{"document.type", "document.number"}},
			},
			CheckIn: &guestv1.CheckIn{Stage: "start"}, KeepProfile: new(bool),
		},
		form: form(),
		kiosk: &kioskv1.Kiosk{
			Id: "ksk_1", Name: "Lobby", Property: face, Challenge: "challenge", Door: "dor_2XK7M4PQRS", Now: at(0),
		},
		pins: &guestv1.Pins{Pin: "480271"},
		devices: []*guestv1.Device{
			{Id: "gse_1", Kind: "mail", Device: "iPhone", CreatedAt: at(-48 * time.Hour), UsedAt: at(0), Current: true},
			{Id: "gse_2", Kind: "door", Device: "Android", CreatedAt: at(-3 * time.Hour), UsedAt: at(-2 * time.Hour)},
			{Id: "gse_3", Kind: "kiosk", CreatedAt: at(-time.Hour), UsedAt: at(-time.Hour)},
		},
	}
}

func form() *guestv1.Form {
	law := &guestv1.FormReason{Kind: "law", Source: "RD 933/2021", Url: "https://www.boe.es/eli/es/rd/2021/10/26/933", KeptUntil: "2029-11-23"}
	spain, _ := rule.Find("ES")
	step := func(name string, reason *guestv1.FormReason, fields ...*guestv1.FormField) *guestv1.FormStep {
		for _, f := range fields {
			f.Purpose = rule.Purpose(spain, rule.Ask{Field: rule.Field(f.Name), Step: rule.Step(name), ByLaw: reason == law, OnForm: reason == law}, message.Has)
		}
		return &guestv1.FormStep{Name: name, Fields: fields, Reason: reason}
	}
	return &guestv1.Form{GuestId: "g1", Next: "citizenship", Rule: "ES", Steps: []*guestv1.FormStep{
		step("name", law,
			&guestv1.FormField{Name: "firstName", Kind: "text", Required: true, Value: "Ana", Autocomplete: "given-name", MaxLength: 100},
			&guestv1.FormField{Name: "lastName", Kind: "text", Required: true, Value: "Silva", Autocomplete: "family-name", MaxLength: 100},
			&guestv1.FormField{Name: "secondLastName", Kind: "text", MaxLength: 100}),
		step("citizenship", law,
			&guestv1.FormField{Name: "nationality", Kind: "country", Required: true, Value: "PT", Often: []string{"ES", "PT", "FR"}},
			&guestv1.FormField{Name: "otherNationality", Kind: "country"}),
		step("birth", law,
			&guestv1.FormField{Name: "birthDate", Kind: "date", Required: true, Value: "1988-11-04"},
			&guestv1.FormField{Name: "sex", Kind: "choice", Required: true, Options: []string{"F", "M", "X"}}),
		step("address", law,
			&guestv1.FormField{Name: "address.street", Kind: "text", Required: true, MaxLength: 200}, &guestv1.FormField{Name: "address.postcode", Kind: "text", Required: true, MaxLength: 20},
			&guestv1.FormField{Name: "address.city", Kind: "text", Required: true, MaxLength: 100}, &guestv1.FormField{Name: "address.country", Kind: "country", Required: true}),
		step("document", law,
			&guestv1.FormField{Name: "document.type", Kind: "choice", Required: true, Options: []string{"passport", "idCard", "driversLicense", "residencePermit"}},
			&guestv1.FormField{Name: "document.number", Kind: "text", Required: true, MaxLength: 40},
			&guestv1.FormField{Name: "document.supportNumber", Kind: "text", MaxLength: 40}),
		step("contact", law,
			&guestv1.FormField{Name: "email", Kind: "email", Value: "ana@example.com", Autocomplete: "email"}, &guestv1.FormField{Name: "mobile", Kind: "phone", Autocomplete: "tel"}),
		step("property", &guestv1.FormReason{Kind: "property"},
			&guestv1.FormField{Name: "property.breakfast", Kind: "choice", Label: "Would you like breakfast?", Options: []string{"Yes", "No"}},
			&guestv1.FormField{Name: "property.plate", Kind: "text", Label: "Number plate of your car", MaxLength: 20}),
	}}
}

// locked is a form with one answer that the session may not change, and one that it may replace without reading it.
func locked(by string) func(*scripted) {
	return func(s *scripted) {
		for _, step := range s.form.GetSteps() {
			if step.GetName() == "document" {
				step.Fields[0].LockedBy, step.Fields[0].Withheld = by, true
				step.Fields[1].Withheld = true
			}
		}
	}
}

// stage sets the stage of the check-in.
func stage(name string, stops ...*guestv1.CheckInStop) func(*scripted) {
	return func(s *scripted) {
		s.stay.CheckIn = &guestv1.CheckIn{Stage: name, Stops: stops, AskedAt: timestamppb.New(moment.Add(-time.Minute)), OpensOn: "2026-11-28", MissingGuestIds: []string{"g1", "g3"}}
	}
}

// signing is a check-in that waits for a signature on the screen.
func signing(s *scripted) {
	s.stay.CheckIn = &guestv1.CheckIn{Stage: "signature", UnsignedGuestIds: []string{"g1"}}
	s.form.Signature = &guestv1.FormSignature{State: "open", Shown: "v1", Fields: []string{"firstName", "lastName"}}
}

func stop(reason string) func(*scripted) {
	return stage("stopped", &guestv1.CheckInStop{Reason: reason, Amount: "84.00", Currency: "EUR", Retry: true})
}

// started is a stay after the check-in, with the evidence of the code at its doors.
func started(pin, reason string) func(*scripted) {
	return func(s *scripted) {
		stage("checkedIn")(s)
		s.stay.State = "started"
		s.stay.Doors = []*guestv1.StayDoor{{Id: "d1", Name: "Room 204", Kind: "space", Pin: pin, Reason: reason}, {Id: "d2", Name: "Gate", Kind: "gate", Pin: "verified", PinConfirmedAt: timestamppb.New(moment)}}
	}
}

func both(steps ...func(*scripted)) func(*scripted) {
	return func(s *scripted) {
		for _, f := range steps {
			f(s)
		}
	}
}
