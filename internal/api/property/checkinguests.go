package property

import (
	"context"
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
)

// ListGuests lists the guests of a reservation with their data, and records that a member of staff read them.
func (s *CheckIns) ListGuests(ctx context.Context, r *propertyv1.ListGuestsRequest) (*propertyv1.ListGuestsResponse, error) {
	v, err := s.readGuests(ctx, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	list := &propertyv1.GuestList{}
	for _, m := range v.People.Members {
		data := &propertyv1.GuestData{Guest: staffGuest(m), Person: personMessage(m.Answers), SignedAt: convert.Time(m.SignedAt)}
		if v.People.HasDecided(m) {
			data.SharedGroups = m.Row.SharedGroups
		}
		list.List = append(list.List, data)
	}
	return &propertyv1.ListGuestsResponse{Data: list}, nil
}

// readGuests returns a check-in with the data of its guests, and records that the caller read them.
func (s *CheckIns) readGuests(ctx context.Context, reservationID string) (v checkin.View, err error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return v, err
	}
	who, _ := actor.From(ctx)
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		by, err := staffName(tx, who)
		if err == nil {
			v, err = s.Service.ReadGuests(tx, checkin.Key{PropertyID: propertyID, ReservationID: reservationID}, by)
		}
		return err
	})
	return v, err
}

// GetSignature returns the signature that a guest drew on a screen, and records that a member of staff read it.
func (s *CheckIns) GetSignature(ctx context.Context, r *propertyv1.GetSignatureRequest) (*propertyv1.GetSignatureResponse, error) {
	v, err := s.readGuests(ctx, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	svg, at, err := v.People.DrawnSignature(r.GetGuestId())
	if err != nil {
		return nil, err
	}
	return &propertyv1.GetSignatureResponse{Data: &propertyv1.Signature{Svg: svg, SignedAt: convert.Time(at)}}, nil
}

// personMessage converts answers to the form's message.
func personMessage(a rule.Answers) *guestv1.Person {
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
