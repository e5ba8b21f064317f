package server_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/sandbox"
)

func jobsStored(t *testing.T, file string) (n int) {
	t.Helper()
	d, err := sql.Open("sqlite3", "file:"+file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.QueryRowContext(t.Context(), "SELECT coalesce(max(id), 0) FROM river_job").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A reservation costs no job: on SQLite the queue would slow every one of them. One in an unknown room costs one,
// however many there are, and has the PMS asked for its rooms.
func TestOnlyUnknownRoomsCostAJob(t *testing.T) {
	c := settings(t, "")
	w := world(t, sandbox.Config{Server: c})
	file := filepath.Join(c.DataDir, "latchkey.db")
	push := func(id, room string) {
		t.Helper()
		a, err := w.PMS.Push(t.Context(), id, map[string]any{
			"pmsNumber": id, "booker": map[string]any{"lastName": "Lovelace"}, "state": "confirmed", "roomId": room,
			"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
		})
		if err != nil || a.Status != 200 {
			t.Fatal(a, err)
		}
	}
	before := jobsStored(t, file)
	for _, id := range []string{"B1", "B2", "B3"} {
		push(id, "R101")
	}
	if n := jobsStored(t, file) - before; n != 0 {
		t.Errorf("%d jobs for reservations in a known room", n)
	}
	w.PMS.SetSpaces(append(sandbox.PMSSpaces(), sandbox.Space{ID: "R999", Type: "Room", Name: "Room 999", IsPrivate: true, IsActive: true}))
	asked := func() int {
		return len(slices.DeleteFunc(w.PMS.Calls(), func(c sandbox.Call) bool { return c.Action != "getSpaces" }))
	}
	was := asked()
	for _, id := range []string{"B4", "B5", "B6"} {
		push(id, "R999")
	}
	if n := jobsStored(t, file) - before; n > 2 { // one at once, and one that keeps its distance from a reading a moment ago
		t.Errorf("%d jobs for reservations in an unknown room", n)
	}
	await(t, w, "the PMS is asked for its rooms", func(context.Context) (bool, error) { return asked() > was, nil })
}
