package e2e

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// week is a property in which two people work for a week.
type week struct {
	*e2etest.World
	now   *e2etest.Offset
	file  string   // the database
	stays []string // ids of today's arrivals
	locks []string
}

// colleague is a person at work in a [week].
type colleague struct {
	signedIn
	rng  *rand.Rand
	done map[string]int // answered calls that the audit log has, by the name of the RPC
	code string         // the last code that the person created
}

// TestAuditOfAWeek lets two people work for a week, at the same time, while the PMS fails, a bolt is jammed or a lock is offline on some days. The audit log then has each of their
// answered calls once, its chain verifies, and a change of one byte of any entry is found.
func TestAuditOfAWeek(t *testing.T) {
	t.Parallel()
	w := &week{now: &e2etest.Offset{}}
	w.World = e2etest.Open(t, func(c *sandbox.Config) {
		c.Options.Clock, w.file = w.now, filepath.Join(c.Server.DataDir, "latchkey.db")
	})
	ada := &colleague{signedIn: signUp(t, w.World, "ada@example.com"), rng: rand.New(rand.NewPCG(1, 1)), done: map[string]int{}}
	bob := &colleague{signedIn: invite(t, w.World, ada.signedIn, "bob@example.com", "frontDesk"), rng: rand.New(rand.NewPCG(1, 2)), done: map[string]int{}}
	locks, ok := call(t, w.World, e2etest.GRPC, ada.at(w.PropertyID), "LockService/ListLocks", &propertyv1.ListLocksRequest{}).Reply.(*propertyv1.ListLocksResponse)
	if !ok {
		t.Fatal("no locks")
	}
	for _, l := range locks.GetData().GetList() {
		w.locks = append(w.locks, l.GetId())
	}
	for day := range 7 {
		w.now.Set(time.Duration(day) * 24 * time.Hour)
		w.PMS.FailCalls(map[bool]int{true: 500}[day%3 == 1])
		w.Site.SetJammed("Room 102", day%3 == 1)
		w.Site.SetOffline("Room 103", day%3 == 2)
		w.arrive(t, day)
		var all sync.WaitGroup
		for _, c := range []*colleague{ada, bob} {
			c.signIn(t, w)
			all.Go(func() { c.work(t, w) })
		}
		all.Wait()
	}
	w.judge(t, ada, bob)
	w.tamper(t, ada)
}

// arrive books a stay for each room, from today on.
func (w *week) arrive(t *testing.T, day int) {
	t.Helper()
	w.stays = nil
	for room := 101; room <= 103; room++ {
		a := e2etest.PushReservation(t, w.World, fmt.Sprintf("W-%d-%d", day, room), map[string]any{
			"state": "confirmed", "roomId": fmt.Sprintf("R%d", room), "adultCount": 1, "fromDate": e2etest.LocalDate(day), "toDate": e2etest.LocalDate(day + 1),
		})
		id, _ := a.Data()["id"].(string)
		w.stays = append(w.stays, id)
		if room == 101 {
			e2etest.PushReservation(t, w.World, fmt.Sprintf("W-%d-%d", day, room), map[string]any{"state": "started", "roomId": "R101", "fromDate": e2etest.LocalDate(day), "toDate": e2etest.LocalDate(day + 1)})
		}
	}
}

func (c *colleague) signIn(t *testing.T, w *week) {
	t.Helper()
	got, ok := call(t, w.World, e2etest.GRPC, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: c.email, Password: password}).Reply.(*propertyv1.SignInResponse)
	if !ok {
		t.Fatalf("%s cannot sign in", c.email)
	}
	c.token, c.sessionID = got.GetData().GetToken(), got.GetData().GetSessionId()
}

// work does a day's work of a person: some of it is refused, because the person may not, or because there is nothing to do.
func (c *colleague) work(t *testing.T, w *week) {
	for range 12 {
		name, r := c.task(w)
		got, err := w.Call(t.Context(), e2etest.GRPC, c.at(w.PropertyID), e2etest.FindRPC("latchkey.property.v1."+name), r)
		if err != nil {
			t.Errorf("%s by %s: %v", name, c.email, err)
			return
		}
		if !got.OK() {
			continue
		}
		c.done["latchkey.property.v1."+name]++
		if made, ok := got.Reply.(*propertyv1.CreateCodeResponse); ok {
			c.code = made.GetData().GetId()
		}
	}
}

// task returns the next call of a person.
func (c *colleague) task(w *week) (name string, r proto.Message) {
	stay, lock := w.stays[c.rng.IntN(len(w.stays))], w.locks[c.rng.IntN(len(w.locks))]
	switch c.rng.IntN(8) {
	case 0:
		return "LockService/UnlockLock", &propertyv1.UnlockLockRequest{Id: lock, Reason: "a guest is locked out"}
	case 1:
		return "CodeService/CreateCode", &propertyv1.CreateCodeRequest{Kind: "oneTime", Holder: "Plumber", AllRooms: true}
	case 2:
		if c.code != "" {
			return "CodeService/RevokeCode", &propertyv1.RevokeCodeRequest{Id: c.code}
		}
		return "LockService/UpdateLock", &propertyv1.UpdateLockRequest{Id: lock, Name: fmt.Sprintf("Door %d", c.rng.IntN(100))}
	case 3:
		return "ReservationService/ExtendAccess", &propertyv1.ExtendAccessRequest{Id: stay, Until: timestamppb.New(w.now.Now().Add(30 * time.Hour)), Reason: "a late flight"}
	case 4:
		return "ReservationService/RevealPin", &propertyv1.RevealPinRequest{Id: stay, Reason: "the guest has no phone"}
	case 5:
		return "ReservationService/ReplacePin", &propertyv1.ReplacePinRequest{Id: stay, Reason: "the PIN was overheard"}
	case 6:
		return "MessageService/SendMessage", &propertyv1.SendMessageRequest{GuestId: stay, Text: "Welcome"}
	default:
		return "CheckInService/ClearStage", &propertyv1.ClearStageRequest{ReservationId: stay, Stage: "identityCheck"}
	}
}

