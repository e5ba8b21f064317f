package mail

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	netmail "net/mail"
	"net/textproto"
	"regexp"
	"strings"

	"latchkey.dev/internal/id"
)

// Bounce is the report of a mail server that it could not deliver a mail (RFC 3464).
type Bounce struct {
	MailID  string  // MailID is the mail that the report is about
	Failure Failure // Failure is [FailedRecipient] or [FailedReturned]
	Answer  string  // Answer is the status and the last mail server's text, shortened and without addresses
}

// Limits of what is read of a report, because anyone may send a mail that looks like one. A report has three parts (RFC 6522). Its status
// has a group of fields for the mail and one for each recipient.
const (
	maxReportParts  = 8
	maxStatusGroups = 16
)

// ReadBounce reads a received mail. ok is false if it does not report that a mail of this service was given up: it is something else, or
// reports a delay or a delivery. It does not check that the mail exists or that the report is genuine.
func ReadBounce(raw []byte) (b Bounce, ok bool) {
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return Bounce{}, false
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/report" || !strings.EqualFold(params["report-type"], "delivery-status") {
		return Bounce{}, false
	}
	// Some mail servers do not return the mail's header, but send a reply to it.
	b.MailID = mailIDIn(m.Header.Get("In-Reply-To") + " " + m.Header.Get("References"))
	failed := false
	parts := multipart.NewReader(m.Body, params["boundary"])
	for range maxReportParts {
		part, err := parts.NextPart()
		if err != nil { // the end, or the report is cut off
			break
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		switch kind {
		case "message/delivery-status", "message/global-delivery-status":
			failed = b.readStatus(decoded(part)) || failed
		case "message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers":
			header, _ := textproto.NewReader(bufio.NewReader(decoded(part))).ReadMIMEHeader() // of a header that is cut off, the complete fields count
			if messageID := header.Get("Message-Id"); messageID != "" {
				b.MailID = mailIDIn(messageID) // replaces the id from above, also by "": a mail of others can refer to one of this service
			}
		}
	}
	return b, failed && b.MailID != ""
}

// readStatus reads the delivery status and sets b.Failure and b.Answer. It reports whether the mail was given up for a recipient: a mail of
// this service has only one.
func (b *Bounce) readStatus(r io.Reader) bool {
	lines := textproto.NewReader(bufio.NewReader(r))
	for range maxStatusGroups {
		fields, err := lines.ReadMIMEHeader()
		if action := fieldText(fields.Get("Action")); strings.EqualFold(action, "failed") {
			status := fieldText(fields.Get("Status"))
			b.Failure = FailedReturned
			if badAddress.MatchString(status) {
				b.Failure = FailedRecipient
			}
			_, diagnostic, found := strings.Cut(fields.Get("Diagnostic-Code"), ";")
			if !found {
				diagnostic = fields.Get("Diagnostic-Code")
			}
			b.Answer = cleanAnswer(strings.TrimSpace(status + " " + strings.TrimSpace(diagnostic)))
			return true
		}
		if malformed := textproto.ProtocolError(""); err != nil && !errors.As(err, &malformed) {
			break
		}
	}
	return false
}

// badAddress matches the statuses that say that an address will not get mail later either: unknown, malformed, moved, closed, or at a
// domain without a mail server (RFC 3463, 3.2 and 3.3; RFC 7505).
var badAddress = regexp.MustCompile(`^5\.(1\.([1-3]|6|10)|2\.1)\b`)

// fieldText returns the value of a field without its comment, as in "failed (delivery time expired)".
func fieldText(s string) string {
	s, _, _ = strings.Cut(s, "(")
	return strings.TrimSpace(s)
}

// decoded returns the decoded content of a part. The multipart reader itself decodes quoted-printable.
func decoded(p *multipart.Part) io.Reader {
	if strings.EqualFold(p.Header.Get("Content-Transfer-Encoding"), "base64") {
		return base64.NewDecoder(base64.StdEncoding, p)
	}
	return p
}

var messageIDs = regexp.MustCompile(`<(` + id.Mail + `_[0-9a-z]+)@[^<>\s]+>`)

// mailIDIn returns the id of the first mail of this service that a list of Message-IDs names, or "".
func mailIDIn(messageID string) string {
	for _, m := range messageIDs.FindAllStringSubmatch(messageID, -1) {
		if id.Valid(id.Mail, m[1]) {
			return m[1]
		}
	}
	return ""
}

// MayBounce reports whether a mail may come back as undelivered: a mail server has taken it, or may have. If the address was erased, it
// returns false, because nothing more is stored about the mail.
func MayBounce(row *Row) bool {
	s := State(row.State)
	if len(row.Address) == 0 {
		return false
	}
	return s == Sent || s == Sending || s == Failed && Failure(row.Failure) == FailedUnanswered
}
