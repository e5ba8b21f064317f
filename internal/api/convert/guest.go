package convert

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/property"
)

// PropertyFace returns what guests see of a property, such as its name and address, with the texts in a language. The guest and kiosk APIs
// share it.
func PropertyFace(p *property.Row, s *guest.Settings, language string) *guestv1.PropertyFace {
	texts := property.TextsIn(s, language)
	return &guestv1.PropertyFace{
		Id: p.ID, Name: p.Name, TimeZone: p.TimeZone, Language: s.Language, DeskPhone: s.DeskPhone, Accent: s.Accent,
		Address: texts.Address, Directions: texts.Directions, DirectionsLanguage: property.LanguagesIn(s, language).Directions,
	}
}

// GuestSession converts a new session with its token. No later answer contains the token. A session without a stay opens the guest's
// profile (answers kept for the next stay) at a property.
func GuestSession(s guest.Session) *guestv1.Session {
	out := &guestv1.Session{Token: s.Token, StayId: s.ReservationID, ExpiresAt: timestamppb.New(s.ExpiresAt)}
	if s.ReservationID == "" {
		out.ProfilePropertyId = s.PropertyID
	}
	return out
}

// FoundStay converts the result of a guest's search for a stay: a new session with its token, or the choices if several stays match.
func FoundStay(f guest.Found) *guestv1.Found {
	out := &guestv1.Found{}
	if f.Session != nil {
		out.Session = GuestSession(*f.Session)
	}
	for _, c := range f.Choices {
		out.Choices = append(out.Choices, &guestv1.Choice{
			Id: c.ID, SpaceName: c.SpaceName, Initials: c.Initials, FromDate: c.FromDate, ToDate: c.ToDate, Number: c.Number,
		})
	}
	return out
}

// GuestDevice converts a guest's session, which belongs to one device, without the credential. Its kind says how it began: by a mail, at a
// door, on another device of the guest, or at a kiosk.
func GuestDevice(row *guest.Device) *guestv1.Device {
	kind := row.Origin
	switch {
	case kind == guest.OriginMail && row.HandedBy != "":
		kind = "device"
	case kind != guest.OriginMail && kind != guest.OriginDoor:
		kind = "kiosk"
	}
	return &guestv1.Device{
		Id: row.ID, Kind: kind, Device: row.Device,
		CreatedAt: timestamppb.New(row.CreatedAt), UsedAt: timestamppb.New(row.UsedAt), ExpiresAt: timestamppb.New(row.ExpiresAt),
	}
}

// Erasure converts the progress of an erasure of a guest's data; its state is "none" if none was requested. receipt is the secret with
// which the guest can ask for the progress without a session, or empty.
func Erasure(e guest.Erasure, receipt string) *guestv1.Erasure {
	out := &guestv1.Erasure{
		State: "none", WholeParty: e.GuestID == "", AfterStay: e.AfterStay, DueAt: clock.Timestamp(e.DueAt), Law: e.Law, KeptUntil: e.KeptOn(), Receipt: receipt,
	}
	if e.Row == nil {
		return out
	}
	out.State, out.RequestedAt, out.KeepsProfile = "requested", timestamppb.New(e.Row.CreatedAt), e.Row.KeepProfile
	if e.Row.FinishedAt != nil {
		out.State, out.FinishedAt = "done", timestamppb.New(*e.Row.FinishedAt)
	}
	return out
}

// Person converts a guest's answers in the registration form to a message. It leaves out empty answers, and rule.None: the guest has none.
func Person(a rule.Answers) *guestv1.Person {
	a = a.WithoutNone()
	p := &guestv1.Person{
		FirstName: a[rule.FirstName], LastName: a[rule.LastName], SecondLastName: a[rule.SecondLastName], Sex: a[rule.Sex],
		BirthDate: a[rule.BirthDate], BirthPlace: a[rule.BirthPlace], BirthCountry: a[rule.BirthCountry], Nationality: a[rule.Nationality],
		CountryComingFrom: a[rule.ComingFrom], Email: a[rule.Email], Mobile: a[rule.Mobile], Kinship: a[rule.Kinship], BirthName: a[rule.BirthName], MotherName: a[rule.MotherName],
		BirthProvince: a[rule.BirthProvince], NextDestination: a[rule.NextDestination], VisaNumber: a[rule.VisaNumber], EntryDate: a[rule.EntryDate],
		EntryPlace: a[rule.EntryPlace], TaxExemption: a[rule.TaxExemption],
		Address: &guestv1.PostalAddress{Street: a[rule.Street], Postcode: a[rule.Postcode], City: a[rule.City], Region: a[rule.Region], Country: a[rule.Country]},
		Document: &guestv1.TravelDocument{
			Type: a[rule.DocumentType], Number: a[rule.DocumentNumber], SupportNumber: a[rule.SupportNumber], IssuingPlace: a[rule.IssuingPlace],
			IssuingCountry: a[rule.IssuingCountry], IssuingAuthority: a[rule.IssuingAuthority], IssueDate: a[rule.IssueDate],
		},
	}
	if v := a[rule.OtherNationality]; v != "" {
		p.FurtherNationalities = []string{v}
	}
	for field, answer := range a {
		if name, own := strings.CutPrefix(string(field), rule.OwnPrefix); own {
			if p.Own == nil {
				p.Own = map[string]string{}
			}
			p.Own[name] = answer
		}
	}
	return p
}
