package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// Staff read the spaces to see whether the PMS is repaired: a failed read is a failure, with its cause.
func TestReadSpacesReportsAFailedRead(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	read := func() e2etest.Outcome {
		o, err := w.Do(t.Context(), w.Owner(), http.MethodPost, "/v1/property/integrations/"+w.IntegrationID+":readSpaces", nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := read(); !o.OK() || o.Data()["found"] != float64(len(sandbox.PMSSpaces())) {
		t.Fatalf("a good read: %v %v", o, o.Data())
	}
	fails := func(what string, status int, reason, text string) {
		t.Helper()
		for range 4 {
			if o := read(); o.HTTP != status || o.Reason != reason || !strings.Contains(o.Message, text) {
				t.Errorf("%s: %v; want %d %s with %q", what, o, status, reason, text)
			}
		}
	}
	w.PMS.FailCalls(http.StatusInternalServerError)
	fails("HTTP 500", 409, "partnerError", `(HTTP 500); "broken"; "the PMS is broken"`)
	w.PMS.FailCalls(0)
	w.PMS.SetSpaces([]sandbox.Space{})
	fails("an empty list", 409, "partnerError", "the listing is empty")
	w.PMS.SetSpaces([]sandbox.Space{{ID: "R101", Type: "Tent", Name: "101"}})
	fails("a broken contract", 409, "partnerError", "outside the contract")
	o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/endpoints", map[string]any{"action": "getSpaces", "url": w.PMSURL() + "/nothing"})
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	w.PMS.SetSpaces(sandbox.PMSSpaces())
	fails("another address", 409, "partnerError", "(HTTP 404)")
	if o, err = w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/endpoints", map[string]any{"action": "getSpaces", "url": w.PMSURL() + "/spaces"}); err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	if o := read(); !o.OK() {
		t.Errorf("after the repair: %v", o)
	}
}

// An answer of the service can be sent back unchanged. Only the form of the dates changes.
func TestAnAnswerCanBeSentBack(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "BACK", map[string]any{"state": "started", "roomId": "R101", "fromDate": e2etest.LocalDate(0), "toDate": e2etest.LocalDate(2)})
	get := func() map[string]any {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations/find?pmsId=BACK&extend=access", nil)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		return o.Data()
	}
	before := get()
	if o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/reservations", before); err != nil || !o.OK() {
		t.Fatalf("sent back: %v %v", o, err)
	}
	after := get()
	for _, f := range []string{"from", "to", "state", "roomId", "pmsNumber"} {
		if before[f] != after[f] {
			t.Errorf("%s was %v and is %v", f, before[f], after[f])
		}
	}
}

// A bed and a room that is not the bed's are stored. The doors are the bed's, and staff are notified once.
func TestSpacesThatDisagree(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	push := func(fields map[string]any) map[string]any {
		fields["state"] = "started"
		a := e2etest.PushReservation(t, w, "ODD", fields)
		access, _ := a.Data()["access"].(map[string]any)
		return access
	}
	notices := func(kind string) (n int) {
		o, err := w.Do(t.Context(), w.Owner(), http.MethodGet, "/v1/property/notices?pageSize=200", nil)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		list, _ := o.Data()["list"].([]any)
		for _, each := range list {
			if e2etest.ValueAt(each, "kind") == kind {
				n++
			}
		}
		return n
	}
	for range 3 {
		a := push(map[string]any{"roomId": "R102", "bedId": "D4-B"})
		if door := e2etest.ValueAt(a["doors"].([]any)[0], "name"); door != "Bed B" || !slices.Contains(a["reasons"].([]any), any("spacesDisagree")) {
			t.Errorf("a bed and another room: door %v, reasons %v", door, a["reasons"])
		}
	}
	if n := notices("spacesDisagree"); n != 1 {
		t.Errorf("%d notices, want 1", n)
	}
	if a := push(map[string]any{"roomId": "D4", "bedId": "D4-B"}); slices.Contains(a["reasons"].([]any), any("spacesDisagree")) {
		t.Errorf("mended: %v", a["reasons"])
	}
	a := push(map[string]any{"roomId": "D4", "bedId": nil})
	if door := e2etest.ValueAt(a["doors"].([]any)[0], "name"); door != "Dorm 4" || !slices.Contains(a["reasons"].([]any), any("bedNotAssigned")) {
		t.Errorf("a dorm without a bed: door %v, reasons %v", door, a["reasons"])
	}
	a = push(map[string]any{"roomId": "r101", "bedId": nil})
	if !slices.Contains(a["reasons"].([]any), any("spaceUnknown")) || a["unresolvedSpaceId"] != "r101" {
		t.Errorf("an unknown room: %v, %v", a["reasons"], a["unresolvedSpaceId"])
	}
}

