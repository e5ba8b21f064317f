package staff

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"slices"
	"unicode/utf8"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// registerPath is the URL of the guest register, the official registration forms of guests. Only a posted form with a reason reads the
// register.
const registerPath = "/app/register"

// registerRows is the number of forms on a page. Each can have a signature, which has some kilobytes.
const registerRows = 25

// maxRegister is the maximum number of forms in one document, to print or to download. For more, the person must read fewer days at once.
const maxRegister = 1000

// minRegisterReason and maxRegisterReason are the shortest and the longest reason in characters that the API accepts.
const minRegisterReason, maxRegisterReason = 3, 200

// registerRow is one official registration form.
type registerRow struct {
	*propertyv1.RegisterEntry
	Facts     []kit.Answer
	Signature template.URL // an image, or ""
}

// registerDay has the forms of the guests who arrived on the day On (YYYY-MM-DD).
type registerDay struct {
	On   string
	Rows []registerRow
}

type registerView struct {
	Inputs   []kit.Input
	First    string // First, Last and Reason are the posted values
	Last     string
	Reason   string
	Read     bool // the register was read, so Days has the result
	Days     []registerDay
	Count    int    // number of forms on the page
	Whole    bool   // the page has all forms of the days, unless Only limits them
	Next     string // token of the next page, or ""
	Open     bool   // all forms of the days are expanded, as on paper
	Only     bool   // only one form is shown
	TooLarge bool   // the days have more forms than a document has
}

// registerInputs returns the form fields with which a person reads the register: days of arrival, today by default, and the reason. For a
// POST they have the posted values.
func (x *exchange) registerInputs() []kit.Input {
	today := ""
	if zone, err := clock.Zone(x.property.GetTimeZone()); err == nil {
		today = x.site.Now().In(zone).Format("2006-01-02")
	}
	inputs := []kit.Input{
		{Name: "firstArrivalOn", Label: "staff.register.first", Type: "date", Value: today},
		{Name: "lastArrivalOn", Label: "staff.register.last", Type: "date", Value: today},
		{Name: "reason", Label: "staff.why", Hint: "staff.register.why.hint", Autocomplete: "off"},
	}
	if x.R.Method == http.MethodPost {
		return x.Posted(inputs)
	}
	return inputs
}

// showRegister handles the page of the guest register before a read.
func (s *site) showRegister(x *exchange) error {
	return x.registerPage(http.StatusOK, registerView{Inputs: x.registerInputs()}, nil)
}

// backToRegister redirects a GET of the download's URL to the page with the form. The browser comes there after a confirmation of the
// second factor.
func (s *site) backToRegister(x *exchange) error { return x.Redirect(registerPath) }

// registerPage renders the page of the guest register with the result of a read, if there is one. wrong adds errors to the page, or is nil.
func (x *exchange) registerPage(status int, v registerView, wrong func(*page)) error {
	p := x.newPage("staff.register.title")
	p.Here, p.Back, p.Data, p.secret = "reservations", "/app/reservations", v, true
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "register", p)
}

// readRegister reads the registration forms of the posted days: all of them if all is true, otherwise those of the posted page. It returns
// at most maxRegister forms, and v.TooLarge reports that there are more. The posted field "entry" selects one form. The API records the
// read and the reason. The API leaves out forms without an answer, so a page of the API can be empty although others follow. If the posted
// values are invalid, readRegister renders the page with the errors itself, and returns a nil list without an error.
func (x *exchange) readRegister(all bool) (v registerView, list []*propertyv1.RegisterEntry, err error) {
	v = registerView{Inputs: x.registerInputs(), First: x.Value("firstArrivalOn"), Last: x.Value("lastArrivalOn"), Reason: x.Value("reason")}
	refuse := func(wrong func(*page)) (registerView, []*propertyv1.RegisterEntry, error) {
		return v, nil, x.registerPage(http.StatusUnprocessableEntity, v, wrong)
	}
	if n := utf8.RuneCountInString(v.Reason); n < minRegisterReason || n > maxRegisterReason {
		return refuse(func(p *page) { p.refuseReason("f-reason", "staff.register.why.missing") })
	}
	read := &propertyv1.InspectRegisterRequest{FirstArrivalOn: v.First, LastArrivalOn: v.Last, Reason: v.Reason, PageSize: registerRows, PageToken: x.Value("page")}
	if all {
		read.PageSize, read.PageToken = 200, ""
	}
	first, only := read.PageToken == "", x.Value("entry")
	list = []*propertyv1.RegisterEntry{}
	for len(list) <= maxRegister {
		found, err := x.site.api.Register.InspectRegister(x.call(), read)
		if f := x.site.Fault(err); err != nil && f.Kind == fault.Invalid {
			return refuse(func(p *page) { p.Refuse(f, v.Inputs) })
		}
		if err != nil {
			return v, nil, err
		}
		for _, e := range found.GetData().GetList() {
			if only == "" || e.GetId() == only {
				list = append(list, e)
			}
		}
		read.PageToken = found.GetData().GetNextPageToken()
		if read.PageToken == "" || len(list) > 0 && (!all || only != "") {
			break
		}
	}
	if v.TooLarge = len(list) > maxRegister; v.TooLarge {
		list = list[:maxRegister]
	}
	if !all {
		v.Next = read.PageToken
	}
	v.Read, v.Count, v.Whole = true, len(list), first && v.Next == "" && !v.TooLarge
	return v, list, nil
}

// listRegister handles the form that shows the register. The posted field "entry" selects one form. The view "open" shows all forms of the
// days, for printing.
func (s *site) listRegister(x *exchange) error {
	only := x.Value("entry")
	open := only != "" || x.Value("view") == "open"
	v, list, err := x.readRegister(open)
	if err != nil || list == nil {
		return err
	}
	v.Only, v.Open = only != "", open
	for _, e := range list {
		if n := len(v.Days); n == 0 || v.Days[n-1].On != e.GetArrivalOn() {
			v.Days = append(v.Days, registerDay{On: e.GetArrivalOn()})
		}
		day := &v.Days[len(v.Days)-1]
		day.Rows = append(day.Rows, newRegisterRow(e))
	}
	return x.registerPage(http.StatusOK, v, nil)
}

// newRegisterRow returns the row of a form with its answers and signature.
func newRegisterRow(e *propertyv1.RegisterEntry) registerRow {
	row := registerRow{RegisterEntry: e, Facts: kit.AnswersOf(e.GetPerson())}
	if svg := e.GetSignatureSvg(); svg != "" {
		row.Signature = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg)))
	}
	return row
}

// Lacks returns the fields of the official form that have no answer. Some of them do not apply to every guest.
func (r registerRow) Lacks() (fields []string) {
	for _, field := range r.GetFields() {
		if !slices.ContainsFunc(r.Facts, func(a kit.Answer) bool { return a.Field == field }) {
			fields = append(fields, field)
		}
	}
	return fields
}

// downloadRegister handles the download of the register as a CSV file. If the days have more than maxRegister forms, it shows an error.
func (s *site) downloadRegister(x *exchange) error {
	v, list, err := x.readRegister(true)
	if err != nil || list == nil {
		return err
	}
	if v.TooLarge {
		return x.registerPage(http.StatusUnprocessableEntity, registerView{Inputs: v.Inputs, TooLarge: true}, nil)
	}
	body, err := registerCSV(list)
	if err != nil {
		return err
	}
	x.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	x.W.Header().Set("Content-Disposition", `attachment; filename="guest-register-`+v.First+`-`+v.Last+`.csv"`)
	_, err = x.W.Write(body)
	return err
}
