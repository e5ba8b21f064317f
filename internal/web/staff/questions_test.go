package staff

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

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
