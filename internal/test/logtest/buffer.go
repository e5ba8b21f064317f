// Package logtest keeps what is logged, for tests that read it.
package logtest

import (
	"strings"
	"sync"
)

// Buffer keeps what the goroutines of a test log. The zero Buffer is empty.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the log.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the log so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Has reports whether a text is in the log so far.
func (b *Buffer) Has(text string) bool { return strings.Contains(b.String(), text) }
