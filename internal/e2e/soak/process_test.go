// Package soak kills the server and the bridge, as real processes, while partners go on sending, and looks at what is
// left: every acknowledged reservation once, every lock as it should be.
package soak

import (
	"testing"

	"latchkey.dev/internal/e2e/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// patience bounds every wait for something that must happen.
const patience = program.Patience

// process is a program whose failure to start or stop fails the test.
type process struct {
	*program.Process
	t *testing.T
}

func newProcess(t *testing.T, name, ready string, args ...string) *process {
	t.Helper()
	return &process{program.New(t, name, ready, args...), t}
}

func (p *process) start() {
	p.t.Helper()
	if err := p.Start(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) stop() {
	p.t.Helper()
	if err := p.Stop(); err != nil {
		p.t.Error(err)
	}
}

// await asks until something holds.
func await(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	if err := program.Await(t.Context(), what, holds); err != nil {
		t.Fatal(err)
	}
}
