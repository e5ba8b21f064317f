package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// ListDevices lists the sessions of a reservation's guests.
func (s *CheckIns) ListDevices(ctx context.Context, r *propertyv1.ListDevicesRequest) (*propertyv1.ListDevicesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := guest.ListDevices(s.DB.View(ctx), propertyID, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	out := &propertyv1.DeviceList{}
	for _, row := range rows {
		d := &propertyv1.GuestDevice{Device: convert.GuestDevice(row), GuestId: row.GuestID}
		if d.GetDevice().GetKind() == "kiosk" {
			d.KioskId = row.Origin
		}
		out.List = append(out.List, d)
	}
	return &propertyv1.ListDevicesResponse{Data: out}, nil
}

// EndDevice ends the session of one device.
func (s *CheckIns) EndDevice(ctx context.Context, r *propertyv1.EndDeviceRequest) (*propertyv1.EndDeviceResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.EndDeviceResponse, error) {
		return &propertyv1.EndDeviceResponse{}, guest.EndDevice(tx, propertyID, r.GetReservationId(), r.GetId())
	})
}
