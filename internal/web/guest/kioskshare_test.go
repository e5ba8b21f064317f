package guest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// atTablet returns a tablet at which the guest of the fake has found the stay, and may decide what is shared.
func atTablet(t *testing.T) (*fakeAPI, *client) {
	t.Helper()
	f := newFake()
	f.stay.AtKiosk = true
	for _, g := range f.stay.GetShared() {
		g.Shared = nil
	}
	f.share("todo")
	b := f.client(t)
	b.enrol()
	b.moves("/k/find", form(facts("8790", "Silva")...), "/k/you")
	return f, b
}

// share sets the state of the task to decide what is shared; "" removes the task.
func (f *fakeAPI) share(state string) {
	f.stay.Tasks = slices.DeleteFunc(f.stay.GetTasks(), func(t *guestv1.Task) bool { return t.GetKind() == "sharing" })
	if state != "" {
		f.stay.Tasks = append(f.stay.Tasks, &guestv1.Task{Kind: "sharing", State: state})
	}
}

// shared returns the groups that the guest shares.
func (f *fakeAPI) shared() (names []string) {
	for _, g := range f.stay.GetShared() {
		if g.GetShared() {
			names = append(names, g.GetName())
		}
	}
	return names
}

// The tablet asks once what is shared, before the guest confirms. Nothing is chosen before the guest chooses it, and the page leads to no other site.
func TestKioskAsksWhatIsShared(t *testing.T) {
	for _, stage := range []string{"confirmDetails", "houseRules", "ready", "notToday"} {
		f, b := atTablet(t)
		f.stay.CheckIn = &guestv1.CheckIn{Stage: stage}
		if a := b.get("/k/confirm"); a.moved != "/k/share" {
			t.Fatalf("%s: the tablet moves to %q", stage, a.moved)
		}
		page := b.shows("/k/share", "What we share", "Mews, the property’s booking system, may read these", "What the law makes the property keep", "The booking system never reads")
		for _, wrong := range []string{" checked", `name="share.`, `name="keep"`, `href="http`, "gst_1"} {
			if strings.Contains(page.body, wrong) {
				t.Errorf("%s: the page has %q:\n%s", stage, wrong, page.body)
			}
		}
		b.moves("/k/share", form("x~share.identity", "yes"), "/k/confirm")
		if got := f.shared(); !slices.Equal(got, []string{"identity"}) {
			t.Errorf("%s: the guest shares %v", stage, got)
		}
		f.share("done")
		if a := b.get("/k/confirm"); a.moved == "/k/share" {
			t.Errorf("%s: the tablet asks again", stage)
		}
	}
}

// A guest who declines goes on, and may change the choice from the page that confirms the answers.
func TestKioskGuestDeclinesToShare(t *testing.T) {
	f, b := atTablet(t)
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "confirmDetails"}
	b.moves("/k/share", form(), "/k/confirm")
	f.share("done")
	if got := f.shared(); len(got) > 0 {
		t.Errorf("the guest shares %v", got)
	}
	if page := b.shows("/k/confirm", "Is this still right?"); !strings.Contains(page.body, `href="/k/share"`) {
		t.Errorf("the choice cannot be changed:\n%s", page.body)
	}
	b.moves("/k/share", form("x~share.contact", "yes"), "/k/confirm")
	if got := f.shared(); !slices.Equal(got, []string{"contact"}) {
		t.Errorf("the guest shares %v", got)
	}
}

// The tablet asks for no decision that it does not take, or that has to wait for the answers, and leads to no page for it.
func TestKioskDoesNotAskWhatIsShared(t *testing.T) {
	for _, test := range []struct {
		task string
		now  *guestv1.CheckIn
	}{
		{"", &guestv1.CheckIn{Stage: "confirmDetails"}},
		{"done", &guestv1.CheckIn{Stage: "confirmDetails"}},
		{"todo", &guestv1.CheckIn{Stage: "details", MissingGuestIds: []string{"gst_2"}}},
		{"todo", &guestv1.CheckIn{Stage: "notToday", MissingGuestIds: []string{"gst_2"}}},
		{"todo", &guestv1.CheckIn{Stage: "start"}},
		{"todo", &guestv1.CheckIn{Stage: "calling"}},
	} {
		f, b := atTablet(t)
		f.stay.CheckIn = test.now
		f.share(test.task)
		if a := b.get("/k/confirm"); a.moved == "/k/share" {
			t.Errorf("the task %q at %v moves to the page", test.task, test.now)
		}
	}
	f, b := atTablet(t)
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "confirmDetails"}
	f.share("") // a phone with the link of the mail has answered
	if page := b.shows("/k/confirm"); strings.Contains(page.body, "/k/share") {
		t.Error("the tablet offers what only the phone decides")
	}
	if a := b.get("/k/share"); a.moved != "/k/confirm" {
		t.Errorf("the page moves to %q", a.moved)
	}
	if a := b.do(http.MethodPost, "/k/share", form("x~share.identity", "yes")); a.moved != "/k/confirm" || len(f.shared()) > 0 {
		t.Errorf("the tablet decides for the phone: %q, %v", a.moved, f.shared())
	}
}
