package property

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
)

func ptr[T any](v T) *T { return &v }

func write(t *testing.T, d *db.DB, fn func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// hotel makes a property and returns its id.
func hotel(t *testing.T, d *db.DB, keys *keyring.Ring, name string) string {
	t.Helper()
	made := id.New(id.Property)
	write(t, d, func(tx *db.Tx) error {
		_, err := Create(tx, keys, made, Settings{Name: &name, TimeZone: ptr("Europe/Lisbon")})
		return err
	})
	return made
}

func TestCreateNamesEveryWrongSetting(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d)
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := Create(tx, keys, id.New(id.Property), Settings{
				TimeZone: ptr("Local"), CheckInTime: ptr("24:00"), CheckOutTime: ptr("9:00"), EarlyInMinutes: ptr(-1), LateOutMinutes: ptr(1441),
				PINLength: ptr(5), OwingPolicy: ptr("maybe"), OwingThresholdMinor: ptr(int64(-1)),
			})
			return err
		})
		f, ok := fault.Of(err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
		want := []string{"timeZone", "checkInTime", "checkOutTime", "earlyInMinutes", "lateOutMinutes", "pinLength", "owingPolicy", "owingThresholdMinor", "name"}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUpdateKeepsWhatIsLeftOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d)
		p, other := hotel(t, d, keys, "A"), hotel(t, d, keys, "B")
		write(t, d, func(tx *db.Tx) error {
			row, err := Update(tx, p, Settings{LateOutMinutes: ptr(30), GatesAlone: ptr(true)})
			if err == nil && (row.Name != "A" || row.TimeZone != "Europe/Lisbon" || row.LateOutMinutes != 30 || !row.GatesAlone || row.CheckInTime != "15:00") {
				t.Errorf("got %+v", row)
			}
			return err
		})
		if row, err := Get(d.View(t.Context()), other); err != nil || row.LateOutMinutes != 0 {
			t.Errorf("the other: %+v, %v", row, err)
		}
		err := d.Write(t.Context(), func(tx *db.Tx) error { _, err := Update(tx, "prp_none", Settings{Name: ptr("x")}); return err })
		if !fault.Has(err, fault.PropertyNotFound) {
			t.Errorf("got %v", err)
		}
		rows, err := List(d.View(t.Context()), 1, p)
		if err != nil || len(rows) != 1 || rows[0].ID != other {
			t.Errorf("second page: %v, %v", rows, err)
		}
	})
}

func TestTextsIn(t *testing.T) {
	settings := &CheckInSettings{
		Language: "en", HouseRules: "Be quiet.", Directions: "Turn left.",
		Texts: map[string]LocalTexts{
			"de": {HouseRules: "Leise sein.", Directions: "Links abbiegen.", Address: "Weg 1"},
			"fr": {HouseRules: "Silence."},
		},
	}
	for language, want := range map[string]LocalTexts{
		"en": {HouseRules: "Be quiet.", Directions: "Turn left."},
		"de": {HouseRules: "Leise sein.", Directions: "Links abbiegen."}, // the property has no address
		"fr": {HouseRules: "Silence.", Directions: "Turn left."},
		"es": {HouseRules: "Be quiet.", Directions: "Turn left."},
		"":   {HouseRules: "Be quiet.", Directions: "Turn left."},
	} {
		if got := TextsIn(settings, language); got != want {
			t.Errorf("%q: %+v, want %+v", language, got, want)
		}
	}
	for language, want := range map[string]LocalTexts{
		"en": {HouseRules: "en", Directions: "en"},
		"de": {HouseRules: "de", Directions: "de"},
		"fr": {HouseRules: "fr", Directions: "en"},
		"es": {HouseRules: "en", Directions: "en"},
	} {
		if got := LanguagesIn(settings, language); got != want {
			t.Errorf("%q: the languages are %+v, want %+v", language, got, want)
		}
	}
}
