package staff

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
)

// lineFaults writes what is wrong with a file as text, and checks that each has a text for people.
func lineFaults(t *testing.T, list []sheetFault) string {
	t.Helper()
	var texts []string
	for _, f := range list {
		if !message.Has(f.Text) {
			t.Errorf("%s has no text", f.Text)
		}
		texts = append(texts, fmt.Sprint(f.Line, " ", f.Text[strings.LastIndex(f.Text, ".")+1:]))
	}
	return strings.Join(texts, "; ")
}

func TestReadSheet(t *testing.T) {
	for _, c := range []struct{ text, rows, wrong string }{
		{"type,name,floor,dorm,pmsId\nRoom,101,1,,R1\nDorm,D\nBed,\"A, left\",,D,\n", "Room 101 1  R1|Dorm D   |Bed A, left  D ", ""},
		{"\ufeffname;type\r\n101;Room\r\n", "Room 101   ", ""},
		{"type\tname\nRoom\t 101 \n", "Room 101   ", ""},
		{"type,name,color\nRoom,'=1+1,red", "Room =1+1   ", ""},
		{"type,name,pmsName\nRoom,101,ignored", "Room 101   ", ""},
		{"", "", "1 head"}, {"Room,101", "", "1 head"}, {"type\nRoom", "", "1 head"},
		{"type,name,dorm\nHut,1,\nRoom,,\nBed,A,\nRoom,B,D", "Hut 1   |Room    |Bed A   |Room B  D ", "2 type; 3 name; 4 dorm; 5 dorm"},
		{"type,name\nRoom,\"101", "", "2 unreadable"},
		{"type,name\n" + strings.Repeat("Room,1\n", maxSheet+2), strings.TrimSuffix(strings.Repeat("Room 1   |", maxSheet), "|"), fmt.Sprint(maxSheet+2, " rows")},
	} {
		rows, wrong := readSheet(c.text)
		var texts []string
		for _, r := range rows {
			texts = append(texts, strings.Join([]string{r.kind, r.name, r.floor, r.dorm, r.pms}, " "))
		}
		if got := strings.Join(texts, "|"); got != c.rows {
			t.Errorf("%.40q reads %.200q", c.text, got)
		}
		if got := lineFaults(t, wrong); got != c.wrong {
			t.Errorf("%.40q is wrong in %q", c.text, got)
		}
	}
}

