package mail

import (
	"strings"
	"testing"

	"latchkey.dev/internal/message"
)

// Staff ask a guest for another address only if the mail server refused it for good.
func TestProblemOfARefusedRecipient(t *testing.T) {
	for state, asks := range map[State]bool{Waiting: false, Bounced: true, Failed: true} {
		text := message.Reader{}.Text(ProblemText(&Row{State: string(state), Failure: string(FailedRecipient)}))
		if text == "" || strings.Contains(text, "Ask the guest") != asks {
			t.Errorf("%s: %q", state, text)
		}
	}
	if text := (message.Reader{}).Text(ProblemText(&Row{State: string(Waiting)})); text != "" {
		t.Errorf("nothing failed, and: %q", text)
	}
}
