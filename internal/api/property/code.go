package property

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
)

type codes struct {
	propertyv1.UnimplementedCodeServiceServer
	Deps
}

// reconciler returns the access reconciler for a transaction.
func (d Deps) reconciler(tx *db.Tx) access.Reconciler { return access.Reconciler{Tx: tx, Keys: d.Keys} }

// CreateCode creates a code (a PIN on locks) that does not belong to a stay, such as for staff. The PIN is read with RevealCode. It is no
// error if a lock has no free slot for it: GetCode says on which locks the code is.
func (s *codes) CreateCode(ctx context.Context, r *propertyv1.CreateCodeRequest) (*propertyv1.CreateCodeResponse, error) {
	who, _ := actor.From(ctx)
	n := code.Spec{
		Kind: code.Kind(r.GetKind()), Holder: r.GetHolder(), DoorIDs: r.GetDoorIds(), AllRooms: r.GetAllRooms(), By: who.Author(),
		NotBefore: clock.TimeOf(r.GetNotBefore()), NotAfter: clock.TimeOf(r.GetNotAfter()),
	}
	for _, h := range r.GetHours() {
		line := code.Hours{From: h.GetFrom(), To: h.GetTo()}
		for _, day := range h.GetDays() {
			line.Days = append(line.Days, int(day))
		}
		n.Hours = append(n.Hours, line)
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateCodeResponse, error) {
		if err := RequireName("holder", r.GetHolder()); err != nil {
			return nil, err
		}
		c, err := code.Create(s.reconciler(tx), propertyID, n)
		if err != nil {
			return nil, err
		}
		m, err := s.codeMessage(tx, c)
		return &propertyv1.CreateCodeResponse{Data: m}, err
	})
}

// ListCodes lists a page of codes, the oldest first. Ended codes are included only on request.
func (s *codes) ListCodes(ctx context.Context, r *propertyv1.ListCodesRequest) (*propertyv1.ListCodesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() != "" && !id.Valid(id.Code, r.GetPageToken()) {
		return nil, fault.BadPageToken()
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	view := s.DB.View(ctx)
	rows, err := code.List(view, propertyID, code.Filter{
		Kind: r.GetKind(), LockID: r.GetLockId(), Ended: r.GetEnded(), After: r.GetPageToken(), Limit: size + 1,
	})
	if err != nil {
		return nil, err
	}
	list := &propertyv1.CodeList{}
	if len(rows) > size {
		rows = rows[:size]
		list.NextPageToken = rows[size-1].ID
	}
	list.List, err = s.codeMessages(view, propertyID, rows...)
	return &propertyv1.ListCodesResponse{Data: list}, err
}

// GetCode returns a code without its PINs, and each lock with a slot that holds the code or held it last.
func (s *codes) GetCode(ctx context.Context, r *propertyv1.GetCodeRequest) (*propertyv1.GetCodeResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	c, err := code.Get(view, propertyID, r.GetId())
	if err != nil {
		return nil, err
	}
	m, err := s.codeMessage(view, c)
	if err != nil {
		return nil, err
	}
	places, err := codePlaces(view, c)
	return &propertyv1.GetCodeResponse{Data: m, Places: places}, err
}

// codePlaces returns each lock with a slot that holds a code or held it last, with the state of the slot.
func codePlaces(view *db.Tx, c *code.Row) ([]*propertyv1.CodePlace, error) {
	slots, err := lock.SlotsOfGrants(view, c.PropertyID, c.ID)
	if err != nil {
		return nil, err
	}
	var doors []string
	for _, sl := range slots {
		doors = append(doors, sl.DoorID)
	}
	names, err := access.DoorNames(view, c.PropertyID, doors)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(slots, func(a, b *lock.SlotRow) int { return strings.Compare(a.LockID, b.LockID) })
	var out []*propertyv1.CodePlace
	for _, sl := range slots {
		window := lock.WindowAt(sl, view.Now())
		out = append(out, &propertyv1.CodePlace{
			DoorId: sl.DoorID, DoorName: names[sl.DoorID].Name, DoorParentName: names[sl.DoorID].Parent, LockId: sl.LockID, Evidence: sl.Evidence, Result: sl.Result,
			NotBefore: clock.Timestamp(window.From), NotAfter: clock.Timestamp(window.To), UsedAt: convert.OptionalTime(sl.UsedAt),
		})
	}
	return out, nil
}

// RevealCode returns the PINs of a code, and records that the caller read them. It also resolves the notice of a replaced PIN. It fails if
// the code has ended. The stored answer for the Idempotency-Key has no PINs: a repeated call decrypts them again, and records that.
func (s *codes) RevealCode(ctx context.Context, r *propertyv1.RevealCodeRequest) (*propertyv1.RevealCodeResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevealCodeResponse, error) {
		return s.reveal(tx, propertyID, r.GetId())
	})
}