func TestPlanSheet(t *testing.T) {
	dorm, room := "d", "r1"
	d := spacesData{
		own:    []*propertyv1.Space{{Id: "d", Type: "Dorm", Name: "Dorm"}, {Id: "b", Type: "Bed", Name: "A", ParentSpaceId: &dorm}, {Id: "r1", Type: "Room", Name: "101", Floor: "1"}},
		listed: []*propertyv1.PartnerSpace{{ExternalId: "X1", SpaceId: &room, Name: "=Suite"}, {ExternalId: "X2"}, {ExternalId: "X3"}},
	}
	for _, c := range []struct{ text, create, maps, wrong string }{
		{"Room,101,,\nBed,A,Dorm,\nDorm,Dorm,,", "", "", ""},
		{"Room,101,,X1", "", "", ""},
		{"Room,101,,X2", "", "X2>r1 X1>", ""},
		{"Bed,B,Dorm,X2\nRoom,102,,X3\nBed,A,Attic,", "Bed B/d; Room 102/; Bed A/Attic", "", ""},
		{"Room,104,,X1", "", "", "1 pmsTaken"},
		{"Room,104,,X1\nRoom,101,,", "", "", "1 pmsTaken"},
		{"Bed,A,Dorm,X1", "", "", "1 pmsTaken"},
		{"Bed,A,Dorm,X1\nRoom,101,,", "", "", "1 pmsTaken"},
		{"Bed,A,Dorm,X1\nRoom,101,,X2", "", "X1>b X2>r1", ""},
		{"Room,104,,X1\nRoom,101,,X2", "Room 104/", "X2>r1 X1>new", ""},
		{strings.Repeat("Room,\x00,,\n", maxRooms+1), "", "", "0 many"},
		{"Room,101,,X9\nRoom,102,,X2\nRoom,103,,X2\nRoom,102,,", "", "", "1 pms; 3 pmsTwice; 4 twice"},
	} {
		for i := 0; strings.Contains(c.text, "\x00"); i++ {
			c.text = strings.Replace(c.text, "\x00", fmt.Sprint("new ", i), 1)
		}
		rows, wrong := readSheet("type,name,dorm,pmsId\n" + c.text)
		for i := range rows {
			rows[i].line--
		}
		plan, faults := planSheet(rows, d)
		if len(faults) == 1 && faults[0].Text == "staff.sheet.many" {
			faults[0].Line-- // of the file
		}
		if got := lineFaults(t, append(wrong, faults...)); got != c.wrong {
			t.Errorf("%q is wrong in %q", c.text, got)
		}
		if c.wrong != "" {
			continue
		}
		var made []string
		for _, s := range plan.Create {
			made = append(made, s.GetType()+" "+s.GetName()+"/"+s.GetParentSpaceId()+s.GetParentName())
		}
		if got := strings.Join(made, "; "); got != c.create {
			t.Errorf("%q creates %q", c.text, got)
		}
		changes, _ := mappingChanges(plan.mapped)
		if slices.Contains(plan.created, "X1") {
			changes = plan.withCreated(changes, []string{"new"})
		}
		if got := pairs(changes); got != c.maps {
			t.Errorf("%q maps %q", c.text, got)
		}
	}

	// What is written can be read again, and changes nothing.
	var file strings.Builder
	if err := writeSheet(&file, d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(file.String(), "Room,101,1,,X1,'=Suite\n") {
		t.Errorf("the file is\n%s", file.String())
	}
	rows, wrong := readSheet(file.String())
	plan, faults := planSheet(rows, d)
	if changes, _ := mappingChanges(plan.mapped); len(plan.Create)+len(changes)+len(wrong)+len(faults) > 0 || plan.Known != 3 {
		t.Errorf("a file that was written plans %+v, wrong %v %v", plan, wrong, faults)
	}
}

// A property with more rooms than one call of the API may make imports its own file.
func TestImportOfALargeProperty(t *testing.T) {
	h := &mappedHouse{house{rights: []string{"readProperty", "manageSpaces"}}}
	for i := range 1000 {
		id := fmt.Sprint("spc_", i)
		h.rooms = append(h.rooms, &propertyv1.Space{Id: id, Type: "Room", Name: fmt.Sprintf("Deluxe double room, sea view %d", i), Floor: "1", IsActive: true})
		h.atPMS = append(h.atPMS, &propertyv1.PartnerSpace{ExternalId: fmt.Sprintf("pms-room-%04d", i), Type: "Room", Name: fmt.Sprintf("Double with a terrace %d", i), State: "mapped", SpaceId: &id, IsActive: true})
	}
	api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Mappings: h, Locks: h, Gates: h}
	file := serve(t, api, "/app/spaces/rooms.csv", nil).Body.String()
	for _, c := range []struct {
		file string
		code int
		text string
	}{
		{file, http.StatusOK, "1000 are there already"},
		{"type,name,pmsId\nRoom,Attic,pms-room-0007\n", http.StatusUnprocessableEntity, "Deluxe double room, sea view 7 is mapped to this pmsId."},
	} {
		a := serve(t, api, "/app/spaces/import", url.Values{"pms": {"int_1"}, "list": {c.file}})
		if body := a.Body.String(); a.Code != c.code || !strings.Contains(body, c.text) {
			_, main, _ := strings.Cut(body, "<h1>")
			t.Errorf("%.100q: %d %.2000s", c.file, a.Code, main)
		}
	}
}
