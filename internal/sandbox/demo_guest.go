package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Alan checks in alone: his reservation, its number and his names.
const (
	alan       = "B-1003"
	alanNumber = "1003"
	alanFirst  = "Alan"
	alanLast   = "Turing"
	alanRoom   = "Room 103"
)

// alanAnswers are Alan's answers by the id of the field: in the form, and on the page where he chooses what to share with the PMS.
var alanAnswers = map[string]string{
	"f-firstName": alanFirst, "f-lastName": alanLast, "f-nationality": "GB", "f-sex": "M", "f-email": mailAddress(alanLast), "f-mobile": "+44 20 7946 0103",
	"s-identity": "yes", "s-contact": "yes",
}

// guestSteps are the steps of Alan, who checks in by himself.
func (s *demo) guestSteps() []Step {
	return []Step{
		{"Alan books Room 103 and gets a mail with a link", s.awaitInvitation},
		{"Alan fills in the form on his phone", s.fillForm},
		{"He invites Joan, who shares the room. She fills in her own form", s.inviteCompanion},
		{"Alan lets the PMS read who he is and how to reach him", s.share},
		{"Alan checks in at the kiosk. He has not paid yet", s.stopAtKiosk},
		{"Alan pays. The PMS checks him in, and the kiosk shows his PIN", s.finishAtKiosk},
		{"The PIN opens the doors", s.openAlansDoors},
	}
}

// awaitInvitation runs a demo step and returns its report lines: the PMS pushes Alan's booking, and a mail with a link arrives in the
// mailbox.
func (s *demo) awaitInvitation(ctx context.Context) ([]string, error) {
	booking := newBooking(alanNumber, alanLast, 1, map[string]any{"roomId": "R103", "adultCount": 2, "owing": demoOwing, "owingCurrency": "EUR"})
	if _, err := s.pushOK(ctx, alan, booking); err != nil {
		return nil, err
	}
	text, err := s.awaitMail(ctx, "the invitation is in the mailbox", func(t *propertyv1.MailText) bool {
		return strings.HasPrefix(t.GetTo(), mailAddress(alanLast)) && s.linkIn(t.GetText()) != ""
	})
	if err != nil {
		return nil, err
	}
	s.link = s.linkIn(text.GetText())
	return []string{fmt.Sprintf("to %s: %q", text.GetTo(), text.GetSubject())}, nil
}

// linkIn returns the link to a stay in the text of a mail, or "".
func (s *demo) linkIn(text string) string {
	for _, l := range s.serviceLinks(text) {
		if strings.Contains(l.URL, "/g/l/") {
			return l.URL
		}
	}
	return ""
}

// awaitMail waits until one of the latest mails in the mailbox (mailsShown) is one for which fits returns true, and returns its text. If it
// does not come, the error is "waiting until" and the text in what.
func (s *demo) awaitMail(ctx context.Context, what string, fits func(*propertyv1.MailText) bool) (text *propertyv1.MailText, err error) {
	mails := propertyv1.NewMailServiceClient(s.public)
	err = s.Await(ctx, what, func(ctx context.Context) (bool, error) {
		found, err := mails.ListMails(s.Staff(ctx), &propertyv1.ListMailsRequest{State: "mailbox", PageSize: mailsShown})
		if err != nil {
			return false, err
		}
		for _, m := range found.GetData().GetList() {
			one, err := mails.GetMail(s.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
			if err != nil {
				return false, err
			}
			if text = one.GetText(); fits(text) {
				return true, nil
			}
		}
		return false, nil
	})
	return text, err
}

// fillForm runs a demo step and returns its report lines: Alan opens the link and answers the questions.
func (s *demo) fillForm(ctx context.Context) (_ []string, err error) {
	if s.phone, err = openLink(ctx, s.link); err != nil {
		return nil, err
	}
	s.home = s.phone.at.Path
	asked, err := s.phone.fill(ctx, alanAnswers)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(s.phone.text(), alanFirst) {
		return nil, fmt.Errorf("the page %q does not show the answers", s.phone.heading())
	}
	return []string{"asked: " + strings.Join(asked, " ")}, nil
}

// share runs a demo step and returns its report lines: Alan allows the PMS to read each group of his data that the page offers.
func (s *demo) share(ctx context.Context) ([]string, error) {
	if err := s.phone.open(ctx, s.home+"/form/share"); err != nil {
		return nil, err
	}
	answers := s.phone.askedFor(alanAnswers)
	if len(answers) != len(DemoGroups) {
		return nil, fmt.Errorf("the page %q offers %d groups, not %d", s.phone.heading(), len(answers), len(DemoGroups))
	}
	if err := s.phone.submit(ctx, answers); err != nil {
		return nil, err
	}
	return []string{"from his check-in until his check-out, and nothing else"}, nil
}

// stopAtKiosk runs a demo step and returns its report lines: Alan finds his reservation on a newly enrolled tablet and checks in, until the
// page demands the unpaid amount.
func (s *demo) stopAtKiosk(ctx context.Context) ([]string, error) {
	tablet, err := newBrowser()
	if err != nil {
		return nil, err
	}
	s.tablet = tablet
	k, err := propertyv1.NewKioskServiceClient(s.public).CreateKiosk(s.Staff(ctx), &propertyv1.CreateKioskRequest{Name: "Alan's kiosk"})
	if err != nil {
		return nil, err
	}
	s.kioskID = k.GetData().GetId()
	tablet.at = &url.URL{Scheme: "http", Host: s.Server.HTTPAddr()}
	if err := tablet.open(ctx, "/k/enrol"); err != nil {
		return nil, err
	}
	if err := tablet.submit(ctx, map[string]string{"f-code": k.GetCode()}); err != nil {
		return nil, err
	}
	if err := tablet.open(ctx, "/k/find"); err != nil {
		return nil, err
	}
	if err := tablet.submit(ctx, map[string]string{"f-number": alanNumber, "f-name": alanLast}); err != nil {
		return nil, err
	}
	if err := s.advance(ctx, "/k/stop"); err != nil {
		return nil, err
	}
	owed := fmt.Sprintf("%.2f", demoOwing)
	if !strings.Contains(tablet.text(), owed) {
		return nil, fmt.Errorf("the kiosk stops with %q and does not name the open amount %s", tablet.heading(), owed)
	}
	if n := s.PMS.CheckInCount(alan); n != 0 {
		return nil, fmt.Errorf("the PMS checked the guest in %d times before the stay was paid", n)
	}
	return []string{"found by booking number and family name", "the kiosk reads: an open amount of " + owed + " EUR"}, nil
}

// advance presses the next step's button on the tablet until the page with this path is open, at most 21 times. It waits while the service
// asks the PMS, and fails after awaitTimeout.
func (s *demo) advance(ctx context.Context, page string) error {
	pressed := []string{}
	return s.Await(ctx, "the kiosk shows "+page, func(ctx context.Context) (bool, error) {
		path := s.tablet.at.Path
		switch {
		case path == page:
			return true, nil
		case path == "/k/asking":
			return false, s.tablet.open(ctx, path)
		case len(pressed) > 20:
			return false, fmt.Errorf("the kiosk shows %s (%s) after %v", path, s.tablet.heading(), pressed)
		}
		do, err := s.tablet.press(ctx)
		pressed = append(pressed, do)
		if err == nil && s.tablet.at.Path == page {
			return true, nil
		}
		return false, err
	})
}

// pinPattern finds the PIN on a page, in the label that screen readers read out digit by digit.
var pinPattern = regexp.MustCompile(`class="pin"[^>]*aria-label="([^"]*)"`)

// pinOn returns the PIN that a page shows, or "". page is its HTML.
func pinOn(page string) string {
	m := pinPattern.FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, m[1])
}

