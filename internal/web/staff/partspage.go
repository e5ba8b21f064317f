package staff

import (
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"

	"latchkey.dev/internal/web/kit"
)

// The page of the parts shows each element of the dashboard in all its states, for developers of the style sheets. No menu links to it.

// longName is as long as the longest names of rooms.
var longName = strings.Repeat("Ambassador ", 4)[:40]

type partsView struct {
	Name   string
	Chips  []chip
	Tabs   []tab
	Inputs []kit.Input
	QR     kit.QR
	Secret shownSecret
}

// showParts handles the page that shows each element of the dashboard, such as chips and inputs, in all its states.
func (s *site) showParts(x *exchange) error {
	inputs := []kit.Input{
		{Name: "text", Label: "staff.room.name", Value: longName, Autocomplete: "off"},
		{Name: "hint", Label: "staff.room.dorm", Hint: "staff.room.dorm.hint", Options: options("staff.type.", "Room", "Dorm", "Bed")},
		{Name: "wrong", Label: "staff.room.floor", Hint: "staff.room.dorm.hint", Autocomplete: "off"},
		{Name: "lines", Label: "staff.rooms.list", Hint: "staff.rooms.list.hint", Type: "lines"},
		{Name: "switch", Label: "staff.room.active", Hint: "staff.room.active.hint", Type: "switch", Value: "yes"},
		{Name: "boxes", Label: "staff.room.type", Type: "boxes", Value: "Bed", Options: options("staff.type.", "Room", "Dorm", "Bed")},
	}
	p := x.newPage("staff.parts.title")
	p.Wrong = []kit.Wrong{{ID: inputs[2].ID(), Label: p.T(inputs[2].Label), Text: p.T("staff.room.taken")}}
	p.Data = partsView{
		Name:   longName,
		Chips:  []chip{{"ok", "✓", "staff.type.Room"}, {"warn", "!", "staff.type.Dorm"}, {"bad", "✕", "staff.room.noLock"}, {"info", "…", "staff.type.Bed"}, {"unknown", "?", "staff.spaces.unmapped"}},
		Tabs:   []tab{{Name: "staff.area.today", URL: "#tabs", Here: true, Count: 12}, {Name: "staff.area.locks", URL: "#tabs", Count: -1}},
		Inputs: inputs,
		QR:     kit.DrawQR(x.Address("/app/dev/parts"), qr.M, qr.Auto),
		Secret: shownSecret{"staff.token.access", "staff.token.access.text", "lk_" + strings.Repeat("0123456789", 5)},
	}
	return x.render(http.StatusOK, "parts", p)
}
