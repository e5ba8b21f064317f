package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/smartkey"
)

// Joan shares Alan's room.
const joanFirst, joanLast = "Joan", "Clarke"

// joanAnswers are Joan's answers by the id of the field.
var joanAnswers = map[string]string{
	"f-firstName": joanFirst, "f-lastName": joanLast, "f-nationality": "GB", "f-sex": "F", "f-kinship": "notFamily", "f-email": mailAddress(joanLast), "f-mobile": "+44 20 7946 0104",
}

// staySteps are the steps of Alan and Joan during their stay and after it.
func (s *demo) staySteps() []Step {
	return []Step{
		{"Alan's phone gets a SmartKey and opens his room", s.openBySmartKey},
		{"Joan, who shares the room, sees the code on her own phone", s.readCodeAsCompanion},
		{"Alan writes to the hostel, and the desk answers", s.writeMessages},
		{"The PMS reads what Alan shares, and Alan sees that it did", s.readLedger},
		{"Alan checks out and has his data erased", s.eraseData},
	}
}

// openLink opens a link of a mail with a new browser and presses the page's button, which registers the phone.
func openLink(ctx context.Context, link string) (*browser, error) {
	phone, err := newBrowser()
	if err != nil {
		return nil, err
	}
	if err := phone.open(ctx, link); err != nil {
		return nil, err
	}
	return phone, phone.submit(ctx, nil)
}

// inviteCompanion runs a demo step and returns its report lines: Alan makes the service mail a link to Joan, and she fills in her form.
func (s *demo) inviteCompanion(ctx context.Context) ([]string, error) {
	if err := s.phone.open(ctx, s.home+"/people"); err != nil {
		return nil, err
	}
	field := s.phone.field("email-")
	if field == "" {
		return nil, fmt.Errorf("the page %q has no field for the address of a companion", s.phone.heading())
	}
	if err := s.phone.submit(ctx, map[string]string{field: mailAddress(joanLast)}); err != nil {
		return nil, err
	}
	text, err := s.awaitMail(ctx, "Joan's link is in the mailbox", func(t *propertyv1.MailText) bool {
		return strings.HasPrefix(t.GetTo(), mailAddress(joanLast)) && s.linkIn(t.GetText()) != ""
	})
	if err != nil {
		return nil, err
	}
	if s.joan, err = openLink(ctx, s.linkIn(text.GetText())); err != nil {
		return nil, err
	}
	asked, err := s.joan.fill(ctx, joanAnswers)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("to %s: %q", text.GetTo(), text.GetSubject()), "asked: " + strings.Join(asked, " ")}, nil
}

// openBySmartKey runs a demo step and returns its report lines: a phone gets a SmartKey by a link on the guest's page, and opens the door
// with it through the server.
func (s *demo) openBySmartKey(ctx context.Context) ([]string, error) {
	link, err := s.smartKeyLink(ctx)
	if err != nil {
		return nil, err
	}
	keys := guestv1.NewSmartKeyServiceClient(s.public)
	phone, err := smartkey.NewPhone(rand.Reader)
	if err != nil {
		return nil, err
	}
	asked, err := keys.GetEnrolment(ctx, &guestv1.GetEnrolmentRequest{Link: link})
	if err != nil {
		return nil, err
	}
	proof, err := phone.SignPossession(smartkey.PossessionSpec{Property: asked.GetPropertyId(), Purpose: smartkey.Enrol, Challenge: asked.GetChallenge()}, time.Now())
	if err != nil {
		return nil, err
	}
	enrolled, err := keys.Enrol(ctx, &guestv1.EnrolRequest{Link: link, Possession: proof, Name: alanFirst + "'s phone"})
	if err != nil {
		return nil, err
	}
	phone.SetToken(enrolled.GetKey().GetToken())
	for _, d := range enrolled.GetKey().GetDoors() {
		if d.GetName() == alanRoom {
			return s.present(ctx, keys, phone, smartkey.Door(d.GetDoor()))
		}
	}
	return nil, fmt.Errorf("the SmartKey does not open %s", alanRoom)
}

// smartKeyLink requests the link that adds a SmartKey to a phone, as the script of the page with the PIN does.
func (s *demo) smartKeyLink(ctx context.Context) (string, error) {
	if err := s.phone.open(ctx, s.home+"/key"); err != nil {
		return "", err
	}
	u := *s.phone.at
	u.Path = s.home + "/key/link"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return "", err
	}
	a, err := s.phone.client.Do(r)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	var made struct{ Link string }
	err = json.NewDecoder(io.LimitReader(a.Body, maxPage)).Decode(&made)
	if a.StatusCode != http.StatusCreated || err != nil || made.Link == "" {
		return "", errors.Join(fmt.Errorf("the page makes no link for a SmartKey: it answers %d", a.StatusCode), err)
	}
	return made.Link, nil
}

