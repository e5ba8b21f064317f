package mail

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/message"
)

// Occasion is everything that a mail says, as data from which [Occasion.Content] makes the text.
type Occasion struct {
	Kind       Kind
	Reader     message.Reader
	Property   string
	Accent     string
	DeskPhone  string
	Address    string
	Directions string
	FirstName  string
	// Plain means that the recipient is not known to be the guest: the mail has no name, no link and no data of the stay. Content leaves
	// out only the facts of the stay: the caller leaves FirstName, Codes and the links empty.
	Plain     bool
	Stays     []OccasionStay // Stays is one stay, or the stays of a group; empty if the mail is about no stay
	Elsewhere int            // how many rooms of the booker's group other mails list
	Codes     []DoorCode     // Codes are the PINs of the first stay: the room's, and those of gates with another PIN
	// AtDesk means that the room has no lock, so that the guest gets a key from the desk. Codes then has only those of gates (doors that many
	// rooms share).
	AtDesk bool
	// Confirmed means that each lock has confirmed the code.
	Confirmed bool
	// OpensAt is the time from which the codes open the doors. It may be later than the check-in: the PMS may check a guest in early.
	OpensAt time.Time
	Now     time.Time
	// Erasure is what a mail about an erasure says.
	Erasure ErasureFacts
	// Profile is the link to a kept profile, in a mail of the kind [Profile].
	Profile string
	// ProfilePage is the URL of the page where a guest asks for a link to a kept profile; empty: no mail names it.
	ProfilePage string
	// Join is what a mail to join the property says.
	Join JoinFacts
	// Notices is what a mail about notices says.
	Notices NoticesFacts
	// Stop is the message of a mail to staff, whatever it is about: see [StaffText].
	Stop message.Message
}

// OccasionStay is a reservation in a mail.
type OccasionStay struct {
	Number   string
	Room     string
	From, To time.Time
	Link     string // Link signs the guest in, or in a mail to staff leads to the page of the stay; empty: no button
}

// ErasureFacts is what a mail says about an erasure.
type ErasureFacts struct {
	DueAt    time.Time
	Law      string    // the country whose law makes the property keep official forms, or empty
	KeptLast time.Time // a moment of the last day on which official forms are kept; set only with Law
	Link     string    // the page that shows how far the erasure is
}

// DoorCode is a PIN. Door is empty for the room's.
type DoorCode struct{ Door, Digits string }

// Content returns the content of the mail, in the reader's language.
func (o Occasion) Content() Content {
	content := Content{Property: o.Property, Language: o.language(), Direction: message.Direction(o.language()), Accent: o.Accent}
	if len(o.Stays) == 0 {
		o.Stays = []OccasionStay{{}}
	}
	first := o.Stays[0]
	switch o.Kind {
	case Staff:
		return o.staffContent(content, first)
	case Join:
		return o.joinContent(content)
	case Notices:
		return o.noticesContent(content)
	case Profile:
		return o.profileContent(content)
	}
	params := message.Params{"property": o.Property}
	content.Subject = o.text("subject", params)
	if o.FirstName != "" {
		content.Paragraphs = append(content.Paragraphs, o.sharedText("hello", message.Params{"name": o.FirstName}))
	} else {
		content.Paragraphs = append(content.Paragraphs, o.sharedText("helloNameless", nil))
	}
	params["from"], params["due"] = first.From, o.Erasure.DueAt
	content.Paragraphs = append(content.Paragraphs, o.text("text", params))
	content.Facts = o.facts(first)
	o.addCodes(&content)
	o.addErasure(&content)
	o.addButtons(&content)
	o.addClosing(&content)
	return content
}

// language returns the reader's language, or English if it is not known.
func (o Occasion) language() string {
	if o.Reader.Language == "" {
		return message.English
	}
	return o.Reader.Language
}

// text returns a text that belongs to the mail's kind, such as "subject".
func (o Occasion) text(part string, params message.Params) string {
	return o.sharedText(string(o.Kind)+"."+part, params)
}

