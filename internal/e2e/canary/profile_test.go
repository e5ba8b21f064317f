package canary

import "latchkey.dev/internal/e2e/e2etest"

// profile lets the property keep the answers of a guest for the next stay. The guest reads, and in the end deletes them, with a link that is
// mailed, and makes mistakes.
func (f *flows) profile(me e2etest.Caller, form string) {
	f.t.Helper()
	f.learn("a kept answer", kept)
	f.must(me.WithHeader("Idempotency-Key", "kanaria-kept"), "PATCH", form, map[string]any{"step": "name", "answers": map[string]any{"firstName": kept, "lastName": kept}})
	f.must(me.WithHeader("Idempotency-Key", "kanaria-keep"), "PATCH", "/v1/guest/stay/sharing", map[string]any{"keepProfile": true})
	anyone := e2etest.Anonymous()
	request := func(address string) map[string]any {
		return map[string]any{"propertyId": f.PropertyID, "email": address}
	}
	f.must(anyone, "POST", "/v1/guest/profile:link", request(email))
	f.must(anyone, "POST", "/v1/guest/profile:link", request(stranger))
	f.call(anyone, "POST", "/v1/guest/profile:link", request(stranger+"\n"))
	link := f.mailedLink("profile")
	session, _ := e2etest.ValueAt(f.must(anyone, "POST", "/v1/guest/link:bind", map[string]any{"link": link}), "token").(string)
	f.learn("the session of a link to a profile", session)
	f.call(anyone, "POST", "/v1/guest/link:bind", map[string]any{"link": link})
	owner := e2etest.Bearer("profile", session)
	if name, _ := e2etest.ValueAt(f.must(owner, "GET", "/v1/guest/profile", nil), "person.firstName").(string); name != kept {
		f.t.Errorf("the profile has the name %q", name)
	}
	f.call(owner, "GET", "/v1/guest/stay", nil)
	f.disks("files with a profile")
	f.must(owner.WithHeader("Idempotency-Key", "kanaria-delete"), "POST", "/v1/guest/profile:delete", map[string]any{})
	f.call(owner, "GET", "/v1/guest/profile", nil)
}
