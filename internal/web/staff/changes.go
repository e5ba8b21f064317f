package staff

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

// edit is a prepared change of the mapping between rooms and the PMS. A call stores it. With validateOnly, a call stores nothing and returns
// the effect on reservations.
type edit func(validateOnly bool) (effect, error)

// effect is what a change of the mapping does.
type effect struct {
	*propertyv1.MappingPreview
	New  []*propertyv1.CreatedSpace // the rooms and beds that the change creates
	Left int32                      // how many rooms and beds are left for another call, because one call has a limit
}

// editMappings prepares a change of the given mappings. pms is the id of the integration. lastChange is the id of the latest change that
// the person has seen: the API refuses the edit if there is a later one. Without changes the edit does nothing.
func (x *exchange) editMappings(pms, lastChange string, changes []*propertyv1.Mapping) edit {
	return func(validateOnly bool) (effect, error) {
		if len(changes) == 0 {
			return effect{}, nil
		}
		answer, err := x.site.api.Mappings.BatchSetMappings(x.call(), &propertyv1.BatchSetMappingsRequest{IntegrationId: pms, Mappings: changes, ValidateOnly: validateOnly, LastChangeId: lastChange})
		return effect{MappingPreview: answer.GetPreview()}, err
	}
}

// takeSuggestions prepares an edit that accepts the suggested mappings of rooms and spaces of the PMS with identical names. Its parameters
// are those of editMappings.
func (x *exchange) takeSuggestions(pms, lastChange string) edit {
	return func(validateOnly bool) (effect, error) {
		answer, err := x.site.api.Mappings.ApplySuggestions(x.call(), &propertyv1.ApplySuggestionsRequest{IntegrationId: pms, ExactOnly: true, ValidateOnly: validateOnly, LastChangeId: lastChange})
		return effect{MappingPreview: answer.GetPreview()}, err
	}
}

// createMissing prepares an edit that creates rooms and beds like those of the PMS, and maps them. One call creates a limited number: see
// effect.Left. The parameters are those of editMappings.
func (x *exchange) createMissing(pms, lastChange string) edit {
	return func(validateOnly bool) (effect, error) {
		answer, err := x.site.api.Mappings.CreateMissingSpaces(x.call(), &propertyv1.CreateMissingSpacesRequest{IntegrationId: pms, ValidateOnly: validateOnly, LastChangeId: lastChange})
		return effect{answer.GetPreview(), answer.GetData().GetList(), answer.GetData().GetLeft()}, err
	}
}

// applyCure prepares an edit that resolves a conflict of the mapping with one of its cures, the fixes that the API proposes. conflict is
// the id of the conflict, and kind the kind of the cure. external is the id of the new space of the PMS, if the cure needs one.
func (x *exchange) applyCure(conflict, kind, external string) edit {
	return func(validateOnly bool) (effect, error) {
		answer, err := x.site.api.Mappings.ApplyCure(x.call(), &propertyv1.ApplyCureRequest{ConflictId: conflict, Kind: kind, ExternalId: external, ValidateOnly: validateOnly})
		return effect{MappingPreview: answer.GetPreview()}, err
	}
}

// undo prepares an edit that reverts the change of the mapping with this id. The API refuses it if the change was reverted already, if one
// of its mappings has changed since, or if a former space was deleted or is mapped otherwise.
func (x *exchange) undo(change string) edit {
	return func(validateOnly bool) (effect, error) {
		answer, err := x.site.api.Mappings.UndoMappingChange(x.call(), &propertyv1.UndoMappingChangeRequest{Id: change, ValidateOnly: validateOnly})
		return effect{MappingPreview: answer.GetPreview()}, err
	}
}

// postedField is a value of the posted form, which the page of the preview repeats as a hidden field.
type postedField struct{ Name, Value string }

type previewView struct {
	effect
	Action string // URL to which the form is posted again
	Fields []postedField
	Back   string
}

// Chooses reports whether the person has chosen mappings row by row. The button "back" then posts the choices again, so that they are not
// lost.
func (v previewView) Chooses() bool {
	return slices.Contains(v.Fields, postedField{"do", "rows"})
}

// More returns how many reservations that get other doors are not listed in the preview.
func (v previewView) More() int { return int(v.GetChanged()) - len(v.GetStays()) }

// newRows is how many new rooms and beds the preview names.
const newRows = 50

// Names returns the names of the new rooms and beds, at most newRows.
func (v previewView) Names() (names []string) {
	for _, s := range v.New[:min(len(v.New), newRows)] {
		names = append(names, text.FullName(s.GetParentName(), s.GetName()))
	}
	return names
}

// MoreNew returns the number of new rooms and beds that the preview does not name.
func (v previewView) MoreNew() int { return len(v.New) - len(v.Names()) }

// previewPage renders the effect of an edit without storing it. would is the edit. A button posts the same form again to the URL action,
// which stores the edit. back is the URL of the page to return to.
func (x *exchange) previewPage(would edit, action, back string) error {
	found, err := would(true)
	if err != nil {
		return err
	}
	p := x.newPage("staff.preview")
	p.Here, p.Data = "spaces", previewView{effect: found, Action: action, Fields: x.mappingFields(), Back: back}
	return x.render(http.StatusOK, "preview", p)
}

