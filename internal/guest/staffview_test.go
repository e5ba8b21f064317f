package guest_test

import (
	"maps"
	"slices"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
)

// Which answers each role sees, by why they are asked.
func TestStaffSeesByRole(t *testing.T) {
	const notAsked rule.Reason = ""
	reasons := []rule.Reason{rule.ByLaw, rule.Decides, rule.ByProperty, notAsked}
	for role, want := range map[string][]bool{
		"owner":        {true, true, true, true},
		"manager":      {true, true, true, true},
		"frontDesk":    {true, true, true, false},
		"operator":     {true, true, true, false}, // of a token
		"viewer":       {false, false, false, false},
		"housekeeping": {false, false, false, false},
		"":             {false, false, false, false},
		"somethingNew": {false, false, false, false},
	} {
		for i, why := range reasons {
			if got := guest.StaffSees(role, why); got != want[i] {
				t.Errorf("%q sees an answer asked for %q: %v", role, why, got)
			}
		}
	}
}

// seen returns the fields of the main guest that a role sees, sorted, and how many others are stored.
func (h *fixture) seen(role, reservationID string) (fields []rule.Field, withheld int) {
	p := h.party(reservationID)
	answers, withheld := p.AnswersFor(role, p.Members[0])
	return slices.Sorted(maps.Keys(answers)), withheld
}

// The front desk sees what the law and the property ask now. Owners and managers also see what is stored from former settings.
func TestDeskSeesWhatIsAsked(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("none")
		set := func(groups ...string) {
			h.write(func(tx *db.Tx) error {
				return tx.CheckInSettings.UpdateOneID(hotel).SetMandatoryGroups(groups).Exec(tx.Context())
			})
		}
		set("contact")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.ContactStep, "email", "ana@example.com", "mobile", "+351912345678"))
		all := []rule.Field{rule.Email, rule.FirstName, rule.LastName, rule.Mobile}
		for _, role := range []string{"owner", "manager", "frontDesk"} {
			if fields, withheld := h.seen(role, id); !slices.Equal(fields, all) || withheld != 0 {
				t.Errorf("%s sees %v, %d withheld", role, fields, withheld)
			}
		}
		set()
		if fields, withheld := h.seen("frontDesk", id); !slices.Equal(fields, []rule.Field{rule.FirstName, rule.LastName}) || withheld != 2 {
			t.Errorf("after the group ended, the desk sees %v, %d withheld", fields, withheld)
		}
		if fields, withheld := h.seen("manager", id); !slices.Equal(fields, all) || withheld != 0 {
			t.Errorf("after the group ended, a manager sees %v, %d withheld", fields, withheld)
		}
		if fields, withheld := h.seen("housekeeping", id); len(fields) != 0 || withheld != len(all) {
			t.Errorf("housekeeping sees %v, %d withheld", fields, withheld)
		}
	})
}

// The legal block stays visible to the desk after the property chose another rule: the law under which it was saved asks it.
func TestDeskSeesTheLegalBlock(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "PT"))
		h.must(h.save(a, main, rule.BirthStep, "birthDate", "1990-02-03", "sex", "F"))
		want := []rule.Field{rule.BirthDate, rule.FirstName, rule.LastName, rule.Nationality, rule.Sex}
		for _, law := range []string{"ES", "none"} {
			h.rules(law)
			if fields, withheld := h.seen("frontDesk", id); !slices.Equal(fields, want) || withheld != 0 {
				t.Errorf("with the rule %s, the desk sees %v, %d withheld", law, fields, withheld)
			}
		}
	})
}
