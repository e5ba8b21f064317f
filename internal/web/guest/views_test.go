package guest

import (
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/test/sourcetest"
	"latchkey.dev/internal/web/kit"
)

// views has a view of each page with everything in it, and the zero view.
func views() map[string][2]any {
	f := newFake()
	f.start("verified")
	all := []answers{{Guest: f.stay.GetGuests()[0], Form: f.form}, {Guest: f.stay.GetGuests()[1], Form: f.form}}
	code := kit.DrawQR("https://example.com/q/door_1", qr.M, qr.Auto)
	fields := []field{}
	for _, s := range f.form.GetSteps() {
		for _, q := range s.GetFields() {
			fields = append(fields, field{FormField: q, ID: "f-" + q.GetName(), Value: "1990-03-07", Parts: kit.DateParts("1990-03-07")})
		}
	}
	choices := []*guestv1.Choice{{Id: "c", SpaceName: "Room 1", Initials: "A. S."}, {}}
	return map[string][2]any{
		"problem":   {problemView{Text: "text"}, problemView{}},
		"link":      {linkView{Link: &guestv1.Link{Property: theProperty, Initial: "A", FromDate: "2026-11-21", ToDate: "2026-13-99"}, Path: "/g/l/x"}, linkView{}},
		"stay":      {stayView{Tasks: []taskLink{{"you", "todo", "/x"}, {"sharing", "blocked", ""}}, Open: 2, Doors: pinView{Doors: statesOf(f.stay.GetDoors()), Moving: true}, openView: openView{Opens: true, Device: "iPhone", Says: openSentences}}, stayView{}},
		"step":      {stepView{Guest: f.stay.GetGuests()[0], Step: f.form.GetSteps()[0], Fields: fields, Number: 1, Count: 5, Confirm: true}, stepView{}},
		"check":     {checkView{Guests: all}, checkView{}},
		"arrival":   {hours(), []string(nil)},
		"rules":     {nil, nil},
		"party":     {partyView{}, partyView{}},
		"share":     {shareView{Minors: f.stay.GetGuests(), Never: []string{"home"}, Law: newLawView(f.form)}, shareView{}},
		"people":    {peopleView{Sent: "gst_2", Bad: "gst_2", Minor: "gst_2", Wrong: "x"}, peopleView{}},
		"stage":     {stageView{CheckIn: &guestv1.CheckIn{Stage: "confirmDetails", AskedAt: f.stay.GetFrom()}, Guests: all}, stageView{}},
		"key":       {pinView{Pins: f.pins, Doors: statesOf(f.stay.GetDoors()), Moving: true, Phone: code}, pinView{}},
		"help":      {nil, nil},
		"email":     {"ana@", ""},
		"forgotten": {nil, nil},
		"offline":   {nil, nil},
		"greeted":   {nil, nil},
		"another":   {anotherView{}, anotherView{Partial: true}},
		"newlink":   {newLinkView{Code: code, Ends: f.stay.GetTo(), Text: "web.passOn.text"}, newLinkView{Text: "web.another.made"}},
		"group":     {&guestv1.Group{List: []*guestv1.GroupRoom{{SpaceName: "Bed 1", ParentSpaceName: "Room 204", FromDate: "2026-11-21", State: "ready", Complete: 1, Guests: 2, Own: true}, {State: "new"}}, More: true}, (*guestv1.Group)(nil)},
		"first":     {"", "nothing"},
		"devices":   {devicesView{Devices: f.devices, Others: 2}, devicesView{}},
		"shut":      {[]shutDoors{{statesOf(f.stay.GetDoors()), []try{tryDigits, tryPhone, tryFromTime}}}, []shutDoors(nil)},
		"messages":  {messagesView{List: []*guestv1.Message{{Number: 1, Sender: "guest", Text: "Silva", SentAt: f.stay.GetFrom(), ReadAt: f.stay.GetTo()}}, Last: 1, Typed: "Silva"}, messagesView{Closed: true}},
		"data":      {dataView{Erasure: &guestv1.Erasure{State: "requested", RequestedAt: f.stay.GetFrom(), DueAt: f.stay.GetTo(), Law: "DE", KeptUntil: "2027-11-23", Receipt: "lkr_1"}}, dataView{Partial: true}},
		"erasure":   {&guestv1.Erasure{State: "done", WholeParty: true, FinishedAt: f.stay.GetTo(), Law: "DE", KeptUntil: "2027-11-23"}, &guestv1.Erasure{}},
		"profile": {profileView{Kept: &guestv1.KeptProfile{UpdatedAt: f.stay.GetFrom()}, Lines: profileLines(&guestv1.Person{FirstName: "Ana", BirthDate: "1990-03-07", Sex: "F", Nationality: "PT"})},
			profileView{Email: "ana@"}},
		"profilelink": {linkView{Link: &guestv1.Link{Bound: true}}, linkView{Link: &guestv1.Link{}, Path: "/g/l/x"}},
		"ledger":      {ledgerView{Lines: []ledgerLine{{Disclosure: &guestv1.Disclosure{Why: "read", Groups: []string{"identity"}, At: f.stay.GetFrom(), Times: 3, LastAt: f.stay.GetTo()}}}, Older: "/g?page=1", Newest: "/g"}, ledgerView{Partial: true}},
		"find":        {findView{Action: "/k/find", Number: `"><b>`, Name: "Silva", NotFound: true, Challenge: "c"}, findView{}},
		"which":       {findView{Action: "/k/find", Choices: choices}, findView{}},
		"enrol":       {enrolView{Wrong: true}, enrolView{}},
		"kiosk":       {kioskView{Kiosk: f.kiosk, QR: code}, kioskView{}},
		"closed":      {closedView{Text: "web.cut.text", QR: code}, closedView{Text: "web.closed.text"}},
		"you":         {nil, nil},
		"phone":       {code, qrCode{}},
	}
}

