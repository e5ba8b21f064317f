package partner

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// fields says for each field of a reservation that the PMS may send where its value is, by its path in a field mask.
var fields = map[string]struct {
	field reservation.Field
	value func(r *partnerv1.Reservation) any
}{
	"pms_meta.id":              {reservation.PMSID, func(r *partnerv1.Reservation) any { return text(r.GetPmsMeta().GetId()) }},
	"pms_meta.group_id":        {reservation.GroupID, func(r *partnerv1.Reservation) any { return maybe(meta(r).GroupId) }},
	"pms_meta.space_id":        {reservation.SpaceID, func(r *partnerv1.Reservation) any { return maybe(meta(r).SpaceId) }},
	"pms_meta.parent_space_id": {reservation.ParentID, func(r *partnerv1.Reservation) any { return maybe(meta(r).ParentSpaceId) }},
	"pms_meta.companion_ids":   {reservation.CompanionIDs, func(r *partnerv1.Reservation) any { return r.GetPmsMeta().GetCompanionIds() }},
	"pms_meta.updated_at":      {reservation.PMSUpdatedAt, updatedAt},
	"pms_number":               {reservation.Number, func(r *partnerv1.Reservation) any { return text(r.GetPmsNumber()) }},
	"booker.first_name":        {reservation.FirstName, func(r *partnerv1.Reservation) any { return maybe(booker(r).FirstName) }},
	"booker.last_name":         {reservation.LastName, func(r *partnerv1.Reservation) any { return text(r.GetBooker().GetLastName()) }},
	"booker.email":             {reservation.Email, func(r *partnerv1.Reservation) any { return maybe(booker(r).Email) }},
	"booker.mobile":            {reservation.Mobile, func(r *partnerv1.Reservation) any { return maybe(booker(r).Mobile) }},
	"state":                    {reservation.State, func(r *partnerv1.Reservation) any { return text(r.GetState()) }},
	"from":                     {reservation.From, func(r *partnerv1.Reservation) any { return maybe(r.From) }},
	"to":                       {reservation.To, func(r *partnerv1.Reservation) any { return maybe(r.To) }},
	"from_date":                {reservation.FromDate, func(r *partnerv1.Reservation) any { return maybe(r.FromDate) }},
	"to_date":                  {reservation.ToDate, func(r *partnerv1.Reservation) any { return maybe(r.ToDate) }},
	"adult_count":              {reservation.Adults, func(r *partnerv1.Reservation) any { return count(r.AdultCount) }},
	"child_count":              {reservation.Children, func(r *partnerv1.Reservation) any { return count(r.ChildCount) }},
	"price":                    {reservation.Price, func(r *partnerv1.Reservation) any { return amount(r.Price) }},
	"owing":                    {reservation.Owing, func(r *partnerv1.Reservation) any { return amount(r.Owing) }},
	"owing_currency":           {reservation.Currency, func(r *partnerv1.Reservation) any { return maybe(r.OwingCurrency) }},
	"source_name":              {reservation.SourceName, func(r *partnerv1.Reservation) any { return maybe(r.SourceName) }},
	"channel_manager":          {reservation.ChannelManager, func(r *partnerv1.Reservation) any { return maybe(r.ChannelManager) }},
	"channel_number":           {reservation.ChannelNumber, func(r *partnerv1.Reservation) any { return maybe(r.ChannelNumber) }},
	"parent_space_id":          {reservation.OwnSpaceID, func(r *partnerv1.Reservation) any { return maybe(r.ParentSpaceId) }},
	"room_id":                  {reservation.RoomID, func(r *partnerv1.Reservation) any { return maybe(r.RoomId) }},
	"bed_id":                   {reservation.BedID, func(r *partnerv1.Reservation) any { return maybe(r.BedId) }},
}

// groups are the messages whose fields a mask may name one by one.
var groups = map[string][]string{
	"pms_meta": {"id", "group_id", "space_id", "parent_space_id", "companion_ids", "updated_at"},
	"booker":   {"first_name", "last_name", "email", "mobile"},
}

func meta(r *partnerv1.Reservation) *partnerv1.PmsMeta {
	if m := r.GetPmsMeta(); m != nil {
		return m
	}
	return &partnerv1.PmsMeta{}
}

func booker(r *partnerv1.Reservation) *partnerv1.Booker {
	if b := r.GetBooker(); b != nil {
		return b
	}
	return &partnerv1.Booker{}
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func maybe(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func count(n *int32) any {
	if n == nil {
		return nil
	}
	return int(*n)
}

func amount(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

func updatedAt(r *partnerv1.Reservation) any {
	t := r.GetPmsMeta().GetUpdatedAt()
	if t == nil {
		return nil
	}
	return t.AsTime()
}

// patchOf makes a patch of the fields that a mask names; of the populated ones where it is empty. The partner's id is
// always part of it: it says which reservation is meant.
func patchOf(r *partnerv1.Reservation, mask *fieldmaskpb.FieldMask) (reservation.Patch, []fault.Field) {
	p := reservation.Patch{}
	var wrong []fault.Field
	add := func(path string) bool {
		f, ok := fields[path]
		if ok {
			p[f.field] = f.value(r)
		}
		return ok
	}
	add("pms_meta.id")
	if len(mask.GetPaths()) == 0 {
		populated(r, func(path string) { add(path) })
		return p, nil
	}
	for _, path := range mask.GetPaths() {
		if add(path) {
			continue
		}
		if group, ok := groups[path]; ok {
			for _, name := range group {
				add(path + "." + name)
			}
			continue
		}
		if !answerOnly(path) {
			wrong = append(wrong, fault.Field{Path: "updateMask", Reason: fault.WrongValue, Message: "unknown field " + path + "; paths are snake_case as in the .proto files, such as adult_count or booker.email"})
		}
	}
	return p, wrong
}

// answerOnly says whether a path names a field that is the service's: sent, it is ignored.
func answerOnly(path string) bool {
	f := (&partnerv1.Reservation{}).ProtoReflect().Descriptor().Fields()
	for i := range len(path) {
		if path[i] == '.' {
			path = path[:i]
			break
		}
	}
	d := f.ByName(protoreflect.Name(path))
	return d != nil && groups[path] == nil
}

// populated tells the path of every field that is set.
func populated(r *partnerv1.Reservation, tell func(path string)) {
	r.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if groups[string(f.Name())] == nil {
			tell(string(f.Name()))
			return true
		}
		v.Message().Range(func(inner protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			tell(string(f.Name()) + "." + string(inner.Name()))
			return true
		})
		return true
	})
}