// present opens a door with the phone's SmartKey through the service, and returns the lines that describe the outcome. keys is the
// service's API for phones. It fails unless the door opens.
func (s *demo) present(ctx context.Context, keys guestv1.SmartKeyServiceClient, phone *smartkey.Phone, door smartkey.Door) ([]string, error) {
	var greeting smartkey.Greeting
	err := s.Await(ctx, "the bridge greets the phone", func(ctx context.Context) (bool, error) {
		g, err := keys.Greet(ctx, &guestv1.GreetRequest{Token: phone.Token(), Door: door[:]})
		if err != nil {
			return false, err
		}
		greeting, err = smartkey.DecodeGreeting(g.GetGreeting())
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	presentation, err := phone.Present(greeting, door, smartkey.Unlock, time.Now())
	if err != nil {
		return nil, err
	}
	raw, err := presentation.Encode()
	if err != nil {
		return nil, err
	}
	answer, err := keys.Present(ctx, &guestv1.PresentRequest{Presentation: raw})
	if err != nil {
		return nil, err
	}
	if answer.GetResult() != "opened" {
		return nil, fmt.Errorf("the door answers %q (%s)", answer.GetResult(), answer.GetReason())
	}
	return []string{"the phone made a key that never leaves it, and got a signed token", "the bridge verified both, and the lock opened"}, nil
}

// readCodeAsCompanion runs a demo step and returns its report lines: Joan's page must show the same PIN as Alan's.
func (s *demo) readCodeAsCompanion(ctx context.Context) ([]string, error) {
	if err := s.joan.open(ctx, s.home+"/key"); err != nil {
		return nil, err
	}
	if pin := pinOn(s.joan.page); pin != s.pins[alan] {
		return nil, fmt.Errorf("the companion's page (%s) does not show the room's code", s.joan.heading())
	}
	return []string{"the room has one code, and each guest a link of their own", "neither sees the other's answers"}, nil
}

// writeMessages runs a demo step and returns its report lines: a message from the guest's page arrives, staff answers, and the page shows
// the answer.
func (s *demo) writeMessages(ctx context.Context) ([]string, error) {
	const question, reply = "Is there a bus to the old town?", "Yes, number 28, from the corner of our street."
	if err := s.phone.open(ctx, s.home+"/messages"); err != nil {
		return nil, err
	}
	if err := s.phone.submit(ctx, map[string]string{"f-text": question}); err != nil {
		return nil, err
	}
	desk := propertyv1.NewMessageServiceClient(s.public)
	open, err := desk.ListConversations(s.Staff(ctx), &propertyv1.ListConversationsRequest{UnreadOnly: true})
	if err != nil {
		return nil, err
	}
	list := open.GetData().GetList()
	if len(list) != 1 || list[0].GetLast().GetText() != question {
		return nil, fmt.Errorf("the desk has %d unread conversations, not Alan's", len(list))
	}
	if _, err := desk.SendMessage(s.Staff(ctx), &propertyv1.SendMessageRequest{GuestId: list[0].GetGuestId(), Text: reply}); err != nil {
		return nil, err
	}
	if err := s.phone.open(ctx, s.home+"/messages"); err != nil {
		return nil, err
	}
	if !strings.Contains(s.phone.text(), reply) {
		return nil, fmt.Errorf("the page %q does not show the answer", s.phone.heading())
	}
	return []string{"Alan: " + question, "the desk: " + reply}, nil
}

// readLedger runs a demo step and returns its report lines: the PMS reads the guest's data, and the guest's page lists this read.
func (s *demo) readLedger(ctx context.Context) ([]string, error) {
	found, err := s.callOK(ctx, http.MethodGet, "/v1/reservations/find?pmsId="+alan+"&extend=guests", nil)
	if err != nil {
		return nil, err
	}
	customer, _ := found.Data()["mainCustomer"].(map[string]any)
	if stringIn(customer, "lastName") != alanLast || stringIn(customer, "mobile") == "" {
		return nil, fmt.Errorf("the PMS reads %d fields of Alan's", len(customer))
	}
	if err := s.phone.open(ctx, s.home+"/ledger"); err != nil {
		return nil, err
	}
	if text := s.phone.text(); !strings.Contains(text, pmsName) {
		return nil, fmt.Errorf("the page %q does not name who read the data", s.phone.heading())
	}
	return []string{"only the groups that the hostel needs and Alan shares, and only while he stays", "each read is a line on his page"}, nil
}

// eraseData runs a demo step and returns its report lines: the guest checks out and requests the erasure of the data. The receipt on the
// phone shows when it is done.
func (s *demo) eraseData(ctx context.Context) ([]string, error) {
	if _, err := s.pushOK(ctx, alan, map[string]any{"state": "processed"}); err != nil {
		return nil, err
	}
	if err := s.phone.open(ctx, s.home+"/data"); err != nil {
		return nil, err
	}
	if err := s.phone.choose(ctx, "erase", map[string]string{"f-sure": "yes"}); err != nil {
		return nil, err
	}
	receipt := s.phone.at.Path
	privacy := propertyv1.NewPrivacyServiceClient(s.public)
	err := s.Await(ctx, "the data are erased", func(ctx context.Context) (bool, error) {
		pending, err := privacy.ListErasures(s.Staff(ctx), &propertyv1.ListErasuresRequest{PendingOnly: true})
		return err == nil && len(pending.GetData().GetList()) == 0, err
	})
	if err != nil {
		return nil, err
	}
	if err := s.phone.open(ctx, receipt); err != nil {
		return nil, err
	}
	if strings.Contains(s.phone.text(), alanLast) {
		return nil, fmt.Errorf("the receipt (%s) names the guest", s.phone.heading())
	}
	done := s.phone.heading()
	found, err := s.callOK(ctx, http.MethodGet, "/v1/reservations/find?pmsId="+alan, nil)
	if err != nil {
		return nil, err
	}
	booker, _ := found.Data()["booker"].(map[string]any)
	if stringIn(booker, "lastName") != "" {
		return nil, errors.New("the reservation still names the booker")
	}
	return []string{"his page reads: " + done, "answers, messages, mails and links are gone; what the PMS sends again is not stored"}, nil
}
