package staff

import (
	"bytes"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// A new code stops a tablet that is set up, so the page asks first. A tablet that is not has nothing to lose.
func TestNewCodeOfATabletAsksFirst(t *testing.T) {
	d := newDays(nil)
	d.rights = append(d.rights, "readProperty", "manageSettings")
	body := serve(t, API{Sessions: d, Properties: d, Kiosks: d}, "/app/settings/kiosks", nil).Body.String()
	for name, asks := range map[string]bool{"Lobby": true, "Bar": true, "Attic": false} {
		_, row, _ := strings.Cut(body, "<strong>"+name+"</strong>")
		row, _, _ = strings.Cut(row, "</li>")
		before, _, found := strings.Cut(row, `value="reset"`)
		inMenu := strings.Count(before, "<details") > strings.Count(before, "</details")
		if !found || inMenu != asks || strings.Contains(before, "The tablet stops at once, until") != asks {
			t.Errorf("%s: the button is in a menu: %t, want %t: %s", name, inMenu, asks, row)
		}
	}
}

func TestCanDraw(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "Hostel (1)": true, "Münch’s „Łódź“": true, "12\u202f€": true, "Ξενία": true, "Гостиница": true, "ホテル": false, "فندق": false,
	} {
		for font := range fontFiles {
			if got := canDraw(font, text); got != want {
				t.Errorf("%q in the font %s: %t", text, font, got)
			}
		}
	}
}

func TestPosterPDF(t *testing.T) {
	made := poster{QR: kit.QR{Link: "https://checkin.example.com/q/dor_2XK7M4PQRS"}, Calls: []posterSentence{{"en", "Check in with your phone."}, {"fr", "Enregistrez-vous\u202f!"}}}
	size := map[string]int{}
	for _, property := range []string{"", "Hôtel (du Port)", "Ξενία", "ホテル", strings.Repeat("long ", 40)} {
		file, err := made.pdf(property)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(file, []byte("%PDF-")) || bytes.Count(file, []byte("/Type /Page\n")) != 1 {
			t.Errorf("%q: the file is no PDF of one page", property)
		}
		size[property] = len(file)
	}
	if size["Ξενία"] <= size[""] || size["ホテル"]-size[""] > 8 {
		t.Errorf("sizes %v: want Greek letters in the file, and no name without letters", size)
	}
}

func TestQuestionName(t *testing.T) {
	list := []*propertyv1.OwnField{{Name: "adog"}, {Name: "aDog2"}, {Name: "whatIsTheNumberPlateOfTheCarInWh"}}
	for label, want := range map[string]string{
		"Number plate": "numberPlate", "¿Cuál es su matrícula?": "cualEsSuMatricula", "Größe des Autos": "groEDesAutos", "2 pets?": "pets", "Do you bring 2 pets": "doYouBring2Pets",
		"車のナンバー": "question", "": "question", "A dog?": "aDog3", "What is the number plate of the car in which you arrive?": "whatIsTheNumberPlateOfTheCarInW2",
	} {
		if got := questionName(label, list); got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}