// judge compares the audit log with what was answered, and verifies its chain.
func (w *week) judge(t *testing.T, people ...*colleague) {
	t.Helper()
	stored, refused := map[string]map[string]int{}, 0
	for token := ""; ; {
		page, ok := call(t, w.World, e2etest.GRPC, people[0].at(w.PropertyID), "AuditService/ListEntries", &propertyv1.ListEntriesRequest{PageSize: 200, PageToken: token}).Reply.(*propertyv1.ListEntriesResponse)
		if !ok {
			t.Fatal("no audit log")
		}
		for _, e := range page.GetData().GetList() {
			switch {
			case e.GetOutcome() == "refused":
				refused++
			case e.GetOutcome() == "done" && strings.HasPrefix(e.GetActor(), "staff:"):
				if stored[e.GetActor()] == nil {
					stored[e.GetActor()] = map[string]int{}
				}
				stored[e.GetActor()][e.GetAction()]++
			}
		}
		if token = page.GetData().GetNextPageToken(); token == "" {
			break
		}
	}
	for _, c := range people {
		if len(c.done) < 4 {
			t.Errorf("%s did little in a week: %v", c.email, c.done)
		}
		if !containsWork(stored, c.done) {
			t.Errorf("%s did %v, the audit log has %v", c.email, c.done, stored)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused in a week")
	}
	if problem, _ := w.verify(t, people[0]); problem != "" {
		t.Errorf("the audit log does not verify: %s", problem)
	}
}

// containsWork reports whether the log of one actor has exactly a person's calls, and further ones only of other RPCs, such as an invitation.
func containsWork(stored map[string]map[string]int, done map[string]int) bool {
	for _, of := range stored {
		own := maps.Clone(of)
		maps.DeleteFunc(own, func(name string, _ int) bool { _, ok := done[name]; return !ok })
		if maps.Equal(own, done) {
			return true
		}
	}
	return false
}

// verify verifies the whole chain. It returns the problem and where it is, or "".
func (w *week) verify(t *testing.T, c *colleague) (problem string, seq int64) {
	t.Helper()
	for from := int64(0); ; {
		r, ok := call(t, w.World, e2etest.GRPC, c.at(w.PropertyID), "AuditService/VerifyEntries", &propertyv1.VerifyEntriesRequest{FromSeq: from}).Reply.(*propertyv1.VerifyEntriesResponse)
		if !ok {
			t.Fatal("no answer to the verification")
		}
		if from = r.GetData().GetNextSeq(); from == 0 || r.GetData().GetProblem() != "" {
			return r.GetData().GetProblem(), r.GetData().GetProblemSeq()
		}
	}
}

// tamper changes one byte of an entry in the database, for each column of an entry, and changes it back.
func (w *week) tamper(t *testing.T, c *colleague) {
	t.Helper()
	d, err := sql.Open("sqlite3", "file:"+w.file+"?_busy_timeout=30000")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var last int64
	if err := d.QueryRow("SELECT max(seq) FROM audit_entries WHERE property_id = ?", w.PropertyID).Scan(&last); err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"actor", "action", "subjects", "from_address", "reason", "outcome", "previous", "hash"} {
		var seq int64
		var was []byte
		// The last entry with a value in the column that the random number allows, so that each run tries others.
		err := d.QueryRow("SELECT seq, CAST("+column+" AS BLOB) FROM audit_entries WHERE property_id = ? AND seq <= ? AND length("+column+") > 2 ORDER BY seq DESC LIMIT 1",
			w.PropertyID, 1+rand.Int64N(last)).Scan(&seq, &was)
		if err == sql.ErrNoRows {
			continue // the first entries have no reason
		}
		if err != nil {
			t.Fatal(err)
		}
		changed := []byte(string(was))
		changed[len(changed)-2] ^= 1
		store := func(value []byte) {
			kind := "TEXT"
			if column == "previous" || column == "hash" {
				kind = "BLOB"
			}
			if _, err := d.Exec("UPDATE audit_entries SET "+column+" = CAST(? AS "+kind+") WHERE property_id = ? AND seq = ?", value, w.PropertyID, seq); err != nil {
				t.Fatal(err)
			}
		}
		store(changed)
		if problem, at := w.verify(t, c); problem == "" || at != seq && at != seq+1 {
			t.Errorf("one byte of %s of the entry %d was changed: problem %q at %d", column, seq, problem, at)
		}
		store(was)
	}
	if problem, _ := w.verify(t, c); problem != "" {
		t.Errorf("after all is back: %s", problem)
	}
}
