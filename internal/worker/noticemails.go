package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/staff"
)

const (
	noticeMailsEvery = time.Minute
	// noticeMailAfter is how old a notice is before it is mailed. Some problems end by themselves, and notices that come together make one
	// mail.
	noticeMailAfter  = 2 * time.Minute
	noticeMailsBatch = 200
	// maxMailedNotices is the most notices that one mail lists. The mail says if there are more, and no later mail lists those.
	maxMailedNotices = 20
)

// Notices mails people the notices that they want by mail, in the hours that they chose. Only one process of an installation may run it:
// see [Lease].
func (m Mails) Notices() Sweep {
	return Sweep{Name: "notices by mail", Every: noticeMailsEvery, Run: func(ctx context.Context, d *db.DB) (failed error) {
		for after := ""; ctx.Err() == nil; {
			readers, err := staff.ListNoticeReaders(d.View(ctx), after, noticeMailsBatch)
			if err != nil {
				return errors.Join(failed, err)
			}
			for _, r := range readers {
				after = r.Row.ID
				if err := d.Write(ctx, func(tx *db.Tx) error { return m.mailNotices(tx, r) }); err != nil {
					failed = errors.Join(failed, fmt.Errorf("mail notices to a person of %s: %w", r.Row.PropertyID, err))
				}
			}
			if len(readers) < noticeMailsBatch {
				return failed
			}
		}
		return ctx.Err()
	}}
}

// mailNotices orders one mail about a person's new notices that are older than noticeMailAfter, unread and not resolved, if the person
// wants mails at this hour. At this hour it marks all notices up to the newest of that age as mailed to the person, also those that the
// mail leaves out, or if there is no mail.
func (m Mails) mailNotices(tx *db.Tx, r staff.NoticeReader) error {
	in, err := property.Get(tx, r.Row.PropertyID)
	if err != nil {
		return err
	}
	zone, err := clock.Zone(in.TimeZone)
	if err != nil {
		zone = time.UTC // an unknown time zone must not hold back mails
	}
	if !r.Choice.MailsAt(tx.Now().In(zone)) {
		return nil
	}
	through, err := notice.LatestID(tx, r.Row.PropertyID, tx.Now().Add(-noticeMailAfter))
	if err != nil || through <= r.MailedTo {
		return err
	}
	found, err := notice.ListNew(tx, r.Row.PropertyID, notice.MailedKinds(r.Choice.ByMail), r.MailedTo, through, 1)
	if err != nil {
		return err
	}
	moved, err := r.MarkNoticesMailed(tx, through)
	if err != nil || !moved || len(found) == 0 {
		return err
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, mail.Mail{
		PropertyID: r.Row.PropertyID, Kind: mail.Notices, Params: mail.NoticesParams(r.Row.PersonID, r.MailedTo, through),
	})
	return err
}

// addNotices adds the notices of a mail to a person, at most maxMailedNotices, and sets the recipient. It sets r.out.canceled if the notices
// were read, resolved or removed meanwhile, or if the person no longer wants them or no longer has the right to read them.
func (r *renderer) addNotices() error {
	personID, after, through := mail.NoticesOf(r.row)
	who, choice, found, err := staff.FindNoticeReader(r.view, r.Keys, r.row.PropertyID, personID)
	if fault.Has(err, fault.PersonNotFound) {
		found, err = false, nil
	}
	if err != nil || !found {
		r.out.canceled = !found
		return err
	}
	rows, err := notice.ListNew(r.view, r.row.PropertyID, notice.MailedKinds(choice.ByMail), after, through, maxMailedNotices+1)
	if err != nil {
		return err
	}
	r.out.canceled = len(rows) == 0
	facts := mail.NoticesFacts{Link: r.BaseURL() + "/app/notices", More: len(rows) > maxMailedNotices}
	for _, row := range rows[:min(len(rows), maxMailedNotices)] {
		if row.Parameters != nil {
			facts.List = append(facts.List, notice.MessageOf(row))
		}
	}
	r.to, r.occasion.Notices = who.Email, facts
	return nil
}
