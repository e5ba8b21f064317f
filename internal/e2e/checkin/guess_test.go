package checkin

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

var anyLink = regexp.MustCompile(`https?://[^\s"'<>)]+`)

// mailedLinks returns every address in the text and the HTML of a mail.
func (w *world) mailedLinks(email string) (links []string) {
	w.t.Helper()
	mails := propertyv1.NewMailServiceClient(w.Public)
	listed, err := mails.ListMails(w.Staff(w.t.Context()), &propertyv1.ListMailsRequest{PageSize: 200})
	w.must(err)
	for _, m := range listed.GetData().GetList() {
		read, err := mails.GetMail(w.Staff(w.t.Context()), &propertyv1.GetMailRequest{Id: m.GetId()})
		w.must(err)
		if read.GetText().GetTo() == email {
			links = append(links, anyLink.FindAllString(read.GetText().GetText()+"\n"+html.UnescapeString(read.GetText().GetHtml()), -1)...)
		}
	}
	return links
}

// A mail scanner opens every link of a mail, any number of times. The guest's device is bound
// afterwards all the same.
func TestMailScanner(t *testing.T) {
	w := open(t)
	link := w.book("B-1", "1001", "R101")
	api := guestv1.NewLinkServiceClient(w.Public)
	opened := 0
	for _, address := range w.mailedLinks("b-1@example.com") {
		parsed, err := url.Parse(address)
		w.must(err)
		for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodGet, http.MethodOptions} {
			req, err := http.NewRequestWithContext(t.Context(), method, w.Base+parsed.RequestURI(), nil)
			w.must(err)
			res, err := w.HTTP.Do(req) // follows redirects
			w.must(err)
			page, err := io.ReadAll(res.Body)
			w.must(err)
			w.must(res.Body.Close())
			if strings.Contains(parsed.Path, link) && method == http.MethodGet {
				opened++
				if res.StatusCode != http.StatusOK || !strings.Contains(string(page), "<form") || len(res.Cookies()) > 0 {
					t.Errorf("the scanner reads %s and the cookies %v", res.Status, res.Cookies())
				}
			}
		}
	}
	if opened < 4 {
		t.Errorf("the scanner opened the link %d times: it is not in the text and the HTML of the mail", opened)
	}
	for range 20 {
		got, err := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link})
		if err != nil || got.GetData().GetBound() || got.GetData().GetInitial() != "A" {
			t.Fatalf("the scanner reads %v, %v", got, err)
		}
	}
	w.bind(link)
	got, err := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link})
	if err != nil || !got.GetData().GetBound() {
		t.Errorf("a bound link reads %v, %v", got, err)
	}
}

// The copied cookie of a tablet finds no stay: another key does not sign, and a signed challenge works once.
func TestCopiedTabletCookie(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101")
	tablet, thief := e2etest.EnrolTablet(t, w.World, "Lobby 2"), e2etest.EnrolTablet(t, w.World, "Lobby 3")
	api := kioskv1.NewKioskServiceClient(w.Public)
	find := func(by *e2etest.Tablet, challenge string) error {
		signature, err := by.Sign(challenge)
		w.must(err)
		_, err = api.FindStay(tablet.As(t.Context()), &kioskv1.FindStayRequest{Number: "1001", FamilyName: "Lovelace", Challenge: challenge, Signature: signature})
		return err
	}
	start, err := api.GetKiosk(tablet.As(t.Context()), &kioskv1.GetKioskRequest{})
	w.must(err)
	challenge := start.GetData().GetChallenge()
	if err := find(thief, challenge); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the cookie with another key: %v", err)
	}
	w.must(find(tablet, challenge))
	if err := find(tablet, challenge); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a replay: %v", err)
	}
}

// A guesser at the QR code is limited, says the answer for how long, and neither the tablet nor another booking is.
func TestGuesserAtTheDoor(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101")
	w.book("B-2", "1002", "R102")
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	find := func(number, name string) error {
		_, err := guestv1.NewLinkServiceClient(w.Public).FindStay(t.Context(), &guestv1.FindStayRequest{Door: tablet.Door, Number: number, FamilyName: name})
		return err
	}
	unknown := find("9999", "Smith")
	for i := range 5 {
		wrong := find("1001", fmt.Sprintf("Smith%d", i))
		if status.Code(wrong) != codes.NotFound || status.Convert(wrong).Message() != status.Convert(unknown).Message() {
			t.Errorf("a wrong name answers %v, an unknown number %v", wrong, unknown)
		}
	}
	limited := find("1001", "Lovelace")
	if status.Code(limited) != codes.ResourceExhausted || !strings.Contains(status.Convert(limited).Message(), "try again in 15 minutes, or go to the desk") {
		t.Errorf("the right name after five guesses: %v", limited)
	}
	w.must(find("1002", "Lovelace"))
	if tablet.GuestSession(t, "1001", "Lovelace") == "" {
		t.Error("the tablet finds no stay")
	}
}

// A link that another device uses shows nothing of the stay. A new one goes to the guest's address only, and the first device stays bound.
func TestLinkOnASecondDevice(t *testing.T) {
	w := open(t)
	link := w.book("B-1", "1001", "R101")
	first := w.bind(link)
	api := guestv1.NewLinkServiceClient(w.Public)
	if _, err := api.BindLink(t.Context(), &guestv1.BindLinkRequest{Link: link}); status.Code(err) != codes.FailedPrecondition {
		t.Fatalf("a second device binds the link: %v", err)
	}
	shown, err := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link})
	w.must(err)
	if text := jsonOf(t, shown); strings.Contains(text, "1001") || strings.Contains(text, "Lovelace") || strings.Contains(text, "example.com") {
		t.Errorf("a bound link shows %s", text)
	}
	answer, err := api.RenewLink(t.Context(), &guestv1.RenewLinkRequest{Link: link})
	w.must(err)
	unknown, err := api.RenewLink(t.Context(), &guestv1.RenewLinkRequest{Link: "lkl_nothing"})
	w.must(err)
	if jsonOf(t, answer) != jsonOf(t, unknown) {
		t.Errorf("a known link is renewed with %s, an unknown one with %s", jsonOf(t, answer), jsonOf(t, unknown))
	}
	renewed := ""
	w.Await("the new link", func(context.Context) (bool, error) {
		for _, address := range w.mailedLinks("b-1@example.com") {
			if found := linkSecret.FindStringSubmatch(address); found != nil && found[1] != link {
				renewed = found[1]
			}
		}
		return renewed != "", nil
	})
	if _, err := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link}); status.Code(err) != codes.NotFound {
		t.Errorf("the replaced link: %v", err)
	}
	second := w.bind(renewed)
	first.fill()
	second.prepare()
	if first.stay != second.stay {
		t.Error("the devices see two stays")
	}
}
