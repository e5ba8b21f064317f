package partner

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// fields maps each field mask path that a PMS can send to the field of reservation.Patch and the function that reads its value. The value
// is nil, which clears the stored field, if the reservation does not set the field.
var fields = map[string]struct {
	field reservation.Field
	value func(r *partnerv1.Reservation) any
}{
	"pms_meta.id":              {reservation.PMSID, func(r *partnerv1.Reservation) any { return textOrNil(r.GetPmsMeta().GetId()) }},
	"pms_meta.group_id":        {reservation.GroupID, func(r *partnerv1.Reservation) any { return valueOrNil(pmsMetaOrEmpty(r).GroupId) }},
	"pms_meta.space_id":        {reservation.SpaceID, func(r *partnerv1.Reservation) any { return valueOrNil(pmsMetaOrEmpty(r).SpaceId) }},
	"pms_meta.parent_space_id": {reservation.ParentID, func(r *partnerv1.Reservation) any { return valueOrNil(pmsMetaOrEmpty(r).ParentSpaceId) }},
	"pms_meta.companion_ids":   {reservation.CompanionIDs, func(r *partnerv1.Reservation) any { return r.GetPmsMeta().GetCompanionIds() }},
	"pms_meta.updated_at":      {reservation.PMSUpdatedAt, pmsUpdatedAt},
	"pms_number":               {reservation.Number, func(r *partnerv1.Reservation) any { return textOrNil(r.GetPmsNumber()) }},
	"booker.first_name":        {reservation.FirstName, func(r *partnerv1.Reservation) any { return valueOrNil(bookerOrEmpty(r).FirstName) }},
	"booker.last_name":         {reservation.LastName, func(r *partnerv1.Reservation) any { return textOrNil(r.GetBooker().GetLastName()) }},
	"booker.email":             {reservation.Email, func(r *partnerv1.Reservation) any { return valueOrNil(bookerOrEmpty(r).Email) }},
	"booker.mobile":            {reservation.Mobile, func(r *partnerv1.Reservation) any { return valueOrNil(bookerOrEmpty(r).Mobile) }},
	"state":                    {reservation.State, func(r *partnerv1.Reservation) any { return textOrNil(r.GetState()) }},
	"from":                     {reservation.From, func(r *partnerv1.Reservation) any { return valueOrNil(r.From) }},
	"to":                       {reservation.To, func(r *partnerv1.Reservation) any { return valueOrNil(r.To) }},
	"from_date":                {reservation.FromDate, func(r *partnerv1.Reservation) any { return valueOrNil(r.FromDate) }},
	"to_date":                  {reservation.ToDate, func(r *partnerv1.Reservation) any { return valueOrNil(r.ToDate) }},
	"adult_count":              {reservation.Adults, func(r *partnerv1.Reservation) any { return intOrNil(r.AdultCount) }},
	"child_count":              {reservation.Children, func(r *partnerv1.Reservation) any { return intOrNil(r.ChildCount) }},
	"price":                    {reservation.Price, func(r *partnerv1.Reservation) any { return floatOrNil(r.Price) }},
	"owing":                    {reservation.Owing, func(r *partnerv1.Reservation) any { return floatOrNil(r.Owing) }},
	"owing_currency":           {reservation.Currency, func(r *partnerv1.Reservation) any { return valueOrNil(r.OwingCurrency) }},
	"source_name":              {reservation.SourceName, func(r *partnerv1.Reservation) any { return valueOrNil(r.SourceName) }},
	"channel_manager":          {reservation.ChannelManager, func(r *partnerv1.Reservation) any { return valueOrNil(r.ChannelManager) }},
	"channel_number":           {reservation.ChannelNumber, func(r *partnerv1.Reservation) any { return valueOrNil(r.ChannelNumber) }},
	"parent_space_id":          {reservation.OwnSpaceID, func(r *partnerv1.Reservation) any { return valueOrNil(r.ParentSpaceId) }},
	"room_id":                  {reservation.RoomID, func(r *partnerv1.Reservation) any { return valueOrNil(r.RoomId) }},
	"bed_id":                   {reservation.BedID, func(r *partnerv1.Reservation) any { return valueOrNil(r.BedId) }},
}

// messageFields lists the nested messages whose fields a field mask can name separately. A mask that names the message means all of them.
var messageFields = map[string][]string{
	"pms_meta": {"id", "group_id", "space_id", "parent_space_id", "companion_ids", "updated_at"},
	"booker":   {"first_name", "last_name", "email", "mobile"},
}

// pmsMetaOrEmpty returns the field pmsMeta, or an empty message if it was not sent.
func pmsMetaOrEmpty(r *partnerv1.Reservation) *partnerv1.PmsMeta {
	if m := r.GetPmsMeta(); m != nil {
		return m
	}
	return &partnerv1.PmsMeta{}
}

// bookerOrEmpty returns the field booker, or an empty message if it was not sent.
func bookerOrEmpty(r *partnerv1.Reservation) *partnerv1.Booker {
	if b := r.GetBooker(); b != nil {
		return b
	}
	return &partnerv1.Booker{}
}

// textOrNil returns a text as the value of a field in a patch: nil, which clears the field, if it is empty.
func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// valueOrNil returns the text at s as the value of a field in a patch: nil, which clears the field, if s is nil.
func valueOrNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// intOrNil is valueOrNil for an integer.
func intOrNil(n *int32) any {
	if n == nil {
		return nil
	}
	return int(*n)
}

// floatOrNil is valueOrNil for a decimal number.
func floatOrNil(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

// pmsUpdatedAt returns when the PMS last changed the reservation, for a patch: nil if that is missing.
func pmsUpdatedAt(r *partnerv1.Reservation) any {
	t := r.GetPmsMeta().GetUpdatedAt()
	if t == nil {
		return nil
	}
	return t.AsTime()
}

// patchOf returns a patch with the fields in the mask, and an error for each unknown path in the mask. A path such as booker means all
// fields of that message, and a field that r does not set is cleared. It ignores read-only fields. If the mask is empty, the patch has all
// fields that are set. The patch always contains the PMS's reservation id, nil if r has none.
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
		eachPopulatedField(r, func(path string) { add(path) })
		return p, nil
	}
	for _, path := range mask.GetPaths() {
		if add(path) {
			continue
		}
		if group, ok := messageFields[path]; ok {
			for _, name := range group {
				add(path + "." + name)
			}
			continue
		}
		if !isReadOnly(path) {
			wrong = append(wrong, fault.Field{Path: "updateMask", Reason: fault.WrongValue, Message: "unknown field " + path + "; paths are snake_case as in the .proto files, such as adult_count or booker.email"})
		}
	}
	return p, wrong
}

// isReadOnly reports whether only the server sets the field at a path that is not in fields. Requests can contain such a field; it is
// ignored.
func isReadOnly(path string) bool {
	f := (&partnerv1.Reservation{}).ProtoReflect().Descriptor().Fields()
	for i := range len(path) {
		if path[i] == '.' {
			path = path[:i]
			break
		}
	}
	d := f.ByName(protoreflect.Name(path))
	_, writable := fields[path]
	return d != nil && !writable && messageFields[path] == nil
}

// eachPopulatedField calls visit with the field mask path of every field that is set, such as adult_count or booker.email.
func eachPopulatedField(r *partnerv1.Reservation, visit func(path string)) {
	r.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if messageFields[string(f.Name())] == nil {
			visit(string(f.Name()))
			return true
		}
		v.Message().Range(func(inner protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			visit(string(f.Name()) + "." + string(inner.Name()))
			return true
		})
		return true
	})
}
