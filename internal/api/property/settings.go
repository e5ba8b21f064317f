package property

import (
	"slices"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/property"
)

// HandlerFields returns the request fields that handlers validate themselves, by full method name: see [chain.Config.HandlerFields].
func HandlerFields() map[string]chain.HandlerField {
	return map[string]chain.HandlerField{
		propertyv1.PropertyService_UpdateProperty_FullMethodName: chain.NewHandlerField("settings", (*properties).updateProperty),
	}
}

// Settings converts the settings in a request. It returns all errors at once: values of a wrong type and violations of proto rules, and for
// other fields the errors of fit, the domain's check. It names their fields "settings.name" and so on. The report is nil for a protobuf
// request.
func Settings(v protovalidate.Validator, report *jsonpb.Report, m *propertyv1.PropertySettings, fit func(property.Settings) error) (property.Settings, error) {
	if m == nil {
		m = &propertyv1.PropertySettings{}
	}
	wrong, err := chain.Violations(v, report, m, "settings")
	if err != nil {
		return property.Settings{}, err
	}
	s := settingsFrom(m)
	unfit := PrefixFields("settings", fit(s))
	f, ok := fault.Of(unfit)
	if unfit != nil && !ok {
		return s, unfit
	}
	if ok {
		named := wrong
		for _, field := range f.Fields {
			if !slices.ContainsFunc(named, func(n fault.Field) bool { return n.Path == field.Path }) {
				wrong = append(wrong, field)
			}
		}
	}
	return s, fault.Err(fault.Fields(wrong...))
}

// settingsFrom converts settings without validation. Fields that were not sent stay nil.
func settingsFrom(m *propertyv1.PropertySettings) property.Settings {
	s := property.Settings{
		Name: m.Name, TimeZone: m.TimeZone, CheckInTime: m.CheckInTime, CheckOutTime: m.CheckOutTime,
		EarlyInMinutes: intOrNil(m.EarlyInMinutes), LateOutMinutes: intOrNil(m.LateOutMinutes),
		PINLength: intOrNil(m.PinLength), GatesAlone: m.GatesAlone, OwingPolicy: m.OwingPolicy, BackupCodes: m.BackupCodes,
		AccessStepUp: m.AccessStepUp,
	}
	if m.OwingThresholdMinor != nil {
		minor := int64(*m.OwingThresholdMinor)
		s.OwingThresholdMinor = &minor
	}
	return s
}

func intOrNil(v *int32) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}

// Message converts a property to its protobuf message.
func Message(p *property.Row) *propertyv1.Property {
	m := &propertyv1.Property{
		Id: p.ID, Name: p.Name, TimeZone: p.TimeZone, CheckInTime: p.CheckInTime, CheckOutTime: p.CheckOutTime,
		EarlyInMinutes: int32(p.EarlyInMinutes), LateOutMinutes: int32(p.LateOutMinutes), PinLength: int32(p.PinLength),
		GatesAlone: p.GatesAlone, OwingPolicy: p.OwingPolicy, OwingThresholdMinor: int32(p.OwingThresholdMinor),
		CreatedAt: timestamppb.New(p.CreatedAt), BackupCodes: p.BackupCodes, AccessStepUp: p.AccessStepUp,
	}
	m.Etag = convert.Etag(m) // covers the settings only: a deletion that begins does not change it
	m.DeletingSince = convert.OptionalTime(p.DeletingAt)
	return m
}
