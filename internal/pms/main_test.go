package pms

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when anything was printed to the standard log, where net/http puts bytes
// that a server chose, and when a goroutine is left over.
func TestMain(m *testing.M) {
	var printed bytes.Buffer
	log.SetOutput(&printed)
	code := m.Run()
	if code == 0 && printed.Len() > 0 {
		fmt.Printf("printed to the standard log: %q\n", printed.Bytes()[:min(printed.Len(), 300)])
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}
