package property

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/watch"
)

// Each topic has a call that lists what it names, with a rule for tokens and people.
func TestTopicsHaveAListCall(t *testing.T) {
	for _, topic := range watch.Topics {
		if rule := chain.AccessRule(listMethods[topic]); rule.GetRole() == "" || rule.GetRight() == "" || rule.GetStepUp() {
			t.Errorf("%s: %s has the rule %v", topic, listMethods[topic], rule)
		}
	}
}

func TestWatchedTopics(t *testing.T) {
	person := func(role staff.Role) actor.Actor {
		return actor.Actor{Kind: actor.Staff, PropertyID: "prp_a", PersonID: "prs_1", Role: string(role)}
	}
	token := func(role string) actor.Actor { return actor.Actor{Kind: actor.Staff, PropertyID: "prp_a", Role: role} }
	all := "reservations spaces locks bridges notices messages kiosks"
	for _, step := range []struct {
		name   string
		caller actor.Actor
		named  string
		want   string
		reason fault.Reason
	}{
		{"an owner", person(staff.Owner), "", all, ""},
		{"housekeeping", person(staff.Housekeeping), "", "spaces locks bridges kiosks", ""},
		{"housekeeping names what it may see", person(staff.Housekeeping), "locks", "locks", ""},
		{"housekeeping names messages", person(staff.Housekeeping), "locks messages", "", fault.RightMissing},
		{"a viewer's token", token(credential.RoleViewer), "", "reservations spaces locks bridges notices kiosks", ""},
		{"a viewer's token names messages", token(credential.RoleViewer), "messages", "", fault.RoleMissing},
		{"an operator's token", token(credential.RoleOperator), "messages notices", "notices messages", ""},
	} {
		got, err := watchedTopics(step.caller, strings.Fields(step.named), time.Now())
		var words []string
		for _, topic := range got {
			words = append(words, string(topic))
		}
		if strings.Join(words, " ") != step.want || step.reason != "" && !fault.Has(err, step.reason) || step.reason == "" && err != nil {
			t.Errorf("%s: %v, %v", step.name, words, err)
		}
	}
}

// reader is the client's end of a stream. It receives a message only when the test reads one.
type reader struct {
	grpc.ServerStreamingServer[propertyv1.WatchResponse]
	ctx      context.Context
	messages chan *propertyv1.WatchResponse
}

func (r reader) Context() context.Context { return r.ctx }

func (r reader) Send(m *propertyv1.WatchResponse) error {
	select {
	case r.messages <- m:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// A stream sends at most one message each 250 ms and at least one each 20 s. What a slow reader has not read is combined.
func TestPaceOfWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := watch.NewFeed()
		ctx, leave := context.WithCancel(actor.With(t.Context(), actor.Actor{Kind: actor.Staff, PropertyID: "prp_a", Role: credential.RoleViewer, TokenID: "tok_1"}))
		r := reader{ctx: ctx, messages: make(chan *propertyv1.WatchResponse)}
		ended := make(chan error, 1)
		go func() {
			ended <- (&Events{Feed: feed}).Watch(&propertyv1.WatchRequest{Topics: []string{"locks"}}, r)
		}()
		change := func(lockID string) { feed.Add(watch.Key{PropertyID: "prp_a", Topic: watch.Locks, ID: lockID}) }
		expect := func(after time.Duration, everything bool, ids ...string) {
			t.Helper()
			began := time.Now()
			m := <-r.messages
			if passed := time.Since(began); passed != after {
				t.Errorf("a message after %s, want %s", passed, after)
			}
			var got []string
			all := false
			for _, c := range m.GetChanges() {
				got, all = append(got, c.GetIds()...), all || c.GetEverything()
			}
			if !slices.Equal(got, ids) || all != everything {
				t.Errorf("the message is %v", m)
			}
		}
		expect(0, true)
		change("lck_1")
		change("lck_2")
		change("lck_1")
		expect(watchPause, false, "lck_2", "lck_1")
		time.Sleep(watchPause)
		change("lck_3")
		expect(0, false, "lck_3")
		expect(watchBeat, false)
		expect(watchBeat, false)

		time.Sleep(time.Hour) // the reader is slow: one message waits for it
		for i := range 1000 {
			change("lck_" + string(rune('a'+i%26)))
		}
		expect(0, false)
		synctest.Wait()
		began := time.Now()
		m := <-r.messages
		if len(m.GetChanges()[0].GetIds()) != 26 || time.Since(began) != watchPause {
			t.Errorf("a slow reader gets %v", m)
		}

		feed.Close()
		if err := <-ended; !fault.Has(err, "") {
			t.Errorf("the service stops: %v", err)
		}
		go func() { ended <- (&Events{Feed: watch.NewFeed()}).Watch(&propertyv1.WatchRequest{}, r) }()
		expect(0, true)
		leave()
		if err := <-ended; err == nil {
			t.Error("the stream of a caller who has left goes on")
		}
	})
}