// mappingFields returns those values of the posted form that describe the edit. The page of the preview repeats them as hidden fields.
func (x *exchange) mappingFields() (fields []postedField) {
	for name, values := range x.R.PostForm {
		if !slices.Contains([]string{"do", "pms", "page", "lastChange", "space", "conflict", "kind", "external", "id"}, name) && !strings.HasPrefix(name, "was.") && !strings.HasPrefix(name, "map.") {
			continue
		}
		for _, value := range values {
			fields = append(fields, postedField{name, value})
		}
	}
	slices.SortStableFunc(fields, func(a, b postedField) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// changedRows is how many rooms an entry of the history names.
const changedRows = 5

// changeRow is an entry of the history of the mapping.
type changeRow struct {
	*propertyv1.MappingChange
	Named []*propertyv1.ChangedMapping // the first rooms of the change
}

// More returns the number of rooms that the entry does not name.
func (c changeRow) More() int { return len(c.GetRows()) - len(c.Named) }

// PartnerName returns the name that the PMS had for a space when its mapping changed, or the space's id at the PMS if it had none.
func (changeRow) PartnerName(m *propertyv1.ChangedMapping) string {
	for _, mapped := range []*propertyv1.MappedSpace{m.GetAfter(), m.GetBefore()} {
		if mapped.GetPartnerName() != "" {
			return mapped.GetPartnerName()
		}
	}
	return m.GetExternalId()
}

type changesView struct {
	PMS     string                    // id of the integration whose history the page shows; "" if no PMS is connected
	Others  []*propertyv1.Integration // all connected PMSs, if there are several to choose from
	Rows    []changeRow
	Next    string // URL of the next page, or ""
	Manages bool   // the person may undo changes
}

// showChanges handles the history of the mapping.
func (s *site) showChanges(x *exchange) error { return x.changesPage(http.StatusOK, nil) }

// changesPage renders the history of the mapping, the latest change first: that of the PMS in the query or form or, without one, of the
// first PMS. f is why the API refused to undo a change, or nil.
func (x *exchange) changesPage(status int, f *fault.Fault) error {
	v := changesView{PMS: x.R.FormValue("pms"), Manages: x.may("manageSpaces")}
	list, first, err := x.integrations()
	if err != nil {
		return err
	}
	if len(list) > 1 {
		v.Others = list
	}
	if v.PMS == "" {
		v.PMS = first.GetId()
	}
	if v.PMS == "" { // no PMS is connected, so nothing was mapped
		p := x.newPage("staff.changes")
		p.Here, p.Data = "spaces", v
		return x.render(status, "changes", p)
	}
	size := x.pageSize(usualRows, mostRows)
	found, err := x.site.api.Mappings.ListMappingChanges(x.call(), &propertyv1.ListMappingChangesRequest{PageSize: int32(size), IntegrationId: v.PMS, PageToken: x.R.FormValue("page")})
	if err != nil {
		return err
	}
	for _, c := range found.GetData().GetList() {
		v.Rows = append(v.Rows, changeRow{MappingChange: c, Named: c.GetRows()[:min(len(c.GetRows()), changedRows)]})
	}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/spaces/changes", "pms", v.PMS, "page", next)
	}
	p := x.newPage("staff.changes")
	p.Here, p.Data = "spaces", v
	x.resizable(p, size, mostRows, len(v.Rows), v.Next != "")
	if f != nil {
		p.Wrong = []kit.Wrong{p.refusedUndo(f, v.Rows)}
	}
	return x.render(status, "changes", p)
}

// undoDifferences are the API's reasons why a change cannot be undone. Each has a message staff.undo.REASON.
var undoDifferences = []string{"changedSince", "spaceTaken", "spaceDeleted"}

// refusedUndo returns the error of an undo that the API refused: which mapping differs now, and who changed it when. rows are the changes
// on the page, from which it takes the names of rooms and people.
func (p *page) refusedUndo(f *fault.Fault, rows []changeRow) kit.Wrong {
	who, externalID := f.Meta["by"], f.Meta["externalId"]
	room := externalID
	for _, row := range slices.Backward(rows) { // the newest row is the first of rows, so its name replaces those of older rows
		if row.GetId() == f.Meta["changeId"] {
			who = cmp.Or(row.GetAuthorName(), who)
		}
		for _, m := range row.GetRows() {
			if m.GetExternalId() == externalID {
				room = row.PartnerName(m)
			}
		}
	}
	wrong := kit.Wrong{Title: p.T("staff.changes.outdated"), Text: p.T("staff.changes.outdated.text")}
	switch difference := f.Meta["difference"]; {
	case slices.Contains(undoDifferences, difference):
		wrong.Text = p.T("staff.undo."+difference, "room", room)
	case f.Meta["changeId"] != "":
		wrong.Text = p.T("staff.undo.already")
	}
	if at, err := time.Parse(time.RFC3339, f.Meta["at"]); err == nil {
		wrong.Text += " " + p.T("staff.undo.by", "who", cmp.Or(p.Who("", who), who), "at", p.When(timestamppb.New(at)))
	}
	return wrong
}

// undoChange handles the buttons that revert a change of the mapping, or preview that. If the API refuses it because the mapping has
// changed since, the history shows why. It returns other errors.
func (s *site) undoChange(x *exchange) error {
	undo, err := x.undo(x.Value("id")), error(nil)
	if x.Value("preview") != "" {
		if err = x.previewPage(undo, "/app/spaces/changes", listURL("/app/spaces/changes", "pms", x.Value("pms"))); err == nil {
			return nil
		}
	} else {
		_, err = undo(false)
	}
	if err != nil && s.Fault(err).Reason == fault.Outdated {
		return x.changesPage(http.StatusConflict, s.Fault(err))
	}
	if err != nil {
		return err
	}
	return x.Redirect(listURL("/app/spaces", "pms", x.Value("pms"), "done", "undone"))
}
