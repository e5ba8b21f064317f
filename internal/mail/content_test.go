package mail

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/message"
)

// Every kind of mail has its texts, and its plain text is complete.
func TestMails(t *testing.T) {
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for _, kind := range Kinds {
		o := Occasion{
			Kind: kind, Property: "Hostel <Miramar>", Accent: "#123456", DeskPhone: "+351 21 000", Address: "Rua 1\nLisboa", FirstName: "Ana", Now: at,
			Stays: []OccasionStay{{Number: "8790", Room: "Room 204", From: at, To: at.Add(44 * time.Hour), Link: "https://stay.example/g/l/secret"}},
			Codes: []DoorCode{{Digits: "480271"}, {Door: "Gate", Digits: "1234"}}, Confirmed: true,
			Stop:        message.Message{Kind: "late", Params: message.Params{"at": at}},
			Erasure:     ErasureFacts{DueAt: at, Law: "DE", KeptLast: at, Link: "https://stay.example/g/erasure/receipt"},
			ProfilePage: "https://stay.example/g/profile/property",
		}
		text, err := Compose("ana@example.com", o.Content())
		if err != nil {
			t.Fatal(err)
		}
		for part, s := range map[string]string{"subject": text.Subject, "text": text.Text, "HTML": text.HTML} {
			if strings.Contains(s, "mail.") || strings.Contains(s, "?") || s == "" {
				t.Errorf("%s: the %s lacks a text: %s", kind, part, s)
			}
		}
		if strings.Contains(text.HTML, "<Miramar>") {
			t.Errorf("%s: the HTML has an unescaped name", kind)
		}
		if has := strings.Contains(text.Text, "480\u00a0271") && strings.Contains(text.HTML, "480\u00a0271") && strings.Contains(text.Text, "12\u00a034"); has != kind.HasPIN() {
			t.Errorf("%s: has the PIN: %v", kind, has)
		}
		if has := strings.Contains(text.Text, "/g/l/secret") && strings.Contains(text.HTML, `href="https://stay.example/g/l/secret"`); has != kind.HasLink() && kind != Staff {
			t.Errorf("%s: has the link: %v", kind, has)
		}
		if has := strings.Contains(text.Text, "Germany") && strings.Contains(text.HTML, `href="https://stay.example/g/erasure/receipt"`); has != (kind == Erasure) {
			t.Errorf("%s: says what the law keeps: %v", kind, has)
		}
		if has := strings.Contains(text.Text, "/g/profile/property") && strings.Contains(text.HTML, "/g/profile/property"); has != (kind == Key || kind == Erasure) {
			t.Errorf("%s: says where the guest sees what is kept: %v", kind, has)
		}
	}
}

// The booker of a group can tell which link is for which room, and reads that the others must be passed on.
func TestMailToAGroup(t *testing.T) {
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		stays []OccasionStay
		want  []string
	}{
		"rooms":           {[]OccasionStay{{Number: "8790", Room: "Room 204"}, {Number: "8790", Room: "Room 205"}}, []string{"(Room 204)", "(Room 205)"}},
		"numbers":         {[]OccasionStay{{Number: "8790"}, {Number: "8791"}}, []string{"(8790)", "(8791)"}},
		"nothing tells":   {[]OccasionStay{{Number: "8790"}, {Number: "8790"}}, []string{"(room 1 of 2)", "(room 2 of 2)"}},
		"one has no room": {[]OccasionStay{{Number: "8790", Room: "Room 204"}, {Number: "8791"}}, []string{"(Room 204)", "(8791)"}},
	} {
		for i := range c.stays {
			c.stays[i].From, c.stays[i].To, c.stays[i].Link = at, at.Add(44*time.Hour), "https://stay.example/g/l/secret"
		}
		text, err := Compose("ana@example.com", Occasion{Kind: Invitation, Property: "Miramar", Now: at, Stays: c.stays}.Content())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "Each room has its own link.", "21 November", "23 November") {
			if !strings.Contains(text.Text, want) {
				t.Errorf("%s: the mail lacks %q:\n%s", name, want, text.Text)
			}
		}
	}
}

// A code works from the moment of the check-in, also if the stay begins later on that day.
func TestMailSaysWhenTheCodeWorks(t *testing.T) {
	now := time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)
	begin := now.Add(4 * time.Hour)
	for name, c := range map[string]struct {
		opens time.Time
		want  string
	}{
		"checked in early":          {now.Add(-time.Minute), "The code works."},
		"started on an earlier day": {begin, "The code works from"},
	} {
		o := Occasion{
			Kind: Key, Now: now, OpensAt: c.opens, Confirmed: true, Codes: []DoorCode{{Digits: "480271"}},
			Stays: []OccasionStay{{From: begin, To: begin.Add(44 * time.Hour)}},
		}
		text, err := Compose("ana@example.com", o.Content())
		if err != nil || !strings.Contains(text.Text, c.want) {
			t.Errorf("%s: %s, %v", name, text.Text, err)
		}
	}
}

// The guest of a room without a lock reads where the key is, and a code only if the gates have one.
func TestMailAboutARoomWithoutALock(t *testing.T) {
	for name, c := range map[string]struct {
		codes      []DoorCode
		has, lacks string
	}{
		"without a code":          {nil, "Phone: +351 1", "code works"},
		"with a code for a gate":  {[]DoorCode{{Digits: "480271"}}, "The code works.", "Phone: +351 1"},
		"with a gate's other one": {[]DoorCode{{Digits: "480271"}, {Door: "Gate", Digits: "190635"}}, "Your code for Gate", "Phone: +351 1"},
	} {
		o := Occasion{Kind: KeyChanged, Confirmed: true, AtDesk: true, Codes: c.codes, DeskPhone: "+351 1", Stays: []OccasionStay{{Room: "Room 305", Link: "https://stay.example/g/l/secret"}}}
		text, err := Compose("ana@example.com", o.Content())
		if err != nil || !strings.Contains(text.Text, "Your key waits at the desk.") || !strings.Contains(text.Text, c.has) || strings.Contains(text.Text, c.lacks) {
			t.Errorf("%s: %s, %v", name, text.Text, err)
		}
		if shows := strings.Contains(text.Text, "shows the code too"); shows != (len(c.codes) > 0) {
			t.Errorf("%s: %s", name, text.Text)
		}
	}
}

func TestHeadersHaveOneLine(t *testing.T) {
	text, err := Compose("ana@example.com", Content{Subject: "Room\r\nBcc: all@example.com", Property: "A\u2028B"})
	if err != nil || strings.ContainsAny(text.Subject, "\r\n") || strings.Contains(text.Text, "\u2028") {
		t.Errorf("%q, %q, %v", text.Subject, text.Text, err)
	}
}
