package operator

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type propertiesView struct {
	List   []*adminv1.PropertyState
	Next   string // URL of the next page of the list, or ""
	Inputs []kit.Input
}

// BridgesChip returns the chip that shows whether all bridges of a property are online, or that it has none.
func (propertiesView) BridgesChip(s *adminv1.PropertyState) chip {
	switch {
	case s.GetBridges() == 0:
		return chip{"unknown", "○", "operator.bridges.none"}
	case s.GetBridgesOnline() == s.GetBridges():
		return chip{"ok", "●", "operator.bridges.up"}
	}
	return chip{"bad", "✕", "operator.bridges.down"}
}

// DeletingChip returns the chip of a property whose deletion has begun and is not complete.
func (propertiesView) DeletingChip() chip { return chip{"warn", "◌", "operator.property.deleting"} }

// propertyInputs returns the form fields of a new property.
func propertyInputs() []kit.Input {
	return []kit.Input{
		{Name: "settings.name", Label: "operator.property.name", Autocomplete: "off"},
		{Name: "settings.timeZone", Label: "operator.property.zone", Hint: "operator.property.zone.hint", Autocomplete: "off", Script: "zone"},
	}
}

// showProperties handles GET /operator/properties: the list of properties and the form of a new property.
func (s *site) showProperties(x *exchange) error {
	return x.propertiesPage(http.StatusOK, propertiesView{Inputs: propertyInputs()}, nil)
}

// propertiesPage renders one page of the list of properties. f is why the API refused the posted form, or nil. An f that is not about the
// form is returned.
func (x *exchange) propertiesPage(status int, v propertiesView, f *fault.Fault) error {
	found, err := x.site.api.Installation.ListPropertyStates(x.call(), &adminv1.ListPropertyStatesRequest{PageToken: x.R.URL.Query().Get("page")})
	if err != nil {
		return err
	}
	v.List = found.GetData().GetList()
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = "/operator/properties?page=" + url.QueryEscape(next)
	}
	p := x.areaPage("properties")
	p.Data = v
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "properties", p)
}

// createProperty handles the form of a new property, and redirects to its page. A refused form is shown again with its errors.
func (s *site) createProperty(x *exchange) error {
	name, zone := x.Value("settings.name"), x.Value("settings.timeZone")
	made, err := s.api.Properties.CreateProperty(x.call(), &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	if err != nil {
		return x.propertiesPage(http.StatusUnprocessableEntity, propertiesView{Inputs: x.Posted(propertyInputs())}, s.Fault(err))
	}
	return x.Redirect("/operator/properties/" + made.GetData().GetId())
}

type propertyView struct {
	*propertyv1.Property
	Link    *shownSecret // a new sign-up link for an owner, or nil
	Inputs  []kit.Input  // fields of the form that deletes the property
	Blocked any          // the text about what blocks the deletion, or nil
}

// deleteInputs returns the form fields of the deletion: the property's name as a confirmation, and the ids of locks to abandon. These locks
// are lost: their codes cannot be removed, and do not block the deletion.
func deleteInputs() []kit.Input {
	return []kit.Input{
		{Name: "name", Label: "operator.delete.name", Autocomplete: "off"},
		{Name: "abandon", Label: "operator.delete.abandon", Hint: "operator.delete.abandon.hint", Autocomplete: "off"},
	}
}

// showProperty handles the page of one property.
func (s *site) showProperty(x *exchange) error {
	return x.propertyPage(http.StatusOK, propertyView{Inputs: deleteInputs()}, nil)
}

// propertyPage renders the page of the property in the path. f is why the API refused the posted form, or nil. An f that is not about the
// form is returned.
func (x *exchange) propertyPage(status int, v propertyView, f *fault.Fault) error {
	found, err := x.site.api.Properties.GetProperty(x.call(), &adminv1.GetPropertyRequest{Id: x.R.PathValue("id")})
	if err != nil {
		return err
	}
	v.Property = found.GetData()
	p := x.newPage("operator.property.title")
	p.Here, p.Back, p.Data, p.secret = "properties", "/operator/properties", v, v.Link != nil
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "property", p)
}

// changeProperty handles the forms of a property's page. They create a sign-up link for an owner, which is shown once and ends the earlier
// ones, or delete the property.
func (s *site) changeProperty(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "link":
		made, err := s.api.Owners.CreateOwnerLink(x.call(), &adminv1.CreateOwnerLinkRequest{PropertyId: id})
		if err != nil {
			return err
		}
		return x.propertyPage(http.StatusOK, propertyView{Inputs: deleteInputs(), Link: &shownSecret{"operator.link", "operator.link.text", made.GetData().GetUrl()}}, nil)
	case "delete":
		return x.deleteProperty(id)
	}
	return x.Redirect("/operator/properties/" + id)
}

// blockedText returns the text about what blocks the deletion of a property, as HTML: codes that are still on locks, or SmartKeys that
// still open doors. If f does not count the locks, it returns the API's message as a string.
func (x *exchange) blockedText(f *fault.Fault) any {
	words := x.Words(kit.Locale{})
	if f.Reason == fault.SmartkeysInUse {
		return words.T("operator.delete.blocked.keys", "at", f.Meta["until"])
	}
	locks := strings.Join(strings.Fields(f.Meta["lockIds"]), ", ")
	count, err := strconv.Atoi(f.Meta["locks"])
	if err != nil {
		return f.Message
	}
	return words.T("operator.delete.blocked.codes", "count", count, "locks", locks)
}

// deleteProperty deletes the property, if the posted name is its name. Another name is an error of the form. The locks whose ids are posted
// may keep codes for ever. One call deletes only a part of a large property: the page then asks the operator to post the form again. If
// codes or SmartKeys block the deletion, the page says so.
func (x *exchange) deleteProperty(id string) error {
	abandoned := strings.FieldsFunc(x.Value("abandon"), func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
	done, err := x.site.api.Properties.DeleteProperty(x.call(), &adminv1.DeletePropertyRequest{Id: id, Name: x.Value("name"), AbandonedLockIds: abandoned})
	v := propertyView{Inputs: x.Posted(deleteInputs())}
	if err != nil {
		f := x.site.Fault(err)
		if f.Reason == fault.CodesOnLocks || f.Reason == fault.SmartkeysInUse {
			v.Blocked = x.blockedText(f)
			return x.propertyPage(http.StatusConflict, v, nil)
		}
		return x.propertyPage(http.StatusUnprocessableEntity, v, f)
	}
	if !done.GetData().GetDone() {
		return x.propertyPage(http.StatusOK, v, nil)
	}
	return x.Redirect("/operator/properties?done=deleted")
}
