package chain

import (
	"testing"

	"buf.build/go/protovalidate"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/fault"
)

// The error of a list that must be unique names the value that occurs twice.
func TestDuplicateIsNamed(t *testing.T) {
	for _, c := range []struct {
		events []string
		want   string
	}{
		{[]string{"access.issued", "door.opened", "lock.offline", "door.opened", "access.issued"}, `must not contain "door.opened" more than once`},
		{[]string{"access.issued", "door.opened"}, ""},
	} {
		found, err := Violations(protovalidate.GlobalValidator, nil, &partnerv1.UpsertWebhookRequest{Url: "https://pms.example/", Events: c.events}, "")
		if err != nil || len(found) > 1 || len(found) == 0 && c.want != "" {
			t.Fatal(found, err)
		}
		if len(found) == 1 && (found[0].Message != c.want || found[0].Path != "events" || found[0].Reason != fault.Duplicate) {
			t.Errorf("%v: %+v, want %q", c.events, found[0], c.want)
		}
	}
}
