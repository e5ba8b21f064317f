package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type noticeCommands struct {
	remote `embed:""`

	List noticeList `cmd:"" help:"List notices, newest first."`
	Read noticeRead `cmd:"" help:"Mark notices as read."`
}

// Help returns what --help adds: why there is no command for personal settings of notices.
func (noticeCommands) Help() string {
	return `Which notices a person sees and gets by mail is a personal setting of a person who is signed in: "My notices" in the account on the dashboard. There is no command for it, because commands call with a token or over the socket.`
}

type noticeList struct {
	Unread bool  `help:"Only unread notices."`
	Limit  int32 `default:"50" help:"At most this many, up to 200."`
}

// Run prints the newest notices, at most --limit, and marks none as read.
func (c *noticeList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewNoticeServiceClient(s.conn).ListNotices(s, &propertyv1.ListNoticesRequest{UnreadOnly: c.Unread, PageSize: c.Limit})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, n := range answer.GetData().GetList() {
				rows = append(rows, []string{n.GetId(), formatTime(n.GetCreatedAt()), yesOrNo(n.GetReadAt() != nil), yesOrNo(n.GetStands()), n.GetSubject(), n.GetText()})
			}
			s.printTable("No notices.", []string{"id", "since", "read", "open", "about", "what"}, rows)
		})
	})
}

type noticeRead struct {
	IDs []string `arg:"" optional:"" name:"notice" help:"The id of a notice (ntc_...)."`
	All bool     `help:"All unread notices."`
}

// Run marks notices as read, for all staff: the named ones, or with --all every unread one. It fails if a named notice does not exist,
// after it has marked the others.
func (c *noticeRead) Run(ctx context.Context, r *remote, io *streams) error {
	if c.All == (len(c.IDs) > 0) {
		return errors.New("name some notices, or use --all")
	}
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewNoticeServiceClient(s.conn).MarkNoticesRead(s, &propertyv1.MarkNoticesReadRequest{Ids: c.IDs, All: c.All})
		if err := s.printAnswer(answer, err, func() { s.say("Marked %d as read.", answer.GetMarked()) }); err != nil || int(answer.GetMarked()) == len(c.IDs) {
			return err
		}
		return s.checkNoticesExist(c.IDs)
	})
}

// checkNoticesExist returns an error if the property lacks a notice with one of the ids. It is called if the server marked fewer notices as
// read than the user named, which also happens if one was read before.
func (s *session) checkNoticesExist(ids []string) error {
	missing := slices.Clone(ids)
	for token := ""; len(missing) > 0; {
		answer, err := propertyv1.NewNoticeServiceClient(s.conn).ListNotices(s, &propertyv1.ListNoticesRequest{PageSize: 200, PageToken: token})
		if err != nil {
			return err
		}
		for _, n := range answer.GetData().GetList() {
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == n.GetId() })
		}
		if token = answer.GetData().GetNextPageToken(); token == "" {
			break
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this property has no notice %s", strings.Join(missing, ", "))
	}
	return nil
}
