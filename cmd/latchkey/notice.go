package main

import (
	"context"
	"errors"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type noticeCommands struct {
	remote `embed:""`

	List noticeList `cmd:"" help:"List notices, newest first."`
	Read noticeRead `cmd:"" help:"Mark notices as read."`
}

type noticeList struct {
	Unread bool  `help:"Only those nobody has read."`
	Limit  int32 `default:"50" help:"At most this many, up to 200."`
}

func (c *noticeList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewNoticeServiceClient(s.conn).ListNotices(s, &propertyv1.ListNoticesRequest{UnreadOnly: c.Unread, PageSize: c.Limit})
		if err != nil {
			return err
		}
		return s.answer(answer, func() {
			var rows [][]string
			for _, n := range answer.GetData().GetList() {
				rows = append(rows, []string{n.GetId(), when(n.GetCreatedAt()), yes(n.GetReadAt() != nil), yes(n.GetStands()), n.GetSubject(), n.GetText()})
			}
			s.table("No notice.", []string{"id", "told", "read", "stands", "about", "what"}, rows)
		})
	})
}

type noticeRead struct {
	IDs []string `arg:"" optional:"" name:"notice" help:"ntc_..."`
	All bool     `help:"All unread ones."`
}

func (c *noticeRead) Run(ctx context.Context, r *remote, io *streams) error {
	if c.All == (len(c.IDs) > 0) {
		return errors.New("name some notices, or else say --all")
	}
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewNoticeServiceClient(s.conn).MarkNoticesRead(s, &propertyv1.MarkNoticesReadRequest{Ids: c.IDs, All: c.All})
		if err != nil {
			return err
		}
		return s.answer(answer, func() { s.say("Marked %d as read.", answer.GetMarked()) })
	})
}
