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

// mailRow is one mail in the list of the mailbox.
type mailRow struct {
	ID, Kind, To, For, At string
	Chip                  *note
}

var mailKinds = map[string]string{
	"invitation": "Invitation", "reminder": "Reminder", "roomReady": "Your room is ready", "key": "Your key", "keyChanged": "Your key has changed",
	"departure": "A question before departure", "companion": "Link for a companion", "link": "New link", "message": "Message not read",
	"erasure": "Data will be erased", "profile": "What is kept for the next stay", "join": "Invitation to staff", "notices": "Notices to staff",
	"staff": "Message to staff",
}

// mailsShown is how many of the latest mails the page and the demo read.
const mailsShown = 50

// mails returns the latest mails of the property for the page, newest first, without canceled ones. It reads the latest mailsShown.
func (p *play) mails(ctx context.Context) ([]mailRow, error) {
	client := propertyv1.NewMailServiceClient(p.w.public)
	found, err := client.ListMails(p.w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: mailsShown})
	if err != nil {
		return nil, err
	}
	var out []mailRow
	for _, m := range found.GetData().GetList() {
		row, shown := mailRowOf(m)
		if !shown {
			continue
		}
		row.At = p.timeOfDay(m.GetCreatedAt().AsTime())
		if m.GetState() == "mailbox" {
			if row.To, err = p.recipient(ctx, client, m.GetId()); err != nil {
				return nil, err
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// mailRowOf returns the line of a mail on the page. shown is false for a canceled mail, which is never sent.
func mailRowOf(m *propertyv1.Mail) (row mailRow, shown bool) {
	row = mailRow{ID: m.GetId(), Kind: cmp.Or(mailKinds[m.GetKind()], m.GetKind()), To: cmp.Or(m.GetMaskedTo(), "a guest without an address")}
	switch m.GetState() {
	case "canceled":
		return row, false
	case "waiting":
		row.Chip = &note{"", "waiting"}
	case "failed", "bounced":
		row.Chip = &note{"bad", m.GetState()}
	}
	return row, true
}

// recipient returns the address of a mail in the mailbox. It caches the address, so that each mail is read once.
func (p *play) recipient(ctx context.Context, client propertyv1.MailServiceClient, id string) (string, error) {
	p.mu.Lock()
	to, known := p.recipients[id]
	p.mu.Unlock()
	if known {
		return to, nil
	}
	m, err := client.GetMail(p.w.Staff(ctx), &propertyv1.GetMailRequest{Id: id})
	if err != nil {
		return "", err
	}
	to = cmp.Or(m.GetText().GetTo(), m.GetData().GetMaskedTo())
	p.mu.Lock()
	p.recipients[id] = to
	p.mu.Unlock()
	return to, nil
}

// MailboxURL returns the address that lists the mails as JSON (see listMails), or "" if the World has no play page.
func (w *World) MailboxURL() string {
	if w.play == nil {
		return ""
	}
	return w.PlayURL() + "mail"
}

// listMails handles GET /mail: the mails that the page shows as JSON, newest first, also those that wait or failed, for programs that play
// a guest.
func (p *play) listMails(rw http.ResponseWriter, r *http.Request) {
	rows, err := p.mails(r.Context())
	if err != nil {
		writeJSON(rw, http.StatusBadGateway, errorBody("mailboxUnreadable", status.Convert(err).Message()))
		return
	}
	mails := []map[string]any{}
	for _, row := range rows {
		m := p.readMail(rw, r, row.ID)
		if m == nil {
			return
		}
		links := []string{}
		for _, l := range p.w.serviceLinks(m.GetText().GetText()) {
			links = append(links, l.URL)
		}
		mails = append(mails, map[string]any{
			"id": row.ID, "kind": m.GetData().GetKind(), "to": m.GetText().GetTo(), "subject": m.GetText().GetSubject(),
			"text": m.GetText().GetText(), "links": links,
		})
	}
	writeJSON(rw, http.StatusOK, map[string]any{"mails": mails})
}

// mailView is what the page of one mail shows.
type mailView struct {
	ID, Subject, To, At, Text string
	HTML                      bool
	Links                     []mailLink
}

// mailLink is a link of a mail to a page of the service.
type mailLink struct{ URL, Text string }

// readMail returns a mail of the property, or nil. If it returns nil, it has answered the request with the error.
func (p *play) readMail(rw http.ResponseWriter, r *http.Request, id string) *propertyv1.GetMailResponse {
	m, err := propertyv1.NewMailServiceClient(p.w.public).GetMail(p.w.Staff(r.Context()), &propertyv1.GetMailRequest{Id: id})
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

// showMail handles GET /mail/{id}, the page of one mail.
func (p *play) showMail(rw http.ResponseWriter, r *http.Request) {
	m := p.readMail(rw, r, r.PathValue("id"))
	if m == nil {
		return
	}
	t := m.GetText()
	v := &mailView{
		ID: m.GetData().GetId(), Subject: cmp.Or(t.GetSubject(), "This mail has no text"), To: cmp.Or(t.GetTo(), m.GetData().GetMaskedTo()),
		At: p.timeOfDay(m.GetData().GetCreatedAt().AsTime()), Text: t.GetText(), HTML: t.GetHtml() != "", Links: p.w.serviceLinks(t.GetText()),
	}
	p.render(rw, pageView{Title: v.Subject, Mail: v})
}

// serviceLinks returns the links in the text of a mail that lead to pages of the service.
func (w *World) serviceLinks(text string) (out []mailLink) {
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

// showMailHTML handles GET /mail/{id}/html, the HTML of a mail inside the frame of its page. Links open in a new tab.
func (p *play) showMailHTML(rw http.ResponseWriter, r *http.Request) {
	m := p.readMail(rw, r, r.PathValue("id"))
	if m == nil {
		return
	}
	rw.Header().Set("Content-Security-Policy", mailPolicy)
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = rw.Write([]byte(strings.Replace(m.GetText().GetHtml(), "<head>", `<head><base target="_blank">`, 1)))
}
