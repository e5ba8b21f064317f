package property

import (
	"context"
	"strings"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/id"
)

type register struct {
	propertyv1.UnimplementedGuestRegisterServiceServer
	Deps
}

// InspectRegister lists a page of the registration forms that the law requires of guests, by day of arrival, for an inspector. It records
// who read them and why. A page can be short although there is a next one.
func (s *register) InspectRegister(ctx context.Context, r *propertyv1.InspectRegisterRequest) (*propertyv1.InspectRegisterResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	of := guest.RegisterRange{First: r.GetFirstArrivalOn(), Last: r.GetLastArrivalOn(), Limit: size}
	if err := checkDays(of); err != nil {
		return nil, err
	}
	if token := r.GetPageToken(); token != "" {
		of.AfterOn, of.AfterID, _ = strings.Cut(token, "/")
		if _, err := time.Parse(time.DateOnly, of.AfterOn); err != nil || !id.Valid(id.Register, of.AfterID) && !id.Valid(id.Guest, of.AfterID) {
			return nil, fault.BadPageToken()
		}
	}
	who, _ := actor.From(ctx)
	var found guest.RegisterPage
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		by, err := staffName(tx, who)
		if err == nil {
			found, err = guest.ReadRegister(tx, s.Keys, propertyID, of, by, r.GetReason())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	page := &propertyv1.RegisterPage{}
	if found.NextID != "" {
		page.NextPageToken = found.NextOn + "/" + found.NextID
	}
	for _, e := range found.Entries {
		page.List = append(page.List, entryMessage(e))
	}
	return &propertyv1.InspectRegisterResponse{Data: page}, nil
}

// checkDays returns an error for each end of a range that is not a calendar day, and for an end before the start; nil if there is nothing
// wrong. A range includes both its days.
func checkDays(r guest.RegisterRange) error {
	var wrong []fault.Field
	for _, day := range []struct{ path, value string }{{"firstArrivalOn", r.First}, {"lastArrivalOn", r.Last}} {
		if _, err := time.Parse(time.DateOnly, day.value); err != nil {
			wrong = append(wrong, fault.Field{Path: day.path, Reason: fault.NotADate, Message: "must be a day of the calendar, YYYY-MM-DD"})
		}
	}
	if len(wrong) == 0 && r.Last < r.First {
		wrong = append(wrong, fault.Field{Path: "lastArrivalOn", Reason: fault.DatesNotValid, Message: "must not be before firstArrivalOn"})
	}
	if len(wrong) > 0 {
		return fault.Fields(wrong...)
	}
	return nil
}

// entryMessage converts the registration form of one guest.
func entryMessage(e guest.Entry) *propertyv1.RegisterEntry {
	return &propertyv1.RegisterEntry{
		Id: e.ID, Rule: e.Law, PmsNumber: e.Number, Role: e.Role, ArrivalOn: e.ArrivalOn, DepartureOn: e.DepartureOn,
		Person: convert.Person(e.Answers), SignatureSvg: e.SVG, SignedAt: clock.Timestamp(e.SignedAt), EraseAt: clock.Timestamp(e.EraseAt), State: e.State, Fields: e.Fields,
	}
}