// sharedText returns a text that several kinds of mails use.
func (o Occasion) sharedText(name string, params message.Params) string {
	return o.Reader.Text(message.Message{Kind: "mail." + name, Params: params})
}

// fact returns a line of the table of facts, or no line for an empty value.
func (o Occasion) fact(name, value string) []Fact {
	if value == "" {
		return nil
	}
	return []Fact{{o.sharedText("fact."+name, nil), value}}
}

// facts returns the table of facts about a stay. It is empty if the mail is Plain, and, for a mail without a PIN, if its stays have
// different dates.
func (o Occasion) facts(s OccasionStay) (all []Fact) {
	switch {
	case o.Plain:
	case o.Kind.HasPIN():
		all = append(all, o.fact("room", s.Room)...)
		all = append(all, o.fact("until", o.sharedText("fact.dayUntil", message.Params{"at": s.To}))...)
	case o.sameDates():
		if len(o.Stays) == 1 {
			all = append(all, o.fact("number", s.Number)...)
		}
		all = append(all, o.fact("from", o.sharedText("fact.dayFrom", message.Params{"at": s.From}))...)
		all = append(all, o.fact("to", o.sharedText("fact.dayUntil", message.Params{"at": s.To}))...)
	}
	return all
}

// addCodes adds to a mail with a PIN the PINs of a stay, whether they work already, and where the guest gets help. If the room has no lock,
// it adds to any mail where the key is.
func (o Occasion) addCodes(content *Content) {
	if o.AtDesk {
		content.Paragraphs = append(content.Paragraphs, o.Reader.Text(message.Message{Kind: "web.door.noLock"}))
	}
	if !o.Kind.HasPIN() || len(o.Codes) == 0 {
		return
	}
	for _, c := range o.Codes {
		if c.Door == "" {
			content.Code = &Code{o.sharedText("code", nil), c.Digits}
			continue
		}
		content.Facts = append(content.Facts, Fact{o.sharedText("codeOf", message.Params{"door": c.Door}), Code{Digits: c.Digits}.Grouped()})
	}
	switch {
	case !o.Confirmed:
		content.Closing = append(content.Closing, o.sharedText("codeLikely", nil))
	case o.OpensAt.After(o.Now):
		content.Closing = append(content.Closing, o.sharedText("codeWorks", message.Params{"from": o.OpensAt}))
	default:
		content.Closing = append(content.Closing, o.sharedText("codeWorksNow", nil))
	}
	if o.DeskPhone != "" {
		content.Closing = append(content.Closing, o.sharedText("help", message.Params{"phone": o.DeskPhone}))
	} else {
		content.Closing = append(content.Closing, o.sharedText("helpDesk", nil))
	}
}

// addErasure adds to a mail about an erasure what the law keeps of the stay, and the link to the page with the state of the erasure.
func (o Occasion) addErasure(content *Content) {
	if o.Kind != Erasure {
		return
	}
	if o.Erasure.Law != "" {
		country := message.Message{Kind: "country." + o.Erasure.Law}
		content.Paragraphs = append(content.Paragraphs, o.text("kept", message.Params{"country": country, "last": o.Erasure.KeptLast}))
	}
	content.Paragraphs = append(content.Paragraphs, o.text("pms", nil))
	content.Buttons = append(content.Buttons, Button{o.text("button", nil), o.Erasure.Link})
}

// addButtons adds a link for each stay that has one, and what the guest must know about links. It adds nothing to kinds of mails without
// links.
func (o Occasion) addButtons(content *Content) {
	if !o.Kind.HasLink() {
		return
	}
	for i, s := range o.Stays {
		if s.Link == "" {
			continue
		}
		label := o.text("button", nil)
		if len(o.Stays) > 1 {
			label = o.sharedText("buttonOf", message.Params{"button": label, "stay": o.nameOf(i)})
		}
		content.Buttons = append(content.Buttons, Button{label, s.Link})
	}
	if len(content.Buttons) > 0 && o.Kind.HasPIN() && len(o.Codes) > 0 {
		content.Closing = append(content.Closing, o.sharedText("codePage", nil))
	}
	switch {
	case len(content.Buttons) > 1:
		content.Closing = append(content.Closing, o.sharedText("linkEach", nil))
	case len(content.Buttons) == 1:
		content.Closing = append(content.Closing, o.sharedText("linkPrivate", nil))
	}
	if o.Elsewhere > 0 {
		content.Closing = append(content.Closing, o.sharedText("otherMails", message.Params{"count": o.Elsewhere}))
	}
}

