package checkin

import (
	"maps"
	"slices"
	"testing"

	"latchkey.dev/ent"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/test/sourcetest"
)

// Every reason of a stop has a notice of its own to staff, and a text for the guest in each language. Both have the parameters of their
// texts.
func TestEveryStopHasANoticeAndAText(t *testing.T) {
	owing := money.Amount{Minor: 8400, Currency: "EUR"}
	r := &record{Party: &guest.Party{Property: &ent.Property{}}, stay: &ent.Stay{}, reservation: &ent.Reservation{PmsNumber: "1001"}}
	declared := sourcetest.Constants(t, "facts.go", "StopReason")
	reasons, messages := map[notice.Kind]string{}, []message.Message{}
	for name, value := range declared {
		stop := Stop{Reason: StopReason(value), Owing: &owing}
		kind, ok := stopNotices[stop.Reason]
		if !ok {
			t.Errorf("%s has no notice to staff: add it to stopNotices", name)
			continue
		}
		if other := reasons[kind]; other != "" {
			t.Errorf("%s and %s have the same notice, so that reasonOf cannot tell them apart", name, other)
		}
		reasons[kind] = name
		if got := slices.Sorted(maps.Keys(r.stopParams(stop))); !slices.Equal(got, notice.Kinds[kind]) {
			t.Errorf("the notice about %s has the parameters %v, and its text has %v", name, got, notice.Kinds[kind])
		}
		messages = append(messages, stop.Message())
	}
	for _, language := range message.Languages() {
		texts := message.Kinds(language)
		for _, m := range messages {
			params, ok := texts[m.Kind]
			if want := slices.Sorted(maps.Keys(m.Params)); !ok {
				t.Errorf("%s: %s has no text", language, m.Kind)
			} else if !slices.Equal(params, want) {
				t.Errorf("%s: the text %s has the parameters %v, want %v", language, m.Kind, params, want)
			}
		}
	}
	if len(stopNotices) != len(declared) {
		t.Errorf("stopNotices has %d reasons, and facts.go declares %d", len(stopNotices), len(declared))
	}
}
