package guest

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// Each stop of the check-in has its sentence, and unknown ones the API's.
func TestStops(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, test := range []struct {
		stage string
		stop  *guestv1.CheckInStop
		want  string
		retry bool // trying again can help
	}{
		{"stopped", &guestv1.CheckInStop{Reason: "owing", Amount: "84.00", Currency: "EUR", Retry: true}, "There is an open amount of 84.00 EUR.", true},
		{"stopped", &guestv1.CheckInStop{Reason: "owing", Retry: true}, "There is an open amount. Pay at the desk", true},
		{"stopped", &guestv1.CheckInStop{Reason: "roomNotReady", Mailed: true, Retry: true}, "We will write to you", true},
		{"stopped", &guestv1.CheckInStop{Reason: "roomNotReady", Retry: true}, "No email reaches you, so try again in a while", true},
		{"stopped", &guestv1.CheckInStop{Reason: "partnerUnavailable", Retry: true}, "does not answer just now", true},
		{"identityCheck", &guestv1.CheckInStop{Reason: "identityCheck"}, "One last look Hold your document ready.", false},
		{"stopped", &guestv1.CheckInStop{Reason: "minorAlone"}, "Please go to the desk An adult has to check in with you.", false},
		{"stopped", &guestv1.CheckInStop{Reason: "stageRefused"}, "Please go to the desk A member of staff will help you with your check-in.", false},
		{"atDesk", &guestv1.CheckInStop{Reason: "atDesk"}, "Please go to the desk Your key waits at the desk.", false},
		{"stopped", &guestv1.CheckInStop{Reason: "unheardOf", Text: "The sky fell.", Retry: true}, "The sky fell.", true},
		{"newStage", nil, "A member of staff helps you to continue.", false},
	} {
		f.stay.CheckIn = &guestv1.CheckIn{Stage: test.stage}
		if test.stop != nil {
			f.stay.CheckIn.Stops = []*guestv1.CheckInStop{test.stop}
		}
		page := b.shows("/g/stays/rsv_1/checkin", test.want)
		if got := strings.Contains(plain(page.body), "Try again"); got != test.retry {
			t.Errorf("%s: the button to try again is there: %t", test.want, got)
		}
		if !test.retry && !strings.Contains(page.body, `data-live="/g/stays/rsv_1/checkin"`) {
			t.Errorf("%s: the page does not follow what staff do", test.want)
		}
	}
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "stopped", Stops: []*guestv1.CheckInStop{{Reason: "owing", Amount: "84.00", Currency: "EUR", Retry: true}}}
	if home := b.shows("/g/stays/rsv_1", "You cannot check in yet There is an open amount of 84.00 EUR. Pay at the desk"); !strings.Contains(home.body, `value="again"`) || strings.Contains(home.body, "I am here") {
		t.Errorf("the page of the stay does not offer to try again:\n%s", home.body)
	}
	f.stay.CheckIn.Stops = append(f.stay.CheckIn.Stops, &guestv1.CheckInStop{Reason: "minorAlone"})
	if home := b.shows("/g/stays/rsv_1", "Please go to the desk", "An adult has to check in with you."); strings.Contains(home.body, `value="again"`) || strings.Contains(home.body, "I am here") {
		t.Errorf("the page of the stay offers a check-in that the desk has to complete:\n%s", home.body)
	}
	if page := b.shows("/g/stays/rsv_1/checkin", "An adult has to check in with you."); strings.Contains(page.body, `value="again"`) {
		t.Error("a minor alone may try again after paying")
	}
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "notToday", OpensOn: "2026-11-21"}
	b.shows("/g/stays/rsv_1/checkin", "Your stay starts on Saturday, 21 November.")
}