// A PMS follows the evidence for codes with a list of its own, which the dates of reservations do not move.
func TestChangesOfAccessAreFollowed(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	since := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339Nano)
	list := func(query string) ([]any, string) {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations?"+query, nil)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		all, _ := o.Data()["list"].([]any)
		next, _ := o.Data()["nextPageToken"].(string)
		return all, next
	}
	ids := func(list []any) (out []string) {
		for _, r := range list {
			out = append(out, e2etest.ValueAt(r, "pmsMeta.id").(string))
		}
		return out
	}
	e2etest.PushReservation(t, w, "LATER", map[string]any{"state": "confirmed", "roomId": "R101"})
	e2etest.PushReservation(t, w, "ONE", map[string]any{"state": "started", "roomId": "R102"})
	e2etest.PushReservation(t, w, "TWO", map[string]any{"state": "started", "roomId": "R103"})
	follow := "extend=access&accessUpdatedSince=" + since
	var last string
	w.Await("both codes are verified", func(context.Context) (bool, error) {
		all, _ := list(follow)
		if got := ids(all); len(got) != 2 || slices.Contains(got, "LATER") {
			return false, fmt.Errorf("listed %v", got)
		}
		for _, r := range all {
			doors := e2etest.ValueAt(r, "access.doors").([]any)
			if e2etest.ValueAt(doors[0], "pin") != "verified" {
				return false, fmt.Errorf("%v", doors)
			}
			last = max(last, e2etest.ValueAt(r, "access.updatedAt").(string))
		}
		return true, nil
	})
	if all, _ := list("extend=access&accessUpdatedSince=" + time.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano)); len(all) != 0 {
		t.Errorf("since later: %v", ids(all))
	}
	first, next := list(follow + "&pageSize=1")
	second, end := list(follow + "&pageSize=1&pageToken=" + next)
	if len(first) != 1 || len(second) != 1 || ids(first)[0] == ids(second)[0] || next == "" {
		t.Errorf("page by page: %v, %v, then %q", ids(first), ids(second), end)
	}
	updated := e2etest.ValueAt(first[0], "updatedAt")
	e2etest.PushReservation(t, w, "ONE", map[string]any{"state": "processed"})
	w.Await("the code is gone", func(context.Context) (bool, error) {
		all, _ := list(follow + "&state=processed")
		return len(all) == 1 && e2etest.ValueAt(all[0], "access.status") == "removed" && e2etest.ValueAt(all[0], "access.updatedAt").(string) > last, nil
	})
	if updated == "" {
		t.Error("no updatedAt")
	}
	if o, err := w.Do(t.Context(), e2etest.ConnectApp(t, w, "Other PMS"), http.MethodGet, "/v1/reservations?accessUpdatedSince="+since, nil); err != nil || !o.OK() || strings.Contains(string(o.Raw), "ONE") {
		t.Errorf("another integration reads %v %s", o, o.Raw)
	}
	for query, field := range map[string]string{
		"accessUpdatedSince=" + since + "&updatedSince=" + since: "accessUpdatedSince", "accessUpdatedSince=" + since + "&pageToken=zzz": "pageToken", "extend=pin": "extend[0]",
	} {
		if o, err := w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations?"+query, nil); err != nil || o.HTTP != 400 || o.Fields[field] == "" {
			t.Errorf("%s: %v %v", query, o, err)
		}
	}
}

// The PMS asks why a door does not open by its own id.
func TestExplainByThePMSsID(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "WHY", map[string]any{"state": "started", "roomId": "R101"})
	o, err := w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations/explain?pmsId=WHY", nil)
	if err != nil || !o.OK() || !strings.HasPrefix(o.Data()["reservationId"].(string), "rsv_") {
		t.Fatal(o, err)
	}
	if o, err = w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations/explain?pmsId=NONE", nil); err != nil || o.Reason != "reservationNotFound" {
		t.Error(o, err)
	}
}

// Arrivals name the guest and the room, the worst first.
func TestArrivalsNameGuestAndRoom(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "GOOD", map[string]any{"state": "confirmed", "roomId": "R101", "booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace"}})
	e2etest.PushReservation(t, w, "BAD", map[string]any{"state": "confirmed", "roomId": "r999", "booker": map[string]any{"lastName": "Byron"}})
	o, err := w.Do(t.Context(), w.Owner(), http.MethodGet, "/v1/property/arrivals", nil)
	list, _ := o.Data()["list"].([]any)
	if err != nil || len(list) != 2 {
		t.Fatal(o, err)
	}
	got := []any{e2etest.ValueAt(list[0], "guestName"), e2etest.ValueAt(list[0], "spaceName"), e2etest.ValueAt(list[1], "guestName"), e2etest.ValueAt(list[1], "spaceName")}
	if want := []any{"Byron", "r999", "Ada Lovelace", "Room 101"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The error for a reservation inside another object says so, and misspelled query parameters are named.
func TestAWrappedReservationIsNamed(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	body := map[string]any{"reservation": map[string]any{"pmsMeta": map[string]any{"id": "W"}, "state": "confirmed"}}
	o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/reservations", body)
	if err != nil || o.HTTP != 400 || o.Fields["reservation"] != "unsupported" || o.Fields["pmsMeta.id"] != "required" {
		t.Errorf("%v %v", o, err)
	}
	if !strings.Contains(string(o.Raw), "send the reservation itself as the body") {
		t.Errorf("%s", o.Raw)
	}
	if o, err = w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/endpoints", map[string]any{"action": "getSpaces", "url": "http://127.0.0.1:1/spaces"}); err != nil || !strings.Contains(o.Message, "--partner-allow HOST:PORT") {
		t.Errorf("a private address: %v %v", o, err)
	}
}
