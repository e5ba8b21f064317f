package checkin

import (
	"context"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// Without a mail server, guests do not read that mails were sent, and staff see once that mails wait, and how many.
func TestMailsOfAPropertyWithoutMailServer(t *testing.T) {
	w := &world{e2etest.Open(t, func(c *sandbox.Config) { c.Play, c.WithoutMail = true, true }), t}
	mails, stays := propertyv1.NewMailServiceClient(w.Public), guestv1.NewStayServiceClient(w.Public)
	link := w.book("B-1", "1001", "R101")
	g := w.bind(link)
	found, err := guestv1.NewLinkServiceClient(w.Public).GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link})
	w.must(err)
	if !found.GetData().GetSendsNoMail() {
		t.Error("the link's page offers a new link")
	}
	g.prepare()
	_, err = g.api().CompleteCheckIn(g.as, &guestv1.CompleteCheckInRequest{})
	w.must(err)
	g.awaits("checkedIn")
	g.awaitsCode()
	read, err := stays.GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	if s := read.GetData(); !s.GetSendsNoMail() || s.GetMaskedEmail() != "" || s.GetNeedsMailAddress() || s.GetCodeMail().GetState() != "held" {
		t.Errorf("the guest reads that mails go to %q, an address is needed: %t, and the mail with the code is %v", s.GetMaskedEmail(), s.GetNeedsMailAddress(), s.GetCodeMail())
	}
	w.Await("the mails are in the mailbox", func(ctx context.Context) (bool, error) {
		settings, err := mails.GetMailSettings(w.Staff(ctx), &propertyv1.GetMailSettingsRequest{})
		return settings.GetData().GetUnsent() >= 1, err
	})
	notices, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(t.Context()), &propertyv1.ListNoticesRequest{})
	w.must(err)
	var noticed int
	for _, n := range notices.GetData().GetList() {
		if n.GetKind() == "mailsNotSent" {
			noticed++
		}
	}
	if noticed != 1 {
		t.Errorf("%d notices say that mails are not sent", noticed)
	}
	host, from := "smtp.example.com", "desk@example.com"
	_, err = mails.UpdateMailSettings(w.Staff(t.Context()), &propertyv1.UpdateMailSettingsRequest{Settings: &propertyv1.MailSettingsChange{Host: &host, FromAddress: &from}})
	w.must(err)
	read, err = stays.GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	if read.GetData().GetSendsNoMail() {
		t.Error("with a mail server, the guest reads that no mail is sent")
	}
}
