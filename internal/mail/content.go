package mail

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
)

// Content is the content of a mail, in the reader's language.
type Content struct {
	Property   string
	Language   string // a BCP 47 tag
	Direction  string // ltr or rtl
	Accent     string // #RRGGBB; empty: the default
	Subject    string
	Paragraphs []string
	Code       *Code // nil: the mail has no PIN
	Facts      []Fact
	Buttons    []Button
	Closing    []string // Closing are paragraphs after the buttons, such as the address of the property
}

// Fact is a line of a table: a label and its value.
type Fact struct{ Label, Value string }

// Button is a link that is shown as a button.
type Button struct{ Label, URL string }

// Code is a PIN with its heading.
type Code struct{ Label, Digits string }

// Grouped returns the digits in groups, separated by no-break spaces, so that the groups keep their order in right-to-left text.
func (c Code) Grouped() string { return strings.Join(text.Groups(c.Digits), "\u00a0") }

// Text is a rendered mail, as a recipient reads it.
type Text struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

//go:embed content.html
var contentHTML string

var contentTemplate = template.Must(template.New("content").Parse(contentHTML))

// Compose renders the content of a mail as plain text and as HTML. Each of the two is complete.
func Compose(to string, c Content) (Text, error) {
	out := Text{To: to, Subject: oneLine(c.Subject), Text: c.plain()}
	var b bytes.Buffer
	if c.Accent == "" {
		c.Accent = defaultAccent
	}
	if err := contentTemplate.Execute(&b, c); err != nil {
		return Text{}, fmt.Errorf("render a mail: %w", err)
	}
	out.HTML = b.String()
	return out, nil
}

// defaultAccent is the colour of links and buttons.
const defaultAccent = "#0B5D66"

// plain returns the content as plain text.
func (c Content) plain() string {
	var b strings.Builder
	part := func(lines ...string) {
		if len(lines) > 0 {
			b.WriteString(strings.Join(lines, "\n") + "\n\n")
		}
	}
	for _, p := range c.Paragraphs {
		part(p)
	}
	if c.Code != nil {
		part(c.Code.Label, "    "+c.Code.Grouped())
	}
	facts := make([]string, len(c.Facts))
	for i, f := range c.Facts {
		facts[i] = f.Label + ": " + f.Value
	}
	part(facts...)
	for _, link := range c.Buttons {
		part(link.Label+":", link.URL)
	}
	for _, p := range c.Closing {
		part(p)
	}
	b.WriteString("-- \n" + oneLine(c.Property) + "\n")
	return b.String()
}

// oneLine replaces each line break and each ASCII control character by a space, because a header must not contain them. It also trims the
// text.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s))
}

// SealText encrypts the rendered text of a mail for the mailbox, where staff read mails of a property without a mail server.
func SealText(ctx context.Context, keys *keyring.Ring, propertyID, mailID string, t Text) ([]byte, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write a mail: %w", err)
	}
	sealed, err := keys.Seal(ctx, propertyID, textPurpose(mailID), raw)
	if err != nil {
		return nil, fmt.Errorf("seal a mail: %w", err)
	}
	return sealed, nil
}

// OpenText decrypts the text of a mail in the mailbox. It returns nil if the mail has none.
func OpenText(ctx context.Context, keys *keyring.Ring, row *Row) (*Text, error) {
	if len(row.Text) == 0 {
		return nil, nil
	}
	raw, err := keys.Open(ctx, row.PropertyID, textPurpose(row.ID), row.Text)
	if err != nil {
		return nil, fmt.Errorf("open a mail: %w", err)
	}
	t := &Text{}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("read a mail: %w", err)
	}
	return t, nil
}

// textPurpose returns the purpose of [keyring.Ring.Seal] for the text of a mail in the mailbox.
func textPurpose(mailID string) string { return "mailText/" + mailID }

// NoticesFacts is what a mail about notices says.
type NoticesFacts struct {
	List []message.Message // the notices, the oldest first
	More bool              // there are more notices than the mail lists
	Link string            // the page of notices
}

// NoticesParams returns the parameters of a mail to a person about notices: those with ids in the range (after, through]. The text is
// rendered when the mail is sent.
func NoticesParams(personID, after, through string) map[string]string {
	return map[string]string{"person": personID, "after": after, "through": through}
}

// NoticesOf returns from a stored mail what [NoticesParams] put into its parameters.
func NoticesOf(row *Row) (personID, after, through string) {
	return row.Parameters["person"], row.Parameters["after"], row.Parameters["through"]
}

// noticesContent is the mail to a person about notices.
func (o Occasion) noticesContent(content Content) Content {
	params := message.Params{"property": o.Property, "count": len(o.Notices.List)}
	content.Subject = o.text("subject", params)
	for _, n := range o.Notices.List {
		content.Paragraphs = append(content.Paragraphs, o.Reader.Text(n))
	}
	if o.Notices.More {
		content.Paragraphs = append(content.Paragraphs, o.text("more", nil))
	}
	content.Buttons = []Button{{o.text("button", nil), o.Notices.Link}}
	content.Closing = []string{o.text("why", params)}
	return content
}

// ProfileParams are the parameters of a mail with a link to a profile: the language of its reader.
func ProfileParams(language string) map[string]string { return map[string]string{"language": language} }

// ProfileSecret returns the secret of the link to a profile in a mail. It is derived from the mail's id, so that a retry has the same link.
func ProfileSecret(keys *keyring.Ring, mailID string) string {
	return keys.DeriveToken(keyring.GuestLink, mailID, "profile")
}

// DeleteProfileMails deletes the mails with links to a profile, also those that were not sent yet. addressMAC is the keyed hash of its
// address.
func DeleteProfileMails(tx *db.Tx, propertyID string, addressMAC []byte) error {
	_, err := tx.Mail.Delete().Where(entmail.PropertyID(propertyID), entmail.AddressMAC(addressMAC), entmail.Kind(string(Profile))).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the mails with a link to a profile: %w", err)
	}
	return nil
}

// profileContent is the mail to a guest who wants to see what the property keeps.
func (o Occasion) profileContent(content Content) Content {
	params := message.Params{"property": o.Property}
	content.Subject = o.text("subject", params)
	content.Paragraphs = []string{o.sharedText("helloNameless", nil), o.text("text", params)}
	content.Buttons = []Button{{o.text("button", params), o.Profile}}
	content.Closing = []string{o.text("link", params), o.text("unexpected", params)}
	return content
}
