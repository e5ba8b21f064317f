package staff

import (
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// Hours may go over midnight, and no hours are all hours.
func TestMailHours(t *testing.T) {
	for _, c := range []struct {
		from, until, at string
		want            bool
	}{
		{"", "", "03:00", true}, {"08:00", "18:00", "08:00", true}, {"08:00", "18:00", "17:59", true}, {"08:00", "18:00", "18:00", false},
		{"08:00", "18:00", "07:59", false}, {"22:00", "06:00", "23:30", true}, {"22:00", "06:00", "05:59", true}, {"22:00", "06:00", "06:00", false},
	} {
		at, err := time.Parse("15:04", c.at)
		if got := (NoticeChoice{From: c.from, Until: c.until}).MailsAt(at); err != nil || got != c.want {
			t.Errorf("%s to %s at %s: %v", c.from, c.until, c.at, got)
		}
	}
}

func TestNoticeChoiceProblems(t *testing.T) {
	for what, c := range map[string]struct {
		choice NoticeChoice
		path   string
	}{
		"nothing":          {NoticeChoice{}, ""},
		"a full choice":    {NoticeChoice{Hidden: []string{"pms"}, ByMail: []string{"locks", "codes"}, From: "08:00", Until: "18:00"}, ""},
		"an unknown group": {NoticeChoice{ByMail: []string{"weather"}}, "settings.byMail"},
		"one time":         {NoticeChoice{From: "08:00"}, "settings.mailUntil"},
		"no time":          {NoticeChoice{From: "8", Until: "18:00"}, "settings.mailFrom"},
		"equal times":      {NoticeChoice{From: "08:00", Until: "08:00"}, "settings.mailUntil"},
	} {
		err := c.choice.Check()
		got := ""
		if f, ok := fault.Of(err); ok && len(f.Fields) > 0 {
			got = f.Fields[0].Path
		}
		if (err == nil) != (c.path == "") || got != c.path {
			t.Errorf("%s: %v, want %q", what, err, c.path)
		}
	}
}

// A choice belongs to one person at one property.
func TestNoticeChoiceIsStored(t *testing.T) {
	each(t, func(x *fixture) {
		ada, bob := x.owner("ada@example.com", hotel), x.owner("bob@example.com", hotel)
		set := func(propertyID string, s Session, c NoticeChoice) error {
			return x.write(func(tx *db.Tx) error { return SetNoticeChoice(tx, propertyID, s.PersonID, c) })
		}
		x.must(set(hotel, ada, NoticeChoice{Hidden: []string{"pms"}, ByMail: []string{"locks"}, From: "08:00", Until: "18:00"}))
		x.wantReason("another property", set(hostel, ada, NoticeChoice{}), fault.PersonNotFound)
		view := x.DB.View(x.Context())
		got, err := GetNoticeChoice(view, hotel, ada.PersonID)
		if err != nil || len(got.Hidden) != 1 || got.ByMail[0] != "locks" || got.From != "08:00" || got.Until != "18:00" {
			x.Errorf("stored %+v, %v", got, err)
		}
		if got, err := GetNoticeChoice(view, hotel, bob.PersonID); err != nil || len(got.Hidden)+len(got.ByMail) != 0 {
			x.Errorf("of another person: %+v, %v", got, err)
		}
		readers, err := ListNoticeReaders(view, "", 10)
		if err != nil || len(readers) != 1 || readers[0].Row.PersonID != ada.PersonID {
			x.Errorf("readers %+v, %v", readers, err)
		}
	})
}
