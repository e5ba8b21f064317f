package saga

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// letter is a mail that the mail server took.
type letter struct{ id, to, text string }

// letters returns the mails that the mail server took, in order.
func (w *world) letters() (out []letter) {
	for _, raw := range w.mail.Received() {
		l, err := readLetter(raw)
		if err != nil {
			w.t.Errorf("a mail cannot be read: %v", err)
		}
		out = append(out, l)
	}
	return out
}

func readLetter(raw string) (letter, error) {
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		return letter{}, err
	}
	to, err := mail.ParseAddress(m.Header.Get("To"))
	if err != nil {
		return letter{}, err
	}
	l := letter{id: strings.Trim(m.Header.Get("Message-ID"), "<>"), to: to.Address}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return l, err
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return l, fmt.Errorf("the mail has no plain text: %w", err)
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/plain") {
			text, err := io.ReadAll(quotedprintable.NewReader(part))
			l.text = string(text)
			return l, err
		}
	}
}

// mailsTo returns the texts of the mails to an address, the newest first.
func (w *world) mailsTo(address string) (texts []string) {
	for _, l := range w.letters() {
		if l.to == address {
			texts = append([]string{l.text}, texts...)
		}
	}
	return texts
}

// mails lists the mails of the property as staff see them.
func (w *world) mails() (all []*propertyv1.Mail, err error) {
	for token := ""; ; {
		page, err := propertyv1.NewMailServiceClient(w.Public).ListMails(w.asStaff(), &propertyv1.ListMailsRequest{PageSize: 200, PageToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetData().GetList()...)
		if token = page.GetData().GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

// resendLost sends each mail with a link again that has failed and that the mail server did not take, as staff do who read the notice.
func (w *world) resendLost() error {
	mails, err := w.mails()
	if err != nil {
		return err
	}
	w.resending.Lock()
	defer w.resending.Unlock()
	for _, m := range mails {
		lost := m.GetState() == "failed" && m.GetKind() != "key" && !w.resent[m.GetId()] &&
			!slices.ContainsFunc(w.letters(), func(l letter) bool { return l.id == messageID(m) })
		if !lost {
			continue
		}
		if _, err := propertyv1.NewMailServiceClient(w.Public).ResendMail(w.asStaff(), &propertyv1.ResendMailRequest{Id: m.GetId()}); err != nil {
			return err
		}
		w.resent[m.GetId()] = true
	}
	return nil
}

func messageID(m *propertyv1.Mail) string { return m.GetId() + "@hotel.example" }

// notices lists the kinds of the property's notices about a subject.
func (w *world) notices(subject string) (kinds []string) {
	for token := ""; ; {
		page, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.asStaff(), &propertyv1.ListNoticesRequest{PageSize: 200, PageToken: token})
		w.must(err)
		for _, n := range page.GetData().GetList() {
			if n.GetSubject() == subject {
				kinds = append(kinds, n.GetKind())
			}
		}
		if token = page.GetData().GetNextPageToken(); token == "" {
			return kinds
		}
	}
}
