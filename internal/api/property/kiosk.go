package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/kiosk"
)

type kiosks struct {
	propertyv1.UnimplementedKioskServiceServer
	Deps
}

// CreateKiosk creates a kiosk (a check-in tablet). Only this answer has the code with which the tablet enrols. It refuses a blank or used
// name, and too many kiosks.
func (s *kiosks) CreateKiosk(ctx context.Context, r *propertyv1.CreateKioskRequest) (*propertyv1.CreateKioskResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateKioskResponse, error) {
		row, code, err := kiosk.Create(tx, s.Keys, propertyID, r.GetName())
		if err != nil {
			return nil, err
		}
		return &propertyv1.CreateKioskResponse{Data: kioskMessage(tx, row), Code: code.Text, CodeExpiresAt: timestamppb.New(code.Expires)}, nil
	})
}

// ListKiosks lists all kiosks (check-in tablets) of the property by name.
func (s *kiosks) ListKiosks(ctx context.Context, _ *propertyv1.ListKiosksRequest) (*propertyv1.ListKiosksResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	rows, err := kiosk.List(view, propertyID)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.KioskList{}
	for _, row := range rows {
		out.List = append(out.List, kioskMessage(view, row))
	}
	return &propertyv1.ListKiosksResponse{Data: out}, nil
}

// ResetKiosk ends the credential of a kiosk's tablet and the guests' sessions on it. The sessions of phones that took a stay from it go on.
// Only this answer has the new code, with which a tablet enrols.
func (s *kiosks) ResetKiosk(ctx context.Context, r *propertyv1.ResetKioskRequest) (*propertyv1.ResetKioskResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ResetKioskResponse, error) {
		row, code, err := kiosk.Reset(tx, s.Keys, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if err := guest.EndKioskSessions(tx, propertyID, r.GetId()); err != nil {
			return nil, err
		}
		return &propertyv1.ResetKioskResponse{Data: kioskMessage(tx, row), Code: code.Text, CodeExpiresAt: timestamppb.New(code.Expires)}, nil
	})
}

// DeleteKiosk deletes a kiosk, and ends the credential of its tablet and the guests' sessions on it.
func (s *kiosks) DeleteKiosk(ctx context.Context, r *propertyv1.DeleteKioskRequest) (*propertyv1.DeleteKioskResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.DeleteKioskResponse, error) {
		if err := kiosk.Delete(tx, propertyID, r.GetId()); err != nil {
			return nil, err
		}
		return &propertyv1.DeleteKioskResponse{}, guest.EndKioskSessions(tx, propertyID, r.GetId())
	})
}

// kioskMessage converts a kiosk with its present state.
func kioskMessage(view *db.Tx, row *kiosk.Row) *propertyv1.Kiosk {
	return &propertyv1.Kiosk{
		Id: row.ID, Name: row.Name, State: kiosk.StateOf(row, view.Now()), SeenAt: convert.OptionalTime(row.SeenAt), EnrolledAt: convert.OptionalTime(row.EnrolledAt),
		Door: row.Door, CreatedAt: timestamppb.New(row.CreatedAt),
	}
}
