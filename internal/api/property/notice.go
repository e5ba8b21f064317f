package property

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

type notices struct {
	propertyv1.UnimplementedNoticeServiceServer
	Deps
}

// ListNotices lists a page of notices, the newest first, with the numbers of unread notices and, up to a limit, of open problems. mineOnly
// leaves out the kinds that the caller has hidden, also from the number of unread notices, but not from that of open problems.
func (s *notices) ListNotices(ctx context.Context, r *propertyv1.ListNoticesRequest) (*propertyv1.ListNoticesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() != "" && !id.Valid(id.Notice, r.GetPageToken()) {
		return nil, fault.BadPageToken()
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	filter := notice.Filter{UnreadOnly: r.GetUnreadOnly()}
	if r.GetMineOnly() {
		if filter.Without, err = s.hiddenKinds(ctx, propertyID); err != nil {
			return nil, err
		}
	}
	rows, err := notice.List(s.DB.View(ctx), propertyID, filter, size+1, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	reader, err := s.reader(ctx, propertyID)
	if err != nil {
		return nil, err
	}
	unread, err := notice.Unread(s.DB.View(ctx), propertyID, filter.Without)
	if err != nil {
		return nil, err
	}
	open, moreOpen, err := notice.CountOpen(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.NoticeList{Unread: int32(unread), Open: int32(open), MoreOpen: moreOpen}
	if len(rows) > size {
		rows = rows[:size]
		list.NextPageToken = rows[size-1].ID
	}
	for _, n := range rows {
		list.List = append(list.List, noticeMessage(n, reader))
	}
	return &propertyv1.ListNoticesResponse{Data: list}, nil
}

// MarkNoticesRead marks notices as read, for all staff of the property: those with the ids of the request, or all, also kinds that the
// caller has hidden. A request with both or neither is an error.
func (s *notices) MarkNoticesRead(ctx context.Context, r *propertyv1.MarkNoticesReadRequest) (*propertyv1.MarkNoticesReadResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.MarkNoticesReadResponse, error) {
		if r.GetAll() == (len(r.GetIds()) > 0) {
			return nil, fault.Fields(fault.Field{Path: "ids", Reason: fault.Conflicting, Message: "send either ids or all"})
		}
		n, err := notice.MarkRead(tx, propertyID, r.GetIds()...)
		return &propertyv1.MarkNoticesReadResponse{Marked: int32(n)}, err
	})
}

// reader returns the renderer of texts for a property's staff. It uses the language of the call and the property's time zone.
func (d Deps) reader(ctx context.Context, propertyID string) (message.Reader, error) {
	row, err := property.Get(d.DB.View(ctx), propertyID)
	if err != nil {
		return message.Reader{}, err
	}
	zone, err := clock.Zone(row.TimeZone)
	if err != nil {
		zone = time.UTC // an unknown time zone must not make notices unreadable
	}
	return message.Reader{Language: chain.Language(ctx), Zone: zone}, nil
}

// noticeMessage converts a notice with its text in the reader's language and zone, and whether its problem is still open.
func noticeMessage(n *notice.Row, to message.Reader) *propertyv1.Notice {
	return &propertyv1.Notice{
		Id: n.ID, Kind: n.Kind, Subject: n.Subject, Text: notice.Text(n, to), Stands: notice.IsProblemOpen(n),
		ReadAt: convert.OptionalTime(n.ReadAt), CreatedAt: timestamppb.New(n.CreatedAt), Parameters: convert.Struct(n.Parameters),
		ResolvedAt: convert.OptionalTime(n.ResolvedAt),
	}
}
