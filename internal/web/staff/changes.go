package staff

import (
	"net/http"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// edit is a prepared change of the mapping between rooms and the PMS. A call stores it. With validateOnly, a call stores nothing and returns
// the effect.
type edit func(validateOnly bool) (*propertyv1.MappingPreview, error)

// editMappings prepares a change of the given mappings. pms is the id of the integration. lastChange is the latest change that the person has
// seen: the API refuses the edit if there is a later one.
func (x *exchange) editMappings(pms, lastChange string, changes []*propertyv1.Mapping) edit {
	return func(validateOnly bool) (*propertyv1.MappingPreview, error) {
		if len(changes) == 0 {
			return &propertyv1.MappingPreview{}, nil
		}
		answer, err := x.site.api.Mappings.BatchSetMappings(x.call(), &propertyv1.BatchSetMappingsRequest{IntegrationId: pms, Mappings: changes, ValidateOnly: validateOnly, LastChangeId: lastChange})
		return answer.GetPreview(), err
	}
}

// takeSuggestions prepares an edit that accepts all suggestions of an identical name. Its parameters are those of editMappings.
func (x *exchange) takeSuggestions(pms, lastChange string) edit {
	return func(validateOnly bool) (*propertyv1.MappingPreview, error) {
		answer, err := x.site.api.Mappings.ApplySuggestions(x.call(), &propertyv1.ApplySuggestionsRequest{IntegrationId: pms, ExactOnly: true, ValidateOnly: validateOnly, LastChangeId: lastChange})
		return answer.GetPreview(), err
	}
}

// postedField is a value of the posted form, which the page of the preview repeats as a hidden field.
type postedField struct{ Name, Value string }

type previewView struct {
	*propertyv1.MappingPreview
	Fields []postedField
	Back   string
}

// More returns the number of affected reservations that the preview does not list.
func (v previewView) More() int { return int(v.GetReservations()) - len(v.GetStays()) }

// previewPage renders the effect of an edit, with a button that stores it. back is the URL of the page to return to.
func (x *exchange) previewPage(would edit, back string) error {
	found, err := would(true)
	if err != nil {
		return err
	}
	p := x.newPage("staff.preview")
	p.Here, p.Data = "spaces", previewView{MappingPreview: found, Fields: x.mappingFields(), Back: back}
	return x.render(http.StatusOK, "preview", p)
}

// mappingFields returns the values of the posted form that the preview must repeat.
func (x *exchange) mappingFields() (fields []postedField) {
	for name, values := range x.R.PostForm {
		if !slices.Contains([]string{"do", "pms", "page", "lastChange", "space", "external"}, name) && !strings.HasPrefix(name, "was.") && !strings.HasPrefix(name, "map.") {
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

// PartnerName returns the name that the PMS had for a space when its mapping changed.
func (changeRow) PartnerName(m *propertyv1.ChangedMapping) string {
	for _, mapped := range []*propertyv1.MappedSpace{m.GetAfter(), m.GetBefore()} {
		if mapped.GetPartnerName() != "" {
			return mapped.GetPartnerName()
		}
	}
	return m.GetExternalId()
}

type changesView struct {
	PMS     string
	Others  []*propertyv1.Integration // all connected PMSs, if there are several to choose from
	Rows    []changeRow
	Next    string
	Manages bool
}

// showChanges handles the history of the mapping.
func (s *site) showChanges(x *exchange) error { return x.changesPage(http.StatusOK, nil) }

// changesPage renders the history of the mapping, the latest change first. wrong is an error to show, or nil.
func (x *exchange) changesPage(status int, wrong *kit.Wrong) error {
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
	if wrong != nil {
		p.Wrong = []kit.Wrong{*wrong}
	}
	return x.render(status, "changes", p)
}

// undoChange handles the button that reverts a change of the mapping. It is refused if the same spaces were changed again since.
func (s *site) undoChange(x *exchange) error {
	_, err := s.api.Mappings.UndoMappingChange(x.call(), &propertyv1.UndoMappingChangeRequest{Id: x.Value("id")})
	if err != nil && s.Fault(err).Reason == fault.Outdated {
		return x.changesPage(http.StatusConflict, &kit.Wrong{Title: x.words().T("staff.changes.outdated"), Text: x.words().T("staff.changes.outdated.text")})
	}
	if err != nil {
		return err
	}
	return x.Redirect(listURL("/app/spaces", "pms", x.Value("pms"), "done", "undone"))
}