// reveal returns the shared PIN and the PINs of doors whose locks do not accept it, and records that the caller read them. It fails if the
// code has ended.
func (s *codes) reveal(tx *db.Tx, propertyID, codeID string) (*propertyv1.RevealCodeResponse, error) {
	who, _ := actor.From(tx.Context())
	c, err := code.Get(tx, propertyID, codeID)
	if err != nil {
		return nil, err
	}
	all, own, err := code.Reveal(s.reconciler(tx), c, who.Author())
	if err != nil {
		return nil, err
	}
	if c, err = code.Get(tx, propertyID, codeID); err != nil {
		return nil, err
	}
	m, err := s.codeMessage(tx, c)
	answer := &propertyv1.RevealCodeResponse{Data: m, Pin: all}
	for door, pin := range own {
		answer.DoorPins = append(answer.DoorPins, &propertyv1.DoorPin{DoorId: door, Pin: pin})
	}
	slices.SortFunc(answer.DoorPins, func(a, b *propertyv1.DoorPin) int { return strings.Compare(a.DoorId, b.DoorId) })
	return answer, err
}

// renderCodePINs is the idem.Renderer of RevealCode: it adds the PINs to a repeated answer, and records that they were shown again. It
// fails if the code has ended since.
func (s *codes) renderCodePINs(ctx context.Context, answer proto.Message) error {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	m := answer.(*propertyv1.RevealCodeResponse)
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		now, err := s.reveal(tx, propertyID, m.GetData().GetId())
		if err == nil {
			m.Pin, m.DoorPins = now.GetPin(), now.GetDoorPins()
		}
		return err
	})
}

var _ idem.Renderer = (&codes{}).renderCodePINs

// RevokeCode ends a code and orders its removal from its locks. A lock that cannot be reached keeps the code until it can. It does nothing
// if the code has ended.
func (s *codes) RevokeCode(ctx context.Context, r *propertyv1.RevokeCodeRequest) (*propertyv1.RevokeCodeResponse, error) {
	who, _ := actor.From(ctx)
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevokeCodeResponse, error) {
		c, err := code.Get(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if c, err = code.End(s.reconciler(tx), c, code.EndRevoked, who.Author()); err != nil {
			return nil, err
		}
		m, err := s.codeMessage(tx, c)
		return &propertyv1.RevokeCodeResponse{Data: m}, err
	})
}

// SwapBackupCodes ends the backup codes that a lock still has and creates two new ones. It fails if the property's backup codes are off, or
// the lock is on no door or has few slots.
func (s *codes) SwapBackupCodes(ctx context.Context, r *propertyv1.SwapBackupCodesRequest) (*propertyv1.SwapBackupCodesResponse, error) {
	who, _ := actor.From(ctx)
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.SwapBackupCodesResponse, error) {
		rows, err := code.SwapBackups(s.reconciler(tx), propertyID, r.GetLockId(), who.Author())
		if err != nil {
			return nil, err
		}
		list, err := s.codeMessages(tx, propertyID, rows...)
		return &propertyv1.SwapBackupCodesResponse{Data: list}, err
	})
}

// codeMessage converts a code with the decrypted name of its holder.
func (s *codes) codeMessage(view *db.Tx, c *code.Row) (*propertyv1.Code, error) {
	list, err := s.codeMessages(view, c.PropertyID, c)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// codeMessages converts codes of one property with the decrypted names of their holders.
func (s *codes) codeMessages(view *db.Tx, propertyID string, rows ...*code.Row) ([]*propertyv1.Code, error) {
	zone, err := code.ZoneOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	list := make([]*propertyv1.Code, len(rows))
	for i, c := range rows {
		holder, err := code.HolderOf(view.Context(), s.Keys, c)
		if err != nil {
			return nil, err
		}
		list[i] = codeAt(zone, view.Now(), c, holder)
	}
	return list, nil
}

// codeAt converts a code with its state at the time now. zone is the time zone of its weekly hours, holder the name of its holder.
func codeAt(zone *time.Location, now time.Time, c *code.Row, holder string) *propertyv1.Code {
	m := &propertyv1.Code{
		Id: c.ID, Kind: c.Kind, Holder: holder, LockId: convert.TextOrNil(c.LockID), DoorIds: c.Doors, AllRooms: c.AllRooms,
		NotBefore: timestamppb.New(c.NotBefore), NotAfter: convert.OptionalTime(c.NotAfter), State: code.State(c, zone, now),
		EndReason: convert.TextOrNil(c.EndReason), EndedAt: convert.OptionalTime(c.EndedAt), Removed: c.ReleasedAt != nil, UsedAt: convert.OptionalTime(c.UsedAt),
		ReadAt: convert.OptionalTime(c.ReadAt), ReadBy: convert.TextOrNil(c.ReadBy), CreatedBy: c.CreatedBy, CreatedAt: timestamppb.New(c.CreatedAt),
	}
	for _, h := range c.Hours {
		line := &propertyv1.WeeklyHours{From: h.From, To: h.To}
		for _, day := range h.Days {
			line.Days = append(line.Days, int32(day)) // no overflow: days are 1 (Monday) to 7
		}
		m.Hours = append(m.Hours, line)
	}
	return m
}