// nameOf returns the label of stay i in a mail about several stays: its room, if all stays have different rooms; else its number, if all
// numbers differ; else its position.
func (o Occasion) nameOf(i int) string {
	differ := func(of func(OccasionStay) string) bool {
		seen := map[string]bool{}
		for _, s := range o.Stays {
			seen[of(s)] = true
		}
		return len(seen) == len(o.Stays)
	}
	switch s := o.Stays[i]; {
	case s.Room != "" && differ(func(s OccasionStay) string { return s.Room }):
		return s.Room
	case differ(func(s OccasionStay) string { return s.Number }):
		return s.Number
	}
	return o.sharedText("roomOf", message.Params{"room": i + 1, "rooms": len(o.Stays)})
}

// sameDates reports whether all stays of the mail have the same dates.
func (o Occasion) sameDates() bool {
	return !slices.ContainsFunc(o.Stays, func(s OccasionStay) bool { return !s.From.Equal(o.Stays[0].From) || !s.To.Equal(o.Stays[0].To) })
}

// addClosing adds the last paragraphs: why the mail is Plain, the page of kept profiles, the address, the directions and, unless the codes
// come with it, the phone number of the property.
func (o Occasion) addClosing(content *Content) {
	if o.Plain {
		content.Closing = append(content.Closing, o.text("plain", nil))
	}
	if o.Kind.NamesProfile() && o.ProfilePage != "" {
		content.Closing = append(content.Closing, o.sharedText("profilePage", message.Params{"property": o.Property, "page": o.ProfilePage}))
	}
	if o.Address != "" {
		content.Closing = append(content.Closing, o.sharedText("address", message.Params{"address": inLine(o.Address)}))
	}
	if o.Directions != "" {
		content.Closing = append(content.Closing, o.sharedText("directions", message.Params{"directions": inLine(o.Directions)}))
	}
	if o.DeskPhone != "" && (!o.Kind.HasPIN() || len(o.Codes) == 0) {
		content.Closing = append(content.Closing, o.sharedText("phone", message.Params{"phone": o.DeskPhone}))
	}
}

// staffContent returns content with the text for staff, and with a button to the stay if it has a page.
func (o Occasion) staffContent(content Content, s OccasionStay) Content {
	content.Subject = o.text("subject", message.Params{"number": s.Number})
	if s.Number == "" {
		content.Subject = o.text("subjectOther", message.Params{"property": o.Property})
	}
	content.Paragraphs = []string{o.Reader.Text(o.Stop)}
	if s.Link != "" {
		content.Buttons = []Button{{o.text("button", message.Params{"number": s.Number}), s.Link}}
	}
	return content
}

// inLine joins the lines of a text with commas.
func inLine(s string) string { return strings.Join(strings.FieldsFunc(s, isLineEnd), ", ") }

// isLineEnd reports whether a character is a line feed or a carriage return.
func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// StaffParams returns the parameters of a mail to staff with a text. [StaffText] makes the text from them. Each value becomes a string, so
// the text must not have a plural form, a message or a [time.Time] as a parameter, nor a parameter "kind".
func StaffParams(text message.Message) map[string]string {
	params := map[string]string{"kind": text.Kind}
	for name, value := range text.Params {
		params[name] = fmt.Sprint(value)
	}
	return params
}

// StaffText returns the message of a mail to staff: the parameter "kind" names a text of the catalogue, and the others are its
// parameters.
func StaffText(params map[string]string) message.Message {
	m := message.Message{Kind: params["kind"], Params: message.Params{}}
	for name, value := range params {
		if name != "kind" {
			m.Params[name] = value
		}
	}
	return m
}
