package staff

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/web/kit"
)

func hasRight(string) bool   { return true }
func lacksRight(string) bool { return false }

// A notice leads to the page of what it is about, if there is one that the person may see.
func TestNoticeRows(t *testing.T) {
	for subject, want := range map[string]string{
		"lck_1": "/app/locks/lck_1", "brg_1": "/app/bridges/brg_1", "rsv_1": "/app/reservations/rsv_1", "cod_1": "/app/codes/cod_1", "cfl_1": "/app/spaces",
		"int_1": "/app/settings/integrations", "ksk_1": "/app/settings/kiosks", "prp_1": "", "": "", "javascript:x": "",
	} {
		r := newNoticeRow(&propertyv1.Notice{Subject: subject, Stands: want != ""}, hasRight)
		if r.Touch.URL != want || (r.Chip.Text == "staff.notice.open") != (want != "") {
			t.Errorf("%q: %+v", subject, r)
		}
		checkTexts(t, r.Chip.Text, r.Touch.Text)
		if r := newNoticeRow(&propertyv1.Notice{Subject: subject}, lacksRight); strings.HasPrefix(r.Touch.URL, "/app/settings") {
			t.Errorf("%q leads to settings that the person may not change", subject)
		}
	}
	if r := newNoticeRow(&propertyv1.Notice{Subject: "int_1", Kind: "mappingMissing"}, lacksRight); r.Touch.URL != "/app/spaces?pms=int_1" {
		t.Errorf("a notice about several conflicts leads to %q", r.Touch.URL)
	}
}

// Notices of check-ins that wait for staff name the buttons of the reservation's page, and no command of a shell.
func TestCheckInNoticesNameTheButtons(t *testing.T) {
	for kind, buttons := range map[string][]string{
		"notice.checkInIdentityCheck": {"staff.clear.identityCheck"},
		"notice.checkInSignature":     {"staff.clear.signature"},
		"notice.checkInNoAnswer":      {"staff.ask", "staff.endCall"},
	} {
		for _, language := range message.Languages() {
			to := message.Reader{Language: language}
			text := to.Text(message.Message{Kind: kind, Params: message.Params{"number": "8790"}})
			for _, button := range buttons {
				if name := to.Text(message.Message{Kind: button}); !strings.Contains(text, name) || strings.Contains(text, "latchkey ") {
					t.Errorf("%s does not name %q: %s", language, name, text)
				}
			}
		}
	}
}

// The page without unread notices does not hide that problems are still open.
func TestEmptyNoticesCountOpenProblems(t *testing.T) {
	f := &fakeAPI{role: staff.FrontDesk}
	for open, want := range map[int32]string{0: "Nothing new for you.", 1: "1 problem is still open", 2: "2 problems are still open", 200: "More than 200 problems are still open"} {
		f.openProblems = open
		status, body := f.get(t, "/app/notices", "en")
		if status != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "Show all notices") != (open > 0) {
			t.Errorf("%d open: status %d: %s", open, status, body)
		}
	}
}

// An ended code is not shown as gone while a lock may still have it.
func TestCodeChips(t *testing.T) {
	for _, c := range []struct {
		state   string
		removed bool
		want    string
	}{
		{"open", false, "staff.code.state.open"}, {"waiting", false, "staff.code.state.waiting"}, {"ended", false, "staff.code.state.removing"},
		{"ended", true, "staff.code.state.ended"}, {"somethingNew", false, "staff.code.state.other"},
	} {
		r := newCodeRow(&propertyv1.Code{State: c.state, Removed: c.removed})
		if r.Chip.Text != c.want {
			t.Errorf("%+v: %+v", c, r.Chip)
		}
		checkTexts(t, r.Chip.Text)
	}
}

// A code opens only if every lock has it: its time alone says nothing about the doors.
func TestOpenCodeChips(t *testing.T) {
	for _, c := range []struct {
		evidence   []string
		tone, want string
	}{
		{nil, "warn", "staff.code.state.nowhere"},
		{[]string{"removing", "removed"}, "warn", "staff.code.state.nowhere"},
		{[]string{"sent"}, "warn", "staff.evidence.planned"},
		{[]string{"unconfirmed", "removed"}, "warn", "staff.evidence.unconfirmed"},
		{[]string{"verified", "queued"}, "warn", "staff.code.state.partly"},
		{[]string{"failed"}, "bad", "staff.evidence.failed"},
		{[]string{"used", "failed", "sent"}, "bad", "staff.code.state.missing"},
		{[]string{"verified", "accepted"}, "info", "staff.evidence.accepted"},
		{[]string{"verified", "used", "removing"}, "ok", "staff.code.state.opens"},
	} {
		var places []*propertyv1.CodePlace
		for _, evidence := range c.evidence {
			places = append(places, &propertyv1.CodePlace{Evidence: evidence})
		}
		if got := openCodeChip(places); got.Tone != c.tone || got.Text != c.want {
			t.Errorf("%v: %+v, want %s %s", c.evidence, got, c.tone, c.want)
		}
		checkTexts(t, c.want)
	}
	if r := newCodeRow(&propertyv1.Code{State: "open"}); r.Chip.Tone != "info" {
		t.Errorf("the list says %+v of a code whose locks it does not know", r.Chip)
	}
}

// Each answer of a lock has a text.
func TestPlaceAnswers(t *testing.T) {
	for _, result := range slot.Results() {
		answer := placeRow{CodePlace: &propertyv1.CodePlace{Result: string(result)}}.Answer()
		if (answer == "") != (result == slot.OK) {
			t.Errorf("%s: %q", result, answer)
		}
		if answer != "" {
			checkTexts(t, answer)
		}
	}
}