// finishAtKiosk runs a demo step and returns its report lines: the PMS records the payment, and the tablet then finishes the check-in and
// shows the PIN.
func (s *demo) finishAtKiosk(ctx context.Context) ([]string, error) {
	switch a, err := s.PMS.SetOwing(ctx, alan, 0); {
	case err != nil:
		return nil, err
	case a.Status != http.StatusOK:
		return nil, fmt.Errorf("the service refused the payment: %d %v", a.Status, a.Body["error"])
	}
	if _, err := s.tablet.press(ctx); err != nil { // the button "Try again"
		return nil, err
	}
	if err := s.advance(ctx, "/k/code"); err != nil {
		return nil, err
	}
	err := s.Await(ctx, "the kiosk shows the PIN", func(ctx context.Context) (bool, error) {
		if s.pins[alan] = pinOn(s.tablet.page); s.pins[alan] != "" {
			return true, nil
		}
		return false, s.tablet.open(ctx, "/k/code")
	})
	if err != nil {
		return nil, err
	}
	if n := s.PMS.CheckInCount(alan); n != 1 {
		return nil, fmt.Errorf("the PMS checked the guest in %d times, not once", n)
	}
	if shared := s.PMS.SharedGuest(alan); stringIn(shared, "lastName") != alanLast || stringIn(shared, "mobile") == "" {
		return nil, fmt.Errorf("the PMS did not get the name and the phone number that the guest shares: %d fields", len(shared))
	}
	if err := s.phone.open(ctx, s.home+"/key"); err != nil {
		return nil, err
	}
	if pin := pinOn(s.phone.page); pin != s.pins[alan] {
		return nil, fmt.Errorf("the phone's page (%s) does not show the PIN of the kiosk", s.phone.heading())
	}
	text, err := s.awaitMail(ctx, "the mail with the PIN is in the mailbox", func(t *propertyv1.MailText) bool {
		return strings.Contains(strings.Join(strings.Fields(t.GetText()), ""), s.pins[alan]) // the mail writes the digits in groups
	})
	if err != nil {
		return nil, err
	}
	return []string{
		"the PMS was asked again, then called once to check Alan in, and sent started", "the call had his name, citizenship, e-mail address and phone number",
		"the kiosk and the phone show the same PIN", fmt.Sprintf("and so does a mail: %q", text.GetSubject()),
	}, nil
}

// openAlansDoors runs a demo step and returns its report lines: Alan's PIN must open his doors and no other. It also deletes the kiosk.
func (s *demo) openAlansDoors(ctx context.Context) ([]string, error) {
	if _, err := propertyv1.NewKioskServiceClient(s.public).DeleteKiosk(s.Staff(ctx), &propertyv1.DeleteKioskRequest{Id: s.kioskID}); err != nil {
		return nil, err
	}
	if _, err := s.awaitPlan(ctx, alan, "issued", "verified"); err != nil {
		return nil, err
	}
	return s.typeAll(ctx, attempt{alanFirst, alan, FrontDoor, true}, attempt{alanFirst, alan, alanRoom, true}, attempt{alanFirst, alan, "Room 101", false})
}
