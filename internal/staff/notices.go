package staff

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/person"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/notice"
)

// NoticeChoice is which notices of a property a person gets, and when.
type NoticeChoice struct {
	Hidden      []string // groups of notices that the person's pages do not show
	ByMail      []string // groups of notices that are mailed; none: mails are off
	From, Until string   // HH:MM in the property's time zone: mails are sent from From until before Until; both empty: always
}

var clockTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// Check returns an error that names every wrong field of a choice, or nil. With only one of From and Until, or with equal ones, the choice
// is wrong.
func (c NoticeChoice) Check() error {
	var wrong []fault.Field
	add := func(path string, reason fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: reason, Message: message})
	}
	for _, list := range []struct {
		path   string
		groups []string
	}{{"settings.hidden", c.Hidden}, {"settings.byMail", c.ByMail}} {
		if slices.ContainsFunc(list.groups, func(name string) bool { return !slices.Contains(notice.Groups, notice.Group(name)) }) {
			add(list.path, fault.WrongValue, "has a group that does not exist: GetNoticeSettings lists all")
		}
	}
	if c.From == "" && c.Until == "" {
		return fieldsOrNil(wrong)
	}
	for _, at := range []struct{ path, value string }{{"settings.mailFrom", c.From}, {"settings.mailUntil", c.Until}} {
		if !clockTime.MatchString(at.value) {
			add(at.path, fault.BadFormat, "must be HH:MM; leave both times empty for mails at any time")
		}
	}
	if c.From == c.Until {
		add("settings.mailUntil", fault.OutOfRange, "must differ from mailFrom")
	}
	return fieldsOrNil(wrong)
}

// fieldsOrNil returns the error of wrong fields, or nil without any.
func fieldsOrNil(wrong []fault.Field) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.Fields(wrong...)
}

// MailsAt reports whether mails of notices are sent at a time, which must be in the property's time zone; without hours always. From is
// included, and Until is not. Hours that end before they begin go over midnight.
func (c NoticeChoice) MailsAt(at time.Time) bool {
	now := at.Format("15:04")
	switch {
	case c.From == "":
		return true
	case c.From < c.Until:
		return c.From <= now && now < c.Until
	}
	return c.From <= now || now < c.Until
}

// choiceOf returns the choice of notices that a membership stores.
func choiceOf(row *ent.Membership) NoticeChoice {
	return NoticeChoice{Hidden: row.NoticesHidden, ByMail: row.NoticesByMail, From: row.NoticesFrom, Until: row.NoticesUntil}
}

// GetNoticeChoice returns the choice of a person at a property, also of a disabled one, or the not-found fault of loadMember if the person
// does not work there.
func GetNoticeChoice(view *db.Tx, propertyID, personID string) (NoticeChoice, error) {
	row, _, err := loadMember(view, propertyID, personID)
	if err != nil {
		return NoticeChoice{}, err
	}
	return choiceOf(row), nil
}

// SetNoticeChoice checks and replaces the choice of a person at a property. Without groups in ByMail, mails are off. Notices from before
// the person turned them on are not mailed.
func SetNoticeChoice(tx *db.Tx, propertyID, personID string, c NoticeChoice) error {
	if err := c.Check(); err != nil {
		return err
	}
	row, _, err := loadMember(tx, propertyID, personID)
	if err != nil {
		return err
	}
	update := tx.Membership.Update().Where(membership.PropertyID(propertyID), membership.ID(row.ID)).
		SetNoticesHidden(c.Hidden).SetNoticesByMail(c.ByMail).SetNoticesFrom(c.From).SetNoticesUntil(c.Until)
	switch {
	case len(c.ByMail) == 0:
		update.ClearNoticesMailedTo()
	case row.NoticesMailedTo == nil:
		latest, err := notice.LatestID(tx, propertyID, tx.Now())
		if err != nil {
			return err
		}
		update.SetNoticesMailedTo(latest)
	}
	if err := update.Exec(tx.Context()); err != nil {
		return fmt.Errorf("store which notices a person gets: %w", err)
	}
	return nil
}

// NoticeReader is a person who gets notices by mail.
type NoticeReader struct {
	Row      *ent.Membership
	Choice   NoticeChoice
	MailedTo string // the id of the last notice that was considered for a mail, or empty
}

// readsNotices selects the members whose role has the right to read notices now, and whose access is not disabled. A choice of mails stays
// stored when the role changes.
func readsNotices() predicate.Membership {
	var roles []string
	for _, role := range Roles {
		if Allows(role, ReadNotices) {
			roles = append(roles, string(role))
		}
	}
	return membership.And(membership.RoleIn(roles...), membership.DisabledAtIsNil())
}

// ListNoticeReaders returns up to limit people who get notices by mail, of all properties, ordered by the id of their membership, beginning
// after the membership id after, or with the first if that is empty. It does not check whether a person is disabled everywhere:
// [FindNoticeReader] does.
func ListNoticeReaders(view *db.Tx, after string, limit int) (readers []NoticeReader, err error) {
	rows, err := view.Membership.Query().Where(membership.NoticesMailedToNotNil(), readsNotices(), membership.IDGT(after)).
		Order(membership.ByID()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list who gets notices by mail: %w", err)
	}
	for _, row := range rows {
		readers = append(readers, NoticeReader{Row: row, Choice: choiceOf(row), MailedTo: *row.NoticesMailedTo})
	}
	return readers, nil
}

// MarkNoticesMailed stores that a person was mailed all notices up to the id through. It returns false and stores nothing if, since r was
// loaded, the person turned mails off or another process has stored it.
func (r NoticeReader) MarkNoticesMailed(tx *db.Tx, through string) (bool, error) {
	n, err := tx.Membership.Update().Where(membership.PropertyID(r.Row.PropertyID), membership.ID(r.Row.ID), membership.NoticesMailedTo(r.MailedTo)).
		SetNoticesMailedTo(through).Save(tx.Context())
	if err != nil {
		return false, fmt.Errorf("store which notices were mailed to a person: %w", err)
	}
	return n > 0, nil
}

// FindNoticeReader returns the profile and the choice of a person who works at a property, also if the choice has no mails. The bool is
// false if the person has no right to read notices there now, or is disabled.
func FindNoticeReader(view *db.Tx, keys *keyring.Ring, propertyID, personID string) (Profile, NoticeChoice, bool, error) {
	row, err := view.Membership.Query().Where(membership.PropertyID(propertyID), membership.PersonID(personID), readsNotices()).Only(view.Context())
	if ent.IsNotFound(err) {
		return Profile{}, NoticeChoice{}, false, nil
	}
	if err != nil {
		return Profile{}, NoticeChoice{}, false, fmt.Errorf("load who gets notices: %w", err)
	}
	who, err := view.Person.Query().Where(person.ID(personID), person.DisabledAtIsNil()).Only(view.Context())
	if ent.IsNotFound(err) {
		return Profile{}, NoticeChoice{}, false, nil
	}
	if err != nil {
		return Profile{}, NoticeChoice{}, false, fmt.Errorf("load a person who gets notices: %w", err)
	}
	profile, err := profileOf(view.Context(), keys, who)
	return profile, choiceOf(row), err == nil, err
}