// The page of a code that is on no lock says why, and not that it opens.
func TestPageOfCodeSaysWhereItIs(t *testing.T) {
	f := &fakeAPI{role: staff.Manager, code: &propertyv1.GetCodeResponse{
		Data:   &propertyv1.Code{Id: "cod_1", Kind: "staff", Holder: "Ana", State: "open"},
		Places: []*propertyv1.CodePlace{{DoorId: "spc_1", DoorName: "101", LockId: "lck_1", Evidence: "sent", Result: "lockOffline"}},
	}}
	status, body := f.get(t, "/app/codes/cod_1", "en")
	if status != http.StatusOK || !strings.Contains(body, "Not on the lock yet") || !strings.Contains(body, "The lock could not be reached.") || strings.Contains(body, "Valid now") {
		t.Errorf("%d: %s", status, body)
	}
}

// The form of a code becomes a request, or names all its wrong fields.
func TestCodeRequest(t *testing.T) {
	zone := time.FixedZone("", 3600)
	whole := map[string][]string{
		"kind": {"staff"}, "holder": {"Ana"}, "door": {"spc_1", "gat_1"}, "day": {"1", "7"}, "from": {"22:00"}, "to": {"06:00"}, "until": {"2026-12-01T10:00"},
	}
	r, wrong := codeRequest(whole, zone)
	if len(wrong) > 0 || r.GetKind() != "staff" || len(r.GetDoorIds()) != 2 || r.GetAllRooms() || !r.GetNotAfter().AsTime().Equal(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)) ||
		len(r.GetHours()) != 1 || !slices.Equal(r.GetHours()[0].GetDays(), []int32{1, 7}) || r.GetHours()[0].GetTo() != "06:00" {
		t.Errorf("%v, wrong %v", r, wrong)
	}
	for name, c := range map[string]struct {
		form  map[string][]string
		wrong []string
	}{
		"empty":           {nil, []string{"kind", "door"}},
		"all rooms":       {map[string][]string{"kind": {"oneTime"}, "all": {"yes"}}, nil},
		"no such time":    {map[string][]string{"kind": {"oneTime"}, "all": {"yes"}, "until": {"tomorrow"}}, []string{"until"}},
		"days, no times":  {map[string][]string{"kind": {"staff"}, "all": {"yes"}, "day": {"2"}}, []string{"hours"}},
		"times, no days":  {map[string][]string{"kind": {"staff"}, "all": {"yes"}, "from": {"08:00"}, "to": {"10:00"}}, []string{"hours"}},
		"a time is empty": {map[string][]string{"kind": {"staff"}, "all": {"yes"}, "day": {"2"}, "from": {"08:00"}}, []string{"hours"}},
	} {
		if _, wrong := codeRequest(c.form, zone); !slices.Equal(wrong, c.wrong) {
			t.Errorf("%s: %v, want %v", name, wrong, c.wrong)
		}
	}
	if got := inPageOrder([]string{"until", "door", "holder", "door", "kind"}); !slices.Equal(got, []string{"kind", "holder", "door", "until"}) {
		t.Errorf("the errors are in the order %v", got)
	}
	for path, want := range map[string]string{"kind": "kind", "holder": "holder", "hours[0].from": "hours", "notAfter": "until", "doorIds": "door", "": "door"} {
		if got := codeField(path); got != want {
			t.Errorf("%q is in %q, want %q", path, got, want)
		}
		checkTexts(t, "staff.code."+want, "staff.code."+want+".missing")
	}
}

func TestAuditRows(t *testing.T) {
	for outcome, tone := range map[string]string{"done": "ok", "refused": "warn", "failed": "bad", "somethingNew": "unknown"} {
		r := newAuditRow(&propertyv1.AuditEntry{Action: "latchkey.property.v1.LockService/UnlockLock", Outcome: outcome, Subjects: []string{"lck_1", "prs_1"}}, hasRight)
		if r.Chip.Tone != tone || r.Call != "LockService/UnlockLock" || !message.Has(r.What) || len(r.Touches) != 1 {
			t.Errorf("%s: %+v", outcome, r)
		}
		checkTexts(t, r.Chip.Text)
	}
	for want, report := range map[string]*propertyv1.AuditReport{
		"staff.audit.whole": {}, "staff.audit.part": {NextSeq: 5}, "staff.audit.problem.changed": {Problem: "changed", NextSeq: 5},
		"staff.audit.problem.missing": {Problem: "missing"}, "staff.audit.problem.headLost": {Problem: "headLost"}, "staff.audit.problem.other": {Problem: "somethingNew"},
	} {
		if got := reportChip(report); got.Text != want {
			t.Errorf("%v: %+v", report, got)
		}
		checkTexts(t, want)
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": "", " a\n b ": "a b", strings.Repeat("ä", 140): strings.Repeat("ä", 140), strings.Repeat("ä", 141): strings.Repeat("ä", 139) + "…"} {
		if got := shorten(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A person who was removed has no name at the property any more; a program never had one.
func TestWho(t *testing.T) {
	p := &page{Page: kit.Page{Words: kit.Words{Lang: "en"}}}
	for author, want := range map[string]string{"staff:prs_01": "A former colleague", "staff:tok_01": "", "operator:socket": "", "": ""} {
		if got := p.Who("", author); got != want {
			t.Errorf("%q is %q, want %q", author, got, want)
		}
	}
	if got := p.Who("Ada", "staff:prs_01"); got != "Ada" {
		t.Errorf("Ada is %q", got)
	}
}
