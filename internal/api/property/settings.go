package property

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
)

// Own names the field of each method that its handler validates itself: see [chain.Config.Own].
func Own() map[string]string {
	return map[string]string{propertyv1.PropertyService_UpdateProperty_FullMethodName: "settings"}
}

// Settings reads the settings of a request, which were sent as "settings", and names at once
// everything that is wrong with them: what breaks a rule of the proto, and what fit says.
func Settings(ctx context.Context, m *propertyv1.PropertySettings, fit func(staff.Settings) error) (staff.Settings, error) {
	if m == nil {
		m = &propertyv1.PropertySettings{}
	}
	wrong, err := chain.Violations(ctx, m, "settings")
	if err != nil {
		return staff.Settings{}, err
	}
	s := read(m)
	unfit := Under("settings", fit(s))
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

func read(m *propertyv1.PropertySettings) staff.Settings {
	s := staff.Settings{
		Name: m.Name, TimeZone: m.TimeZone, CheckInTime: m.CheckInTime, CheckOutTime: m.CheckOutTime,
		EarlyInMinutes: intOf(m.EarlyInMinutes), LateOutMinutes: intOf(m.LateOutMinutes),
		PINLength: intOf(m.PinLength), GatesAlone: m.GatesAlone, OwingPolicy: m.OwingPolicy, BackupCodes: m.BackupCodes,
	}
	if m.OwingThresholdMinor != nil {
		minor := int64(*m.OwingThresholdMinor)
		s.OwingThresholdMinor = &minor
	}
	return s
}

func intOf(v *int32) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}

// Message writes a property.
func Message(p *propertyRow) *propertyv1.Property {
	return &propertyv1.Property{
		Id: p.ID, Name: p.Name, TimeZone: p.TimeZone, CheckInTime: p.CheckInTime, CheckOutTime: p.CheckOutTime,
		EarlyInMinutes: int32(p.EarlyInMinutes), LateOutMinutes: int32(p.LateOutMinutes), PinLength: int32(p.PinLength),
		GatesAlone: p.GatesAlone, OwingPolicy: p.OwingPolicy, OwingThresholdMinor: int32(p.OwingThresholdMinor),
		CreatedAt: timestamppb.New(p.CreatedAt), BackupCodes: p.BackupCodes,
	}
}