// Before the check-in, the forms say that a guest can interrupt them. Afterwards there is nothing to come back for.
func TestSavedAsYouGo(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for state, says := range map[string]bool{"confirmed": true, "started": false} {
		f.stay.State = state
		for _, path := range []string{"", "/form/gst_1/name"} {
			if page := b.get("/g/stays/rsv_1" + path); page.status != http.StatusOK || strings.Contains(page.body, "Saved as you go.") != says {
				t.Errorf("%s%s: status %d, says that answers are saved: %t", state, path, page.status, !says)
			}
		}
	}
}

// The evidence of a code reads in the guest's words, and a gate with the room's code is not listed again.
func TestEvidence(t *testing.T) {
	f := newFake()
	f.pins.Gates[0].Pin = thePin
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for pin, want := range map[string]string{
		"planned": "Your code is being made ready.", "accepted": "Your code is on the door.", "verified": "Your code works from", "used": "Your code works.",
		"unconfirmed": "Your code should work, but the lock has not confirmed it.", "failed": "Your code is not on the door.",
	} {
		f.start(pin)
		page := b.shows("/g/stays/rsv_1/key", want)
		if strings.Count(plain(page.body), "4 8 0") != 1 {
			t.Errorf("the same code is there twice: %s", plain(page.body))
		}
		sure := pin == "accepted" || pin == "verified" || pin == "used"
		leads := strings.Index(page.body, want) < strings.Index(page.body, `class="pin"`)
		if leads == sure || strings.Contains(page.body, `class="unsure leads"`) == sure {
			t.Errorf("%s: the state leads: %t\n%s", pin, leads, page.body)
		}
	}
	f.start("verified")
	f.stay.OpensAt = timestamppb.New(f.now) // checked in before the stay begins
	b.shows("/g/stays/rsv_1/key", "Your code works. ")
	f.start("queued")
	f.stay.Doors[0].Reason = "lockOffline"
	b.shows("/g/stays/rsv_1/key", "Your code is not on the door. We have notified the staff. Call the property.")
	f.now = f.stay.GetFrom().AsTime().Add(1)
	f.start("verified")
	b.shows("/g/stays/rsv_1/key", "Your code works. ")
}

// A code that is not shown has its reason: it is being made, it was shown or mailed before, or there is none.
func TestCodeThatIsNotShown(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.pins = nil
	f.start("sent")
	f.stay.PinWithheld = "shownBefore"
	b.shows("/g/stays/rsv_1/key", "Your code was sent to a…@example.com; for safety it is not shown here again.")
	f.stay.CodeMail.State = "waiting"
	b.shows("/g/stays/rsv_1/key", "Your code is on its way to a…@example.com")
	f.stay.CodeMail.State = "failed"
	b.shows("/g/stays/rsv_1/key", "The desk gives it to you.")
	f.stay.CodeMail = nil
	b.shows("/g/stays/rsv_1/key", "The desk gives it to you.")
	f.stay.PinWithheld, f.stay.Doors, f.stay.SpaceName = "otherSession", nil, "" // a session that is not trusted sees neither room nor doors
	b.shows("/g/stays/rsv_1/key", "For safety your code is not shown here again.")
	f.stay.SpaceName = "Bed 1"
	f.start("")
	f.stay.PinWithheld = "noCode"
	f.stay.Doors[0].Reason = "noLock"
	b.shows("/g/stays/rsv_1/key", "Your key waits at the desk.")
	f.stay.Doors = nil
	page := b.shows("/g/stays/rsv_1/key", "Your code is being made ready.")
	if !strings.Contains(page.body, `data-live="/g/stays/rsv_1/key/doors?wait"`) || !strings.Contains(page.body, "Look again") {
		t.Errorf("the page does not wait for the code:\n%s", page.body)
	}
	b.shows("/g/stays/rsv_1/key/doors?wait", "Your code")
	f.start("verified")
	if a := b.get("/g/stays/rsv_1/key/doors?wait"); a.moved != "/g/stays/rsv_1/key" {
		t.Errorf("with the code there the page moves to %q", a.moved)
	}
	f.stay.Doors, f.stay.SpaceName = nil, ""
	b.shows("/g/stays/rsv_1/key", "Your key waits at the desk.")
}
