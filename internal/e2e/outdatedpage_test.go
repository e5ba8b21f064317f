package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// A form that was opened before a colleague's change does not overwrite it: neither the role of a person nor the door of a lock.
func TestOutdatedFormsChangeNothing(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	t.Run("person", func(t *testing.T) {
		bob := invite(t, w, signUp(t, w, "carl@example.com"), "bob@example.com", "frontDesk")
		id := personID(t, w, bob)
		page := s.do(http.MethodGet, "/app/settings/people", nil)
		_, row, _ := strings.Cut(page.text, "/app/settings/people/"+id)
		etag := shown{text: row}.field("etag")
		change := &propertyv1.UpdatePersonRequest{Id: id, Role: new("housekeeping"), Etag: etag}
		if got := call(t, w, e2etest.REST, w.Owner(), "PersonService/UpdatePerson", change); !got.OK() || etag == "" {
			t.Fatalf("a colleague's change with the etag %q: %v", etag, got)
		}
		change.Role = new("manager")
		if got := call(t, w, e2etest.GRPC, w.Owner(), "PersonService/UpdatePerson", change); got.Reason != "outdated" || !strings.Contains(got.Message, "role") {
			t.Errorf("the former etag: %v", got)
		}
		for _, do := range []string{"role", "disable"} {
			a := s.do(http.MethodPost, "/app/settings/people/"+id, url.Values{"do": {do}, "role": {"manager"}, "etag": {etag}})
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "Another person changed this role or access meanwhile") {
				t.Errorf("%s: %d to %q: %s", do, a.status, a.moved, a.text)
			}
		}
		people := call(t, w, e2etest.GRPC, w.Owner(), "PersonService/ListPeople", &propertyv1.ListPeopleRequest{}).Reply.(*propertyv1.ListPeopleResponse)
		for _, m := range people.GetData().GetList() {
			if m.GetId() == id && (m.GetRole() != "housekeeping" || m.GetDisabled()) {
				t.Errorf("the person is %v", m)
			}
		}
	})
	t.Run("a form of an older version", func(t *testing.T) {
		form := url.Values{"form": {"property"}, "etag": {`"1"`}, "settings.name": {"Former name"}, "settings.timeZone": {"Europe/Lisbon"}}
		for name, value := range map[string]string{"checkInTime": "15:00", "checkOutTime": "11:00", "earlyInMinutes": "0", "lateOutMinutes": "0", "pinLength": "0", "owingPolicy": "block", "owingThresholdMinor": "0"} {
			form.Set("settings."+name, value)
		}
		if a := s.do(http.MethodPost, "/app/settings/property", form); a.status != http.StatusConflict {
			t.Errorf("%d to %q", a.status, a.moved)
		}
		got := call(t, w, e2etest.GRPC, w.Owner(), "PropertyService/GetProperty", &propertyv1.GetPropertyRequest{}).Reply.(*propertyv1.GetPropertyResponse)
		if p := got.GetData(); p.GetName() == "Former name" || !p.GetAccessStepUp() {
			t.Errorf("the property is %v", p)
		}
	})
	t.Run("lock", func(t *testing.T) {
		locks := call(t, w, e2etest.GRPC, w.Owner(), "LockService/ListLocks", &propertyv1.ListLocksRequest{}).Reply.(*propertyv1.ListLocksResponse)
		lockID := locks.GetData().GetList()[0].GetId()
		room := func(name string) string {
			made := call(t, w, e2etest.GRPC, w.Owner(), "SpaceService/CreateSpace", &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: name}})
			return made.Reply.(*propertyv1.CreateSpaceResponse).GetData().GetId()
		}
		one, two := room("901"), room("902")
		assign := func(door string) {
			t.Helper()
			if got := call(t, w, e2etest.GRPC, w.Owner(), "LockService/AssignLock", &propertyv1.AssignLockRequest{Id: lockID, DoorId: &door}); !got.OK() {
				t.Fatalf("assign: %v", got)
			}
		}
		refused := func(what, path string, form url.Values, text string) {
			t.Helper()
			if a := s.do(http.MethodPost, path, form); a.status != http.StatusConflict || !strings.Contains(a.text, text) {
				t.Errorf("%s: %d to %q: %s", what, a.status, a.moved, a.text)
			}
		}
		const moved = "Another person has moved this lock or put one on the door"
		assign("")
		if seen := s.do(http.MethodGet, "/app/spaces/rooms/"+one, nil); !strings.Contains(seen.text, lockID) {
			t.Fatalf("the room offers no lock: %s", seen.text)
		}
		assign(two)
		refused("a lock that another door has", "/app/spaces/rooms/"+one+"/lock", url.Values{"lock": {lockID}, "do": {"put"}}, moved)
		from := s.do(http.MethodGet, "/app/locks/"+lockID, nil).field("from")
		assign(one)
		refused("a lock that is taken off another door", "/app/spaces/rooms/"+two+"/lock", url.Values{"lock": {lockID}, "do": {"take"}}, moved)
		refused("a lock that was moved", "/app/locks/"+lockID, url.Values{"do": {"door"}, "door": {""}, "from": {from}}, moved)
		if from != two {
			t.Errorf("the page of the lock says that it is at %q", from)
		}
		if got := call(t, w, e2etest.REST, w.Owner(), "LockService/AssignLock", &propertyv1.AssignLockRequest{Id: lockID, DoorId: &one, FromDoorId: &two}); !got.OK() {
			t.Errorf("the door that the caller wants: %v", got)
		}
		if a := s.do(http.MethodPost, "/app/spaces/rooms/"+one+"/lock", url.Values{"lock": {lockID}, "do": {"take"}}); !strings.Contains(a.moved, "done=saved") {
			t.Errorf("a lock at the shown door is not taken off: %d %s", a.status, a.text)
		}
	})
}
