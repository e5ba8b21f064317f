package property

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

type bridges struct {
	propertyv1.UnimplementedBridgeServiceServer
	Deps
}

// CreateBridge creates a bridge and the join code with which a machine becomes this bridge within an hour. Only this answer has the code.
func (s *bridges) CreateBridge(ctx context.Context, r *propertyv1.CreateBridgeRequest) (*propertyv1.CreateBridgeResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateBridgeResponse, error) {
		if err := RequireName("name", r.GetName()); err != nil {
			return nil, err
		}
		row, code, err := bridge.Create(tx, s.Keys, s.CA, propertyID, r.GetName())
		if err != nil {
			return nil, err
		}
		return &propertyv1.CreateBridgeResponse{Data: bridgeMessage(row, 0, tx.Now()), JoinCode: code, JoinCodeExpiresAt: convert.OptionalTime(row.JoinExpiresAt)}, nil
	})
}

// CreateJoinCode creates a new code with which a bridge joins within an hour, such as after its machine was replaced or it was revoked. The
// previous code ends. Until the new one is used, the bridge itself does not change. Only this answer has the code.
func (s *bridges) CreateJoinCode(ctx context.Context, r *propertyv1.CreateJoinCodeRequest) (*propertyv1.CreateJoinCodeResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateJoinCodeResponse, error) {
		row, code, err := bridge.ReplaceJoinCode(tx, s.Keys, s.CA, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		m, err := bridgeWithLocks(tx, propertyID, row)
		return &propertyv1.CreateJoinCodeResponse{Data: m, JoinCode: code, JoinCodeExpiresAt: convert.OptionalTime(row.JoinExpiresAt)}, err
	})
}

// ListBridges lists all bridges of the property, the oldest first, also revoked ones.
func (s *bridges) ListBridges(ctx context.Context, _ *propertyv1.ListBridgesRequest) (*propertyv1.ListBridgesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := bridge.List(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	locksOf, err := lock.CountPerBridge(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.BridgeList{Total: int32(len(rows))}
	for _, row := range rows {
		list.List = append(list.List, bridgeMessage(row, locksOf[row.ID], s.now(ctx)))
	}
	return &propertyv1.ListBridgesResponse{Data: list}, nil
}

// RevokeBridge ends a bridge's credential, join code and session, and recomputes the access of all stays. Codes stay on its locks, because
// no bridge can remove them. If the bridge is revoked already, it only recomputes the access.
func (s *bridges) RevokeBridge(ctx context.Context, r *propertyv1.RevokeBridgeRequest) (*propertyv1.RevokeBridgeResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevokeBridgeResponse, error) {
		row, err := bridge.Revoke(tx, propertyID, r.GetId(), lock.MarkLinksLost)
		if err != nil {
			return nil, err
		}
		if err := s.Replan(tx, propertyID, space.AffectedStays{All: true}); err != nil {
			return nil, err
		}
		m, err := bridgeWithLocks(tx, propertyID, row)
		return &propertyv1.RevokeBridgeResponse{Data: m}, err
	})
}

// bridgeWithLocks converts a bridge with the number of its locks.
func bridgeWithLocks(tx *db.Tx, propertyID string, row *bridge.Row) (*propertyv1.Bridge, error) {
	counts, err := lock.CountPerBridge(tx, propertyID)
	if err != nil {
		return nil, err
	}
	return bridgeMessage(row, counts[row.ID], tx.Now()), nil
}

// bridgeMessage converts a bridge with its state: revoked, waiting (not yet enrolled), online or offline.
func bridgeMessage(b *bridge.Row, lockCount int, now time.Time) *propertyv1.Bridge {
	m := &propertyv1.Bridge{
		Id: b.ID, Name: b.Name, State: "offline", LastSeenAt: convert.OptionalTime(b.LastSeenAt), Software: b.Software, ClockOffsetMs: b.ClockOffsetMs,
		CertificateExpiresAt: convert.OptionalTime(b.CertificateExpiresAt), Locks: int32(lockCount), CreatedAt: timestamppb.New(b.CreatedAt), LinkSince: convert.OptionalTime(b.LinkAt),
	}
	switch {
	case b.RevokedAt != nil:
		m.State = "revoked"
	case b.EnrolledAt == nil:
		m.State = "waiting"
	case bridge.IsOnline(b, now):
		m.State = "online"
	default:
		m.OfflineReason = convert.TextOrNil(b.OfflineReason)
	}
	return m
}