// Every page renders with a full view and with the zero view, on a phone and at a tablet, without a missing text.
func TestEveryPageRenders(t *testing.T) {
	all := views()
	for _, name := range newFake().exchange(t, "", false).site.Pages() {
		view, ok := all[name]
		if !ok {
			t.Errorf("the page %s has no view here", name)
			continue
		}
		for i, data := range view {
			for _, kiosk := range []bool{false, true} {
				x := newFake().exchange(t, "", kiosk)
				p := x.newPage(nil, "web.stay.title")
				p.Data = data
				if i == 0 {
					f := newFake()
					f.start("failed")
					p.Property, p.Back, p.Refresh, p.Title = theProperty, "/back", 2, "Title"
					p.Flow = flow{Kiosk: kiosk, Stay: f.stay}
					p.Wrong = []wrong{{ID: "f-number", Text: "Wrong"}, {ID: "email-gst_2", Label: "Email", Text: "Wrong"}}
				}
				checkHTML(t, name, x.rendered(t, name, p))
			}
		}
	}
}

var (
	idAttr    = regexp.MustCompile(`\bid="([^"]*)"`)
	labelFor  = regexp.MustCompile(`\bfor="([^"]*)"`)
	rawKind   = regexp.MustCompile(`\b(web|form|field|choice|problem|why|country|checkIn|step)\.[a-zA-Z.]+\b`)
	inlineBad = regexp.MustCompile(`<(style)\b|\bstyle="|\bon\w+="|ZgotmplZ|%!`)
)

