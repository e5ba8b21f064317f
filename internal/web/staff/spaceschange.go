package staff

import (
	"net/http"
	"slices"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

// changeSpaces handles the forms of the page of spaces: "rows" stores the choices of all rows, "cure" resolves a conflict in one of the
// proposed ways, "exact" accepts the suggestions, and "missing" creates rooms. The API refuses "rows", "exact" and "missing" if the mapping
// has changed since the page was shown, and "cure" if the conflict no longer has that cure. Then the page is shown again with 409. With the
// field "preview", the page only shows what would change or, with the value "back", the posted rows again.
func (s *site) changeSpaces(x *exchange) error {
	pms := x.Value("pms")
	if pms == "" {
		return x.Redirect("/app/spaces")
	}
	back := func(done string) string {
		return listURL("/app/spaces", "pms", pms, "page", x.Value("page"), "done", done)
	}
	done, err := "mapped", error(nil)
	var change edit
	switch x.Value("do") {
	case "rows":
		if x.Value("preview") == "back" {
			return x.spacesPage(http.StatusOK, nil, nil)
		}
		var choices []spaceChoice
		for _, id := range x.R.PostForm["space"] {
			choices = append(choices, spaceChoice{spaceID: id, was: x.Value("was." + id), now: x.Value("map." + id)})
		}
		changes, twice := mappingChanges(choices)
		if twice != "" {
			return x.chosenTwice(choices, twice)
		}
		change = x.editMappings(pms, x.Value("lastChange"), changes)
	case "cure":
		change = x.applyCure(x.Value("conflict"), x.Value("kind"), x.Value("external"))
	case "exact":
		change = x.takeSuggestions(pms, x.Value("lastChange"))
	case "missing":
		done = "taken"
		change = x.createMissing(pms, x.Value("lastChange"))
	default:
		return x.Redirect(back(""))
	}
	switch {
	case change != nil && x.Value("preview") != "":
		err = x.previewPage(change, "/app/spaces", back(""))
		if err == nil {
			return nil
		}
	case change != nil:
		var made effect
		if made, err = change(false); made.Left > 0 {
			done = "takenPart"
		}
	}
	if err != nil && s.Fault(err).Reason == fault.Outdated {
		return x.spacesPage(http.StatusConflict, nil, func(p *page, _ spacesData) {
			p.refuseOutdated()
			if x.Value("do") == "rows" {
				p.Wrong[0].Text = p.T("staff.spaces.outdated.kept")
			}
		})
	}
	if err != nil {
		return err
	}
	return x.Redirect(back(done))
}

// postedChoice returns the id of the PMS's space that the page selects for a space of the property, or "". After a posted form, it returns
// the person's choice if neither space was mapped in another way since the form was shown. Otherwise it returns the current mapping.
func (x *exchange) postedChoice(d spacesData, spaceID string) string {
	now, chosen := d.mappedTo(spaceID).GetExternalId(), x.Value("map."+spaceID)
	if !x.R.PostForm.Has("map."+spaceID) || x.Value("was."+spaceID) != now {
		return now
	}
	for _, p := range d.listed {
		if holder := p.GetSpaceId(); p.GetExternalId() == chosen && holder != "" && x.Value("was."+holder) != chosen {
			return now
		}
	}
	return chosen
}

// refuseOutdated adds the error that another person has changed the mapping since the page was shown.
func (p *page) refuseOutdated() {
	p.Wrong = []kit.Wrong{{Title: p.T("staff.spaces.outdated"), Text: p.T("staff.spaces.outdated.text")}}
}

// chosenTwice shows the posted choices again. twice is the id of a space of the PMS that several choices have; each of them gets an error.
func (x *exchange) chosenTwice(choices []spaceChoice, twice string) error {
	return x.spacesPage(http.StatusUnprocessableEntity, nil, func(p *page, d spacesData) {
		name := twice
		for _, listed := range d.listed {
			if listed.GetExternalId() == twice {
				name = fullName(listed)
			}
		}
		for _, own := range d.own {
			if slices.ContainsFunc(choices, func(c spaceChoice) bool { return c.spaceID == own.GetId() && c.now == twice }) {
				p.Wrong = append(p.Wrong, kit.Wrong{ID: mapField(own.GetId()), Label: p.T("staff.spaces.at", "name", text.FullName(own.GetParentName(), own.GetName())), Text: p.T("staff.spaces.twice", "name", name)})
			}
		}
	})
}
