package agent

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the entry point of the child process of TestStoreSurvivesAKill.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		writeUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}
