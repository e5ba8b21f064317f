package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff"
)

type properties struct {
	propertyv1.UnimplementedPropertyServiceServer
	Deps
}

func (s *properties) GetProperty(ctx context.Context, _ *propertyv1.GetPropertyRequest) (*propertyv1.GetPropertyResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	row, err := property.Get(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	return &propertyv1.GetPropertyResponse{Data: Message(row)}, nil
}

// UpdateProperty is updateProperty for a request that was not read from JSON. The chain calls updateProperty: see HandlerFields.
func (s *properties) UpdateProperty(ctx context.Context, r *propertyv1.UpdatePropertyRequest) (*propertyv1.UpdatePropertyResponse, error) {
	return s.updateProperty(ctx, r, nil)
}

// updateProperty changes the settings that the request has, and recomputes the access of all stays. It refuses an outdated etag; without
// one it overwrites. To turn accessStepUp off, a person must prove again who they are. The report is nil for a protobuf request.
func (s *properties) updateProperty(ctx context.Context, r *propertyv1.UpdatePropertyRequest, report *jsonpb.Report) (*propertyv1.UpdatePropertyResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdatePropertyResponse, error) {
		settings, err := Settings(s.Validator, report, r.GetSettings(), property.Settings.Fit)
		if err != nil {
			return nil, err
		}
		stored, err := property.Get(tx, propertyID)
		if err != nil {
			return nil, err
		}
		if err := convert.CheckEtag(r.GetEtag(), Message(stored)); err != nil {
			return nil, err
		}
		if stored.AccessStepUp && settings.AccessStepUp != nil && !*settings.AccessStepUp {
			if err := requireStepUp(ctx, tx); err != nil {
				return nil, err
			}
		}
		row, err := s.ChangeSettings(tx, propertyID, settings)
		return &propertyv1.UpdatePropertyResponse{Data: row}, err
	})
}

// requireStepUp returns an error if a signed-in person must prove again who they are before a setting takes protection away. A token
// passes.
func requireStepUp(ctx context.Context, tx *db.Tx) error {
	if by, _ := actor.From(ctx); by.PersonID != "" {
		return staff.StepUp(by, staff.ManageSettings, tx.Now())
	}
	return nil
}

// ChangeSettings changes a property's settings and recomputes the access of its reservations. An error can follow a stored change, so the
// caller must roll back. If settings has a time zone, check-in or check-out time, it also enqueues a job that recomputes the times of
// stays.
func (s Stays) ChangeSettings(tx *db.Tx, propertyID string, settings property.Settings) (*propertyv1.Property, error) {
	row, err := property.Update(tx, propertyID, settings)
	if err != nil {
		return nil, PrefixFields("settings", err)
	}
	if settings.ChangesStayTimes() {
		if err := s.CompleteDays(tx, propertyID); err != nil {
			return nil, err
		}
	}
	return Message(row), s.Replan(tx, propertyID, space.AffectedStays{All: true})
}
