package admin

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/jsonpb"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/staff"
)

type properties struct {
	adminv1.UnimplementedPropertyServiceServer
	Deps
}

// CreateProperty is createProperty for a request that was not read from JSON. The chain calls createProperty: see HandlerFields.
func (s *properties) CreateProperty(ctx context.Context, r *adminv1.CreatePropertyRequest) (*adminv1.CreatePropertyResponse, error) {
	return s.createProperty(ctx, r, nil)
}

// createProperty creates a property. The settings must have a name and a time zone; an error names all missing and invalid settings. The
// report is nil for a protobuf request.
func (s *properties) createProperty(ctx context.Context, r *adminv1.CreatePropertyRequest, report *jsonpb.Report) (*adminv1.CreatePropertyResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	settings, err := propertyapi.Settings(s.Validator, report, r.GetSettings(), property.Settings.Complete)
	if err != nil {
		return nil, err
	}
	propertyID, err := property.NewID(ctx, s.Keys)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreatePropertyResponse, error) {
		row, err := property.Create(tx, s.Keys, propertyID, settings)
		if err != nil {
			return nil, err
		}
		return &adminv1.CreatePropertyResponse{Data: propertyapi.Message(row)}, nil
	})
}

// ListProperties lists one page of the properties of the installation, the oldest first. A page has 200 unless the request sets its size.
func (s *properties) ListProperties(ctx context.Context, r *adminv1.ListPropertiesRequest) (*adminv1.ListPropertiesResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	rows, next, err := listProperties(s.DB.View(ctx), int(r.GetPageSize()), r.GetPageToken())
	if err != nil {
		return nil, err
	}
	list := &adminv1.PropertyList{NextPageToken: next}
	for _, row := range rows {
		list.List = append(list.List, propertyapi.Message(row))
	}
	return &adminv1.ListPropertiesResponse{Data: list}, nil
}

// listProperties returns one page of properties, oldest first, with at most size rows, and the token of the next page, or "". Size 0 means
// 200 rows. The first page has the token ""; a malformed token is a fault.
func listProperties(view *db.Tx, size int, token string) ([]*property.Row, string, error) {
	if token != "" && !id.Valid(id.Property, token) {
		return nil, "", fault.BadPageToken()
	}
	if size == 0 {
		size = 200
	}
	rows, err := property.List(view, size+1, token)
	if err != nil || len(rows) <= size {
		return rows, "", err
	}
	rows = rows[:size]
	return rows, rows[size-1].ID, nil
}

func (s *properties) GetProperty(ctx context.Context, r *adminv1.GetPropertyRequest) (*adminv1.GetPropertyResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	row, err := property.Get(s.DB.View(ctx), r.GetId())
	if err != nil {
		return nil, err
	}
	return &adminv1.GetPropertyResponse{Data: propertyapi.Message(row)}, nil
}

// UpdateProperty is updateProperty for a request that was not read from JSON. The chain calls updateProperty: see HandlerFields.
func (s *properties) UpdateProperty(ctx context.Context, r *adminv1.UpdatePropertyRequest) (*adminv1.UpdatePropertyResponse, error) {
	return s.updateProperty(ctx, r, nil)
}

// updateProperty changes the settings that the request has, and recomputes the access of the reservations and, if necessary, their times.
// It has no etag, so it overwrites changes by staff. The report is nil for a protobuf request.
func (s *properties) updateProperty(ctx context.Context, r *adminv1.UpdatePropertyRequest, report *jsonpb.Report) (*adminv1.UpdatePropertyResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	settings, err := propertyapi.Settings(s.Validator, report, r.GetSettings(), property.Settings.Fit)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.UpdatePropertyResponse, error) {
		row, err := s.ChangeSettings(tx, r.GetId(), settings)
		return &adminv1.UpdatePropertyResponse{Data: row}, err
	})
}

const (
	deleteBatch = 500             // limits the rows that one transaction deletes directly; rows that cascade are not counted
	deleteTime  = 5 * time.Second // after this time, a call begins no further transaction; the caller repeats the call until everything is deleted
)

// DeleteProperty deletes a property with everything that belongs to it. The request must repeat the name of the property. It fails while a
// lock, except the abandoned ones, can hold a code, or a SmartKey is in use. A large property takes several calls of about five seconds:
// the answer reports whether all is deleted. The first call already makes the tokens of the property invalid and revokes its bridges.
func (s *properties) DeleteProperty(ctx context.Context, r *adminv1.DeletePropertyRequest) (*adminv1.DeletePropertyResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	row, err := property.Get(s.DB.View(ctx), r.GetId())
	if err != nil {
		return nil, err
	}
	if r.GetName() != row.Name {
		return nil, fault.Fields(fault.Field{Path: "name", Reason: fault.WrongValue, Message: "must be the name of the property"})
	}
	for began := time.Now(); ; {
		left, err := s.deleteRows(ctx, row.ID, r.GetAbandonedLockIds())
		if err != nil {
			return nil, err
		}
		if !left {
			break
		}
		if time.Since(began) > deleteTime {
			return &adminv1.DeletePropertyResponse{Data: &adminv1.PropertyDeletion{}}, nil
		}
	}
	if err := property.DeleteUnindexed(ctx, s.DB, row.ID); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.DeletePropertyResponse, error) {
		return &adminv1.DeletePropertyResponse{Data: &adminv1.PropertyDeletion{Done: true}}, property.Delete(tx, row.ID)
	})
}

// deleteRows deletes at most deleteBatch rows of a property in one transaction, and reports whether rows may be left. abandoned are the ids
// of locks whose codes are given up. It fails while any other lock can hold a code, or a SmartKey is in use. The first call also revokes
// the property's bridges, takes its locks from their doors and makes its tokens invalid.
func (s *properties) deleteRows(ctx context.Context, propertyID string, abandoned []string) (left bool, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		s.Partners.NotifyCredentialsChanged(tx)
		if err := lock.RefuseWithCodes(tx, propertyID, abandoned); err != nil {
			return err
		}
		if err := mobilekey.CheckNoSmartKeysInUse(tx, propertyID); err != nil {
			return err
		}
		if err := bridge.RevokeAll(tx, propertyID); err != nil {
			return err
		}
		left, err = property.DeleteRows(tx, propertyID, deleteBatch)
		return err
	})
	return left, err
}

type owners struct {
	adminv1.UnimplementedOwnerServiceServer
	Deps
}

// CreateOwnerLink creates a single-use link with which a person becomes owner of a property. Only this answer has the link. Earlier such
// links of the property end, and the link ends with the operator token of the call. Without a property id, the link also creates the
// property, and ends earlier links without one.
func (s *owners) CreateOwnerLink(ctx context.Context, r *adminv1.CreateOwnerLinkRequest) (*adminv1.CreateOwnerLinkResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreateOwnerLinkResponse, error) {
		l, err := staff.CreateOwnerLink(tx, s.Keys, r.GetPropertyId(), who.Author(), chain.From(ctx).Trace())
		if err != nil {
			return nil, err
		}
		return &adminv1.CreateOwnerLinkResponse{Data: &adminv1.OwnerLink{
			Url: s.OwnerURL(l.Secret, l.PropertyID), Secret: l.Secret, PropertyId: l.PropertyID, EndsAt: timestamppb.New(l.EndsAt),
		}}, nil
	})
}
