package sandbox

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// boardView is the whole page.
type boardView struct {
	Property, HTTP, PMS           string
	Bookings                      []bookingView
	Places                        []option
	Mails                         []mailRow
	Doors                         []doorView
	Keys                          []option
	Door, KioskCode               string
	DeskNote, MailNote, KioskNote note
}

func (p *play) showBoard(rw http.ResponseWriter, r *http.Request) {
	bookings := p.w.PMS.Bookings()
	b := &boardView{
		Property: demoProperty, HTTP: "http://" + p.w.Server.HTTPAddr(), PMS: p.w.PMSURL(), Places: places(""), Doors: p.viewDoors(), Keys: keypadKeys,
	}
	b.Door, b.KioskCode = p.w.kiosk()
	p.mu.Lock()
	b.DeskNote, b.MailNote, b.KioskNote = p.notes["desk"], p.notes["mailbox"], p.notes["kiosk"]
	opened := p.opened
	p.mu.Unlock()
	slices.SortStableFunc(bookings, func(x, y Booking) int { return cmp.Compare(rank(x), rank(y)) })
	for _, one := range bookings {
		b.Bookings = append(b.Bookings, viewBooking(one, one.ID == opened))
	}
	mails, err := p.mails(r.Context())
	if err != nil {
		b.MailNote = note{"bad", "The mails could not be read: " + status.Convert(err).Message()}
	}
	b.Mails = mails
	p.render(rw, pageView{Title: demoProperty + ": a place to play", Board: b})
}

// rank orders reservations: those that a person can still play with come first.
func rank(b Booking) int {
	return max(0, slices.Index([]string{"confirmed", "started", "processed", "canceled"}, b.Text("state")))
}

// mailRow is one mail of the mailbox.
type mailRow struct {
	ID, Kind, To, For, At string
	Chip                  *note
}

var mailKinds = map[string]string{
	"invitation": "Invitation", "reminder": "Reminder", "roomReady": "Your room is ready", "key": "Your key", "keyChanged": "Your key has changed",
	"companion": "Link for a companion", "link": "New link", "staff": "Message to staff",
}

const mailsShown = 50

func (p *play) mails(ctx context.Context) ([]mailRow, error) {
	found, err := propertyv1.NewMailServiceClient(p.w.public).ListMails(p.w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: mailsShown})
	if err != nil {
		return nil, err
	}
	var out []mailRow
	for _, m := range found.GetData().GetList() {
		row := mailRow{ID: m.GetId(), Kind: cmp.Or(mailKinds[m.GetKind()], m.GetKind()), To: m.GetMaskedTo(), At: p.clock(m.GetCreatedAt().AsTime())}
		switch m.GetState() {
		case "waiting":
			row.Chip = &note{"", "waiting"}
		case "failed", "bounced":
			row.Chip = &note{"bad", m.GetState()}
		}
		out = append(out, row)
	}
	return out, nil
}

// mailView is one mail.
type mailView struct {
	ID, Subject, To, At, Text string
	HTML                      bool
	Links                     []mailLink
}

// mailLink is a link of a mail to a page of the service.
type mailLink struct{ URL, Text string }

// readMail returns a mail of the mailbox. It answers the request if there is none.
func (p *play) readMail(rw http.ResponseWriter, r *http.Request) *propertyv1.GetMailResponse {
	m, err := propertyv1.NewMailServiceClient(p.w.public).GetMail(p.w.Staff(r.Context()), &propertyv1.GetMailRequest{Id: r.PathValue("id")})
	switch code := status.Code(err); {
	case code == codes.NotFound, code == codes.InvalidArgument:
		http.NotFound(rw, r)
		return nil
	case err != nil:
		http.Error(rw, "The mail could not be read: "+status.Convert(err).Message(), http.StatusBadGateway)
		return nil
	}
	return m
}

var urlPattern = regexp.MustCompile(`https?://[^\s<>"')]+`)

func (p *play) showMail(rw http.ResponseWriter, r *http.Request) {
	m := p.readMail(rw, r)
	if m == nil {
		return
	}
	t := m.GetText()
	v := &mailView{
		ID: m.GetData().GetId(), Subject: cmp.Or(t.GetSubject(), "This mail has no text"), To: cmp.Or(t.GetTo(), m.GetData().GetMaskedTo()),
		At: p.clock(m.GetData().GetCreatedAt().AsTime()), Text: t.GetText(), HTML: t.GetHtml() != "", Links: p.w.guestLinks(t.GetText()),
	}
	p.render(rw, pageView{Title: v.Subject, Mail: v})
}

// guestLinks returns the links to pages of the service in the text of a mail.
func (w *World) guestLinks(text string) (out []mailLink) {
	for _, u := range urlPattern.FindAllString(text, -1) {
		u = strings.TrimRight(u, ".,;")
		if path, ok := strings.CutPrefix(u, "http://"+w.Server.HTTPAddr()+"/"); ok && !slices.ContainsFunc(out, func(l mailLink) bool { return l.URL == u }) {
			text := "Open the link"
			if strings.HasPrefix(path, "g/l/") {
				text = "Open the link as the guest"
			}
			out = append(out, mailLink{u, text})
		}
	}
	return out
}

// mailPolicy lets the HTML of a mail show its own style and images in data URLs, and open links in a new tab.
const mailPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

// showMailHTML shows the HTML of a mail inside the frame of its page. Links open in a new tab.
func (p *play) showMailHTML(rw http.ResponseWriter, r *http.Request) {
	m := p.readMail(rw, r)
	if m == nil {
		return
	}
	rw.Header().Set("Content-Security-Policy", mailPolicy)
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = rw.Write([]byte(strings.Replace(m.GetText().GetHtml(), "<head>", `<head><base target="_blank">`, 1)))
}
