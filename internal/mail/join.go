package mail

import (
	"strconv"
	"time"

	"latchkey.dev/internal/message"
)

// JoinFacts is what a mail to join a property says.
type JoinFacts struct {
	Role   string
	Link   string
	EndsAt time.Time // when the link ends
}

// JoinParams returns the parameters of a mail to join a property: the invitation, and in round how often its link was replaced. The link
// itself is never stored.
func JoinParams(invitationID string, round int, language string) map[string]string {
	return map[string]string{"invitation": invitationID, "round": strconv.Itoa(round), "language": language}
}

// JoinOf returns from a stored mail what [JoinParams] put into its parameters. round is -1, which no invitation has, if it cannot be read.
func JoinOf(row *Row) (invitationID string, round int) {
	round, err := strconv.Atoi(row.Parameters["round"])
	if err != nil {
		round = -1 // no invitation has this round
	}
	return row.Parameters["invitation"], round
}

// joinContent is the mail to a person whom the property invites to its staff.
func (o Occasion) joinContent(content Content) Content {
	params := message.Params{"property": o.Property, "role": message.Message{Kind: "staff.role." + o.Join.Role}, "ends": o.Join.EndsAt}
	content.Subject = o.text("subject", params)
	content.Paragraphs = []string{o.sharedText("helloNameless", nil), o.text("text", params)}
	content.Buttons = []Button{{o.text("button", params), o.Join.Link}}
	content.Closing = []string{o.text("link", params), o.text("unexpected", params)}
	return content
}
