package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/staff"
)

// callerPersonID returns the id of the signed-in person who calls. It fails for a token, which has no notice settings.
func callerPersonID(ctx context.Context) (string, error) {
	if who, _ := actor.From(ctx); who.PersonID != "" {
		return who.PersonID, nil
	}
	return "", fault.New(fault.NotFound, fault.PersonNotFound, "only a person who is signed in has settings of notices, and the call came with a token")
}

// hiddenKinds returns the kinds of notices that the caller has hidden. A token hides none.
func (s *notices) hiddenKinds(ctx context.Context, propertyID string) ([]string, error) {
	who, _ := actor.From(ctx)
	if who.PersonID == "" {
		return nil, nil
	}
	choice, err := staff.GetNoticeChoice(s.DB.View(ctx), propertyID, who.PersonID)
	return notice.KindsOf(choice.Hidden), err
}

// GetNoticeSettings returns which notices the caller gets. For a token it returns the defaults.
func (s *notices) GetNoticeSettings(ctx context.Context, _ *propertyv1.GetNoticeSettingsRequest) (*propertyv1.GetNoticeSettingsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	var choice staff.NoticeChoice
	if who, _ := actor.From(ctx); who.PersonID != "" {
		if choice, err = staff.GetNoticeChoice(s.DB.View(ctx), propertyID, who.PersonID); err != nil {
			return nil, err
		}
	}
	return &propertyv1.GetNoticeSettingsResponse{Data: noticeSettings(choice)}, nil
}

// UpdateNoticeSettings replaces the caller's whole choice of notices; what the request leaves out is cleared. It fails for a token.
func (s *notices) UpdateNoticeSettings(ctx context.Context, r *propertyv1.UpdateNoticeSettingsRequest) (*propertyv1.UpdateNoticeSettingsResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateNoticeSettingsResponse, error) {
		m := r.GetSettings()
		choice := staff.NoticeChoice{Hidden: m.GetHidden(), ByMail: m.GetByMail(), From: m.GetMailFrom(), Until: m.GetMailUntil()}
		if err := choice.Check(); err != nil {
			return nil, err
		}
		personID, err := callerPersonID(ctx)
		if err != nil {
			return nil, err
		}
		return &propertyv1.UpdateNoticeSettingsResponse{Data: noticeSettings(choice)}, staff.SetNoticeChoice(tx, propertyID, personID, choice)
	})
}

// noticeSettings converts a person's choice of notices, with all groups that a person can choose.
func noticeSettings(c staff.NoticeChoice) *propertyv1.NoticeSettings {
	m := &propertyv1.NoticeSettings{Hidden: c.Hidden, ByMail: c.ByMail, MailFrom: c.From, MailUntil: c.Until}
	for _, g := range notice.Groups {
		m.Groups = append(m.Groups, string(g))
	}
	return m
}
