package canary

import (
	"context"
	"strings"

	"latchkey.dev/internal/e2e/e2etest"
)

// reveal has staff read a code's PIN, and remembers it.
func (f *flows) reveal(id string) string {
	f.t.Helper()
	o := f.call(f.Owner(), "POST", "/v1/property/codes/"+id+":reveal", map[string]any{})
	pin := texts(o.Raw, "pin")
	if !o.OK() || pin == "" {
		f.t.Fatal("no PIN of a code: ", o)
	}
	f.learn("the PIN of a code", pin)
	return pin
}

// opens waits until a PIN opens a door, or no longer does.
func (f *flows) opens(door, pin string, open bool) {
	f.t.Helper()
	f.Await("a code's turn at "+door, func(context.Context) (bool, error) { return f.press(door, pin) == open, nil })
}

// codes are made by staff, shown, used, used up, swapped and revoked, and asked for wrongly.
func (f *flows) codes() {
	f.t.Helper()
	const path = "/v1/property/codes"
	made := func(content map[string]any) string {
		f.t.Helper()
		content["holder"] = holder
		id, _ := f.must(f.Owner(), "POST", path, content)["id"].(string)
		return id
	}
	cleaning := made(map[string]any{"kind": "staff", "allRooms": true})
	pin := f.reveal(cleaning)
	f.opens("Room 101", pin, true)
	plumber := made(map[string]any{"kind": "oneTime", "doorIds": []string{f.Spaces["Room 102"]}})
	once := f.reveal(plumber)
	f.opens("Room 102", once, true)
	f.opens("Room 102", once, false)
	f.call(f.Owner(), "POST", path+"/"+plumber+":reveal", map[string]any{})
	f.must(f.Owner(), "POST", path+"/"+cleaning+":revoke", map[string]any{})
	f.opens("Room 101", pin, false)
	f.call(f.Owner(), "POST", path, map[string]any{"kind": "staff", "holder": holder, "pin": pin, "doorIds": []string{pin}})
	f.call(f.Owner(), "GET", path+"/"+pin, nil)
	f.call(f.Partner(), "POST", path+"/"+cleaning+":reveal", map[string]any{})
	f.backups()
}

// backups are kept, read, and swapped.
func (f *flows) backups() {
	f.t.Helper()
	f.must(f.Owner(), "PATCH", "/v1/property", map[string]any{"settings": map[string]any{"backupCodes": true}})
	var lockID string
	var ids []string
	list := func() {
		ids = nil
		all, _ := f.must(f.Owner(), "GET", "/v1/property/codes?kind=backup&pageSize=200", nil)["list"].([]any)
		for _, c := range all {
			at, _ := e2etest.ValueAt(c, "lockId").(string)
			if lockID = max(lockID, at); at == lockID && e2etest.ValueAt(c, "state") == "open" {
				ids = append(ids, e2etest.ValueAt(c, "id").(string))
			}
		}
	}
	two := func(context.Context) (bool, error) { list(); return len(ids) >= 2, nil }
	f.Await("a lock keeps two backup codes", two)
	for _, id := range ids {
		f.reveal(id)
	}
	before := strings.Join(ids, " ")
	f.call(f.Owner(), "POST", "/v1/property/locks/"+lockID+"/backupCodes:swap", map[string]any{})
	f.Await("others are kept", func(ctx context.Context) (bool, error) {
		ok, err := two(ctx)
		return ok && strings.Join(ids, " ") != before, err
	})
	for _, id := range ids {
		f.reveal(id)
	}
}
