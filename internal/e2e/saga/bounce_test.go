package saga

import (
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The mail server took the invitation, and another one reports later that it cannot deliver it.
func TestInvitationComesBack(t *testing.T) {
	t.Parallel()
	w := open(t, "sqlite", 1)
	r := &run{world: w}
	r.invite(make([]point, 1))
	sent := func() *propertyv1.Mail {
		mails, err := w.mails()
		w.must(err)
		at := slices.IndexFunc(mails, func(m *propertyv1.Mail) bool { return m.GetKind() == "invitation" })
		if at < 0 {
			t.Fatalf("no invitation among %v", mails)
		}
		return mails[at]
	}
	w.must(w.awaitMails(t.Context(), "the invitation is sent", func() (bool, error) { return sent().GetState() == "sent", nil }))
	api, m := propertyv1.NewMailServiceClient(w.Public), sent()
	report := func(text string) *propertyv1.Bounce {
		answer, err := api.ReportBounce(w.asStaff(), &propertyv1.ReportBounceRequest{Message: []byte(strings.ReplaceAll(text, "\n", "\r\n"))})
		w.must(err)
		return answer.GetData()
	}
	if got := report("From: ana@example.com\nSubject: Thanks\nIn-Reply-To: <" + messageID(m) + ">\n\nSee you soon.\n"); got.GetOutcome() != "ignored" || got.GetMail() != nil {
		t.Errorf("a guest's answer: %v", got)
	}
	got := report("Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.com\n\n" +
		"Action: failed\nStatus: 5.1.1\n\n--b\nContent-Type: message/rfc822\n\nMessage-ID: <" + messageID(m) + ">\nSubject: Your stay\n\nHello\n--b--\n")
	if got.GetOutcome() != "bounced" || got.GetMail().GetId() != m.GetId() || got.GetMail().GetFailure() != "recipient" || got.GetMail().GetAnswer() != "5.1.1" {
		t.Errorf("the report: %v", got)
	}
	if kinds := w.notices(m.GetReservationId()); !slices.Contains(kinds, "mailFailed") {
		t.Errorf("notices of the stay: %v", kinds)
	}
	// The audit log has the mail that was given up, and nothing about the mail of a stranger.
	log, err := propertyv1.NewAuditServiceClient(w.Public).ListEntries(w.asStaff(), &propertyv1.ListEntriesRequest{Action: "MailService/ReportBounce"})
	w.must(err)
	if list := log.GetData().GetList(); len(list) != 1 || !slices.Contains(list[0].GetSubjects(), m.GetId()) {
		t.Errorf("the audit log: %v", list)
	}
}
