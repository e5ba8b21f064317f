package staff

import (
	"io"
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// Names of the inputs for a file of rooms: an upload, or its pasted text. If both are posted, the upload counts.
const sheetFile, sheetText = "file", "list"

type sheetView struct {
	PMS        string // id of the integration that the file is mapped to, or ""
	Inputs     []kit.Input
	Faults     []sheetFault
	Plan       *sheetPlan                 // the plan to confirm; nil before a file was read, or if it has errors
	Text       string                     // the content of the file, which the form that confirms the plan posts again
	LastChange string                     // id of the latest change of the mapping that the page shows; "none": there is no change yet
	Preview    *propertyv1.MappingPreview // effect of the new mapping of existing rooms; nil if it does not change
}

// sheetInputs returns the form fields of the import.
func sheetInputs() []kit.Input {
	return []kit.Input{{Name: sheetText, Label: "staff.sheet.paste", Hint: "staff.sheet.hint", Type: "lines"}}
}

// downloadRooms handles the download of the rooms and their mapping as a CSV file.
func (s *site) downloadRooms(x *exchange) error {
	d, err := x.loadSpaces()
	if err != nil {
		return err
	}
	h := x.W.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="rooms.csv"`)
	return writeSheet(x.W, d)
}

// showImport handles the page that imports a file of rooms.
func (s *site) showImport(x *exchange) error {
	return x.importPage(http.StatusOK, sheetView{PMS: x.R.FormValue("pms"), Inputs: sheetInputs()})
}

// importPage renders the page that imports a file of rooms, with the errors of the file (the first ten) or with the plan to confirm.
func (x *exchange) importPage(status int, v sheetView) error {
	p := x.newPage("staff.sheet.title")
	p.Here, p.Back, p.Data = "spaces", listURL("/app/spaces", "pms", v.PMS), v
	for _, f := range v.Faults[:min(len(v.Faults), 10)] {
		p.Wrong = append(p.Wrong, kit.Wrong{ID: "f-" + sheetText, Label: p.T("staff.sheet.line", "line", f.Line), Text: p.T(f.Text, "room", f.Room)})
	}
	return x.render(status, "sheet", p)
}

// postedSheet returns the content of the uploaded file or, without one, the pasted text.
func (x *exchange) postedSheet() (string, error) {
	if x.R.MultipartForm == nil || len(x.R.MultipartForm.File[sheetFile]) == 0 || x.R.MultipartForm.File[sheetFile][0].Size == 0 {
		return x.Value(sheetText), nil
	}
	f, err := x.R.MultipartForm.File[sheetFile][0].Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(f) // ParseForm has limited the size
	return string(raw), err
}

// importRooms handles the form that imports a file of rooms. The first post shows what the import will change. The second, with do=import,
// changes it. A file with an error changes nothing. If the API refuses the second, such as because the mapping has changed meanwhile, new
// rooms can stay: see applySheet.
func (s *site) importRooms(x *exchange) error {
	text, err := x.postedSheet()
	if err != nil {
		return err
	}
	d, err := x.loadSpaces()
	if err != nil {
		return err
	}
	v := sheetView{PMS: d.chosen.GetId(), Inputs: sheetInputs(), Text: text, LastChange: d.lastChange}
	v.Inputs[0].Value = text
	rows, wrong := readSheet(text)
	plan := sheetPlan{}
	if len(wrong) == 0 {
		plan, wrong = planSheet(rows, d)
	}
	if len(rows) == 0 && len(wrong) == 0 {
		wrong = []sheetFault{{Line: 1, Text: "staff.sheet.empty"}}
	}
	if v.Faults = wrong; len(wrong) > 0 {
		return x.importPage(http.StatusUnprocessableEntity, v)
	}
	changes, _ := mappingChanges(plan.mapped) // planSheet has already refused duplicates
	if x.Value("do") != "import" {
		v.Plan = &plan
		would, err := x.editMappings(v.PMS, v.LastChange, changes)(true)
		if err != nil {
			return err
		}
		v.Preview = would.MappingPreview
		return x.importPage(http.StatusOK, v)
	}
	err = x.applySheet(plan, changes)
	switch {
	case err == nil:
		return x.Redirect(listURL("/app/spaces", "pms", v.PMS, "done", "imported"))
	case s.Fault(err).Reason == fault.Outdated:
		return x.spacesPage(http.StatusConflict, nil, func(p *page, _ spacesData) { p.refuseOutdated() })
	case s.Fault(err).Kind == fault.Invalid:
		v.Faults = []sheetFault{{Line: 1, Text: "staff.rooms.refused"}}
		return x.importPage(http.StatusUnprocessableEntity, v)
	}
	return err
}

// applySheet creates the rooms of plan, and then stores the mapping of the existing rooms (changes) and of the new rooms. These are two API
// calls: if the second fails, the new rooms stay.
func (x *exchange) applySheet(plan sheetPlan, changes []*propertyv1.Mapping) error {
	if len(plan.Create) > 0 {
		made, err := x.site.api.Spaces.BatchCreateSpaces(x.call(), &propertyv1.BatchCreateSpacesRequest{Spaces: plan.Create})
		if err != nil {
			return err
		}
		ids := make([]string, len(plan.created))
		for i, space := range made.GetData().GetList() { // in the order of plan.Create
			ids[i] = space.GetId()
		}
		changes = plan.withCreated(changes, ids)
	}
	_, err := x.editMappings(x.Value("pms"), x.Value("lastChange"), changes)(false)
	return err
}
