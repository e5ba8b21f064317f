package staff

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/web/kit"
)

// recordedCalls returns the API calls that the audit log can contain, such as LockService/UnlockLock: those with a message of callText. A
// call that exists in several areas of the API, such as for staff and for guests, is listed once, because the filter finds all of them.
func recordedCalls() (calls []string) {
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for n := range methods.Len() {
				call := string(f.Services().Get(i).Name() + "/" + methods.Get(n).Name())
				if strings.HasPrefix(string(f.Package()), "latchkey.") && message.Has(callText(call)) {
					calls = append(calls, call)
				}
			}
		}
		return true
	})
	slices.Sort(calls)
	return slices.Compact(calls)
}

// auditInputs returns the form fields that filter the audit log. r is the current filter. rows are the entries of the page. Their callers
// are choices, too, because tokens and former colleagues are not in the list of people. The people are choices only for a person who may
// manage people.
func (x *exchange) auditInputs(p *page, r *propertyv1.ListEntriesRequest, rows []auditRow) ([]kit.Input, error) {
	who := []kit.Option{{Kind: "staff.audit.anyone"}}
	add := func(actor, name string) {
		if actor != "" && !slices.ContainsFunc(who, func(o kit.Option) bool { return o.Value == actor }) {
			who = append(who, kit.Option{Value: actor, Text: name})
		}
	}
	if x.may("managePeople") {
		found, err := x.site.api.People.ListPeople(x.call(), &propertyv1.ListPeopleRequest{})
		if err != nil {
			return nil, err
		}
		for _, person := range found.GetData().GetList() {
			add("staff:"+person.GetId(), person.GetName())
		}
	}
	for _, row := range rows {
		name := row.GetActorName()
		if name == "" {
			name = strings.TrimSpace(p.Who("", row.GetActor()) + " " + row.GetActor())
		}
		add(row.GetActor(), name)
	}
	add(r.GetActor(), r.GetActor())
	what := []kit.Option{}
	for _, call := range recordedCalls() {
		what = append(what, kit.Option{Value: call, Text: p.Text(callText(call), nil)})
	}
	slices.SortFunc(what, func(a, b kit.Option) int { return strings.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text)) })
	what = slices.Insert(what, 0, kit.Option{Kind: "staff.audit.anything"})
	if !slices.ContainsFunc(what, func(o kit.Option) bool { return o.Value == r.GetAction() }) {
		what = append(what, kit.Option{Value: r.GetAction(), Text: r.GetAction()})
	}
	return []kit.Input{
		{Name: "actor", Label: "staff.audit.who", Value: r.GetActor(), Options: who},
		{Name: "action", Label: "staff.audit.what", Value: r.GetAction(), Options: what},
		{Name: "firstDay", Label: "staff.audit.first", Type: "date", Value: r.GetFirstDay()},
		{Name: "lastDay", Label: "staff.audit.last", Type: "date", Value: r.GetLastDay()},
	}, nil
}

// wrongDays returns the errors of the days in the filter that the API refused, or nil if f is not about them.
func wrongDays(p *page, f *fault.Fault) (wrong []kit.Wrong) {
	for _, field := range f.Fields {
		for path, label := range map[string]string{"firstDay": "staff.audit.first", "lastDay": "staff.audit.last"} {
			if field.Path == path {
				wrong = append(wrong, kit.Wrong{ID: kit.Input{Name: path}.ID(), Label: p.T(label), Text: p.T("staff.audit.day.wrong")})
			}
		}
	}
	return wrong
}