// checkHTML fails if a page has a text without a translation, inline style or script, ids that are not unique, or labels of nothing.
func checkHTML(t *testing.T, name, html string) {
	t.Helper()
	if found := rawKind.FindString(plain(html)); found != "" {
		t.Errorf("%s: the text %s is missing", name, found)
	}
	if found := inlineBad.FindString(html); found != "" {
		t.Errorf("%s: the page has %q", name, found)
	}
	seen := map[string]bool{}
	for _, m := range idAttr.FindAllStringSubmatch(html, -1) {
		if seen[m[1]] && m[1] != "" {
			t.Errorf("%s: the id %q is there twice", name, m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range labelFor.FindAllStringSubmatch(html, -1) {
		if !seen[m[1]] {
			t.Errorf("%s: a label is for %q, which is not there", name, m[1])
		}
	}
}

// Every message that a template or the code names exists.
func TestEveryMessageExists(t *testing.T) {
	named := regexp.MustCompile(`(?:\.T|new|stayPage|closedPage|problem|Page) ?\(?[^"\n]*"((?:web|field|why|form|problem)\.[\w.]+)"`)
	count := 0
	for _, glob := range []string{"*.go", "pages/*.html", "parts/*.html"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(content), -1) {
				kind := m[1]
				if strings.HasSuffix(kind, ".") { // the rest is data
					continue
				}
				count++
				if !message.Has(kind) {
					t.Errorf("%s names %s, which has no text", file, kind)
				}
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d names were found", count)
	}
	for _, words := range []struct{ file, typ, prefix string }{
		{"../../checkin/facts.go", "Stage", "web.stage."},
		{"../../checkin/facts.go", "StopReason", "checkIn.stop."},
		{"../../lock/slot/slot.go", "Evidence", "web.pin."},
	} {
		for name, word := range sourcetest.Constants(t, words.file, words.typ) {
			if name != "OwingWaived" && !message.Has(words.prefix+word) { // that stage is one of clearances: no check-in is in it
				t.Errorf("%s has no text %s%s", name, words.prefix, word)
			}
		}
	}
}

// Values that are HTML stay HTML, and all other values are escaped.
func TestTextsAreEscaped(t *testing.T) {
	w := newFake().exchange(t, "", false).words(theProperty)
	if got := w.T("web.link.title", "property", `<b>"&\uE0000\uE001`); !strings.HasPrefix(string(got), "Your stay at &lt;b&gt;&#34;&amp;") {
		t.Errorf("%s", got)
	}
	if got := w.T("web.checkin.from", "day", w.Date("2026-11-21")); got != `You can check in on <time datetime="2026-11-21">Saturday, 21 November.</time>` {
		t.Errorf("%s", got)
	}
	if got := w.Date(`<script>`); got != template.HTML("&lt;script&gt;") {
		t.Errorf("%s", got)
	}
}

// Dates may be typed with numbers or the names of months. What is no date stays as it was typed.
func TestDates(t *testing.T) {
	w := newFake().exchange(t, "", false).words(nil)
	for _, test := range []struct{ day, month, year, want string }{
		{"7", "3", "1990", "1990-03-07"}, {"07", "mar", "1990", "1990-03-07"}, {"1", "SEPTEMBER", "2001", "2001-09-01"}, {"1", "Sept.", "2001", "2001-09-01"},
		{"", "", "", ""}, {"7", "", "1990", "7  1990"}, {"7", "ma", "1990", "7 ma 1990"}, {"32", "1", "1990", "32 1 1990"}, {"1", "13", "1990", "1 13 1990"}, {"1", "1", "90", "1 1 90"},
	} {
		got := w.DateFrom(test.day, test.month, test.year)
		if got != test.want {
			t.Errorf("%v: %q", test, got)
		}
		if parts := kit.DateParts(got); got != "" && (strings.TrimLeft(parts[0], "0") != strings.TrimLeft(test.day, "0") || parts[2] != test.year) {
			t.Errorf("%v: shown again as %v", test, parts)
		}
	}
}

// First views stay small.
func TestBudgets(t *testing.T) {
	f := newFake()
	f.bound = false
	h := f.handler(t, io.Discard)
	b := f.client(t)
	b.enrol()
	for _, path := range []string{"/g/l/" + linkSecret, "/q/door_1", "/k/enrol"} {
		total := 0
		body := fetched(t, h, path, &total)
		for _, m := range regexp.MustCompile(`(?:href|src)="(/(?:static|theme)/[^"]+)"`).FindAllStringSubmatch(body, -1) {
			fetched(t, h, m[1], &total)
		}
		total += len(body) // a mail program on the web is another site, so the page is not compressed
		if total > 60<<10 || total < 1<<10 {
			t.Errorf("the first view of %s has %d bytes over the wire", path, total)
		}
	}
}

// fetched returns the text of an answer and adds its size over the wire.
func fetched(t *testing.T, h http.Handler, path string, total *int) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	plain := w.Body.String()
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d", path, w.Code)
	}
	r.Header.Set("Accept-Encoding", "br, gzip;q=0.8")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "gzip" && len(plain) > 300 {
		t.Errorf("%s is not compressed", path)
	}
	if w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Errorf("%s: Content-Length %s of %d", path, w.Header().Get("Content-Length"), w.Body.Len())
	}
	*total += w.Body.Len()
	return plain
}
