package staff

import (
	"net/http"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// noticeSettingsPath is the URL of the page on which a person chooses which notices to get.
const noticeSettingsPath = "/app/account/notices"

// noticeGroup is one group of notices, and whether the person gets them on the page of notices and by mail.
type noticeGroup struct {
	Name       string
	Page, Mail bool
}

type noticeSettingsView struct {
	Groups      []noticeGroup
	From, Until string
}

// showNoticeSettings handles the page on which a person chooses which notices to get. It shows the stored choice.
func (s *site) showNoticeSettings(x *exchange) error {
	found, err := s.api.Notices.GetNoticeSettings(x.call(), &propertyv1.GetNoticeSettingsRequest{})
	if err != nil {
		return err
	}
	return x.noticeSettingsPage(http.StatusOK, found.GetData(), found.GetData().GetGroups(), nil)
}

// noticeSettingsPage renders the page on which a person chooses which notices to get. m is the choice to show, groups are all groups that the
// person may choose from, and wrong adds errors to the page, or is nil.
func (x *exchange) noticeSettingsPage(status int, m *propertyv1.NoticeSettings, groups []string, wrong func(*page)) error {
	v := noticeSettingsView{From: m.GetMailFrom(), Until: m.GetMailUntil()}
	for _, name := range groups {
		v.Groups = append(v.Groups, noticeGroup{name, !slices.Contains(m.GetHidden(), name), slices.Contains(m.GetByMail(), name)})
	}
	p := x.newPage("staff.mynotices.title")
	p.Here, p.Back, p.Data = "account", "/app/account", v
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "notice-settings", p)
}

// saveNoticeSettings handles the form that chooses which notices a person gets. A group whose box is not checked is hidden.
func (s *site) saveNoticeSettings(x *exchange) error {
	found, err := s.api.Notices.GetNoticeSettings(x.call(), &propertyv1.GetNoticeSettingsRequest{})
	if err != nil {
		return err
	}
	groups := found.GetData().GetGroups()
	m := &propertyv1.NoticeSettings{MailFrom: x.Value("mailFrom"), MailUntil: x.Value("mailUntil")}
	for _, name := range groups {
		if !slices.Contains(x.R.PostForm["page"], name) {
			m.Hidden = append(m.Hidden, name)
		}
		if slices.Contains(x.R.PostForm["mail"], name) {
			m.ByMail = append(m.ByMail, name)
		}
	}
	_, err = s.api.Notices.UpdateNoticeSettings(x.call(), &propertyv1.UpdateNoticeSettingsRequest{Settings: m})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return x.noticeSettingsPage(http.StatusUnprocessableEntity, m, groups, func(p *page) {
			p.Wrong = []kit.Wrong{{ID: "f-hours", Label: p.T("staff.mynotices.hours"), Text: p.T("staff.mynotices.hours.wrong")}}
		})
	}
	if err != nil {
		return err
	}
	return x.Redirect(noticeSettingsPath + "?done=saved")
}
