package mail

import (
	"latchkey.dev/internal/message"
)

// NoticesFacts is what a mail about notices says.
type NoticesFacts struct {
	List []message.Message // the oldest first
	More bool              // there are more than the mail lists
	Link string            // the page of notices
}

// NoticesParams returns the parameters of a mail to a person about notices: those with ids in the range (after, through]. The text is
// rendered when the mail is sent.
func NoticesParams(personID, after, through string) map[string]string {
	return map[string]string{"person": personID, "after": after, "through": through}
}

// NoticesOf is the inverse of [NoticesParams].
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
