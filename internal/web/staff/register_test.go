package staff

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/staff"
)

// register is an API with 60 signed forms, after some without an answer, which it leaves out.
type register struct {
	*fakeAPI
	empty int
}

func (c register) InspectRegister(_ context.Context, r *propertyv1.InspectRegisterRequest, _ ...grpc.CallOption) (*propertyv1.InspectRegisterResponse, error) {
	page := &propertyv1.RegisterPage{}
	first, _ := strconv.Atoi(r.GetPageToken())
	next := min(first+int(r.GetPageSize()), c.empty+60)
	for i := max(first-c.empty, 0); i < next-c.empty; i++ {
		page.List = append(page.List, &propertyv1.RegisterEntry{
			Id: fmt.Sprintf("gst_01jd8vx3a2b4c6d8e0f2g4h%03d", i), Rule: "ES", PmsNumber: fmt.Sprint(10000 + i), Role: "main", ArrivalOn: "2026-11-02", DepartureOn: "2026-11-05", State: "inHouse",
			Person:       &guestv1.Person{FirstName: "Maximiliana", LastName: fmt.Sprintf("Guest %03d", i), Sex: "F", BirthDate: "1990-01-02", Nationality: "DE", Mobile: "+49 170 1234567", Email: "ana@example.com"},
			SignatureSvg: strings.Repeat("M12 34L56 78", 200), SignedAt: before(0), EraseAt: before(0),
			Fields: []string{"firstName", "lastName", "sex", "birthDate", "nationality", "address.street", "address.city", "address.country", "document.type", "document.number"},
		})
	}
	if next < c.empty+60 {
		page.NextPageToken = fmt.Sprint(next)
	}
	return &propertyv1.InspectRegisterResponse{Data: page}, nil
}

// A page of the register has 25 forms and stays below 150 kB with all their signatures. The document to print has all forms of the days.
func TestRegisterPages(t *testing.T) {
	const part = "These days have more forms than this page."
	for _, tt := range []struct {
		empty       int // number of guests without an answer
		view        url.Values
		first, last int
		next        string
		count       string
	}{
		{0, nil, 0, 24, "25", part},
		{0, url.Values{"page": {"25"}}, 25, 49, "50", part},
		{0, url.Values{"page": {"50"}}, 50, 59, "", part},
		{0, url.Values{"page": {"25"}, "view": {"open"}}, 0, 59, "", "60 forms."},
		{0, url.Values{"entry": {"gst_01jd8vx3a2b4c6d8e0f2g4h059"}}, 59, 59, "", "1 form."},
		{50, nil, 0, 24, "75", part},
		{300, url.Values{"view": {"open"}}, 0, 59, "", "60 forms."},
	} {
		c := register{&fakeAPI{role: staff.Owner}, tt.empty}
		form := url.Values{"firstArrivalOn": {"2026-11-02"}, "lastArrivalOn": {"2026-11-02"}, "reason": {"inspection"}}
		for name, values := range tt.view {
			form[name] = values
		}
		a := serve(t, API{Sessions: c, Properties: c, Register: c}, "/app/register", form)
		page := a.Body.String()
		if n := strings.Count(page, `class="card entry"`); n != tt.last-tt.first+1 {
			t.Errorf("%v: %d forms", tt.view, n)
		}
		for _, i := range []int{tt.first, tt.last} {
			if !strings.Contains(page, fmt.Sprintf("Guest %03d", i)) {
				t.Errorf("%v: guest %d is missing", tt.view, i)
			}
		}
		if tt.view.Get("view") == "" && len(page) > 150_000 {
			t.Errorf("%v: %d bytes", tt.view, len(page))
		}
		if got := strings.Contains(page, `name="page"`); got != (tt.next != "") || got && !strings.Contains(page, `name="page" value="`+tt.next+`"`) {
			t.Errorf("%v: a next page: %t", tt.view, got)
		}
		if !strings.Contains(page, tt.count) || strings.Contains(page, "data-print") != (tt.count != part) {
			t.Errorf("%v: %q is missing, or the button to print is wrong", tt.view, tt.count)
		}
	}
}

// The file has the columns of the rule, one line a guest, and no cell that a spreadsheet runs.
func TestRegisterCSV(t *testing.T) {
	body, err := registerCSV([]*propertyv1.RegisterEntry{
		{ArrivalOn: "2026-11-02", Rule: "ES", Role: "main", Fields: []string{"firstName", "lastName", "sex"}, Person: &guestv1.Person{FirstName: "=1+1", LastName: "Müller; \"Ana\"", Mobile: "+351 912 345", FurtherNationalities: []string{"PT", "FR"}}},
		{ArrivalOn: "2026-11-03", Rule: "ES", Role: "companion", Fields: []string{"firstName", "lastName", "sex"}, Person: &guestv1.Person{FirstName: "@cmd", Sex: "f", Own: map[string]string{"car": "x"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(string(body), "\ufeff")
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !ok || len(lines) != 3 {
		t.Fatalf("%v, mark %v, %d lines", err, ok, len(lines))
	}
	want := "arrivalOn departureOn state number role rule firstName lastName sex otherNationality mobile signedAt eraseAt"
	if got := strings.Join(lines[0], " "); got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	for column, values := range map[string][2]string{
		"firstName": {"'=1+1", "'@cmd"}, "lastName": {"Müller; \"Ana\"", ""}, "sex": {"", "f"}, "otherNationality": {"PT; FR", ""}, "mobile": {"+351 912 345", ""},
	} {
		for i, name := range lines[0] {
			if name == column && (lines[1][i] != values[0] || lines[2][i] != values[1]) {
				t.Errorf("%s: %q and %q, want %q", column, lines[1][i], lines[2][i], values)
			}
		}
	}
}

func TestPlainCell(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "Ana": "Ana", "-": "-", "+351 (0) 912": "+351 (0) 912", "=HYPERLINK(1)": "'=HYPERLINK(1)", "+A1": "'+A1", "-2+A1": "'-2+A1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx",
	} {
		if got := plainCell(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
