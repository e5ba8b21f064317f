package bench

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"latchkey.dev/internal/sandbox"
)

// smallMemory is the memory of the smallest machine, in bytes.
const smallMemory = 1 << 30

// hostelPart runs a sandbox with self check-in and 60 beds on one core. The PMS, the bridge and the locks share the core with the server.
type hostelPart struct {
	process
	world *sandbox.World
	done  func() error
}

// methods implements role: it returns the calls that the coordinating process can make to this process.
func (p *hostelPart) methods() methods {
	return p.process.methods().with(methods{"Start": decodeArgs(p.Start), "Book": decodeArgs(p.Book), "Peak": decodeArgs(p.Peak)})
}

// HostelWorld is where guests and staff of the hostel call.
type HostelWorld struct {
	Door       string // the address in the QR code at the door
	GRPC       string
	StaffToken string
}

// Start starts the hostel in a directory, on one core and with smallMemory as a soft limit.
func (p *hostelPart) Start(dir string, out *HostelWorld) (err error) {
	if err := useOneCore(); err != nil {
		return err
	}
	debug.SetMemoryLimit(smallMemory)
	if p.world, p.done, err = newGuestWorld(context.Background(), dir, hostelDorms); err != nil {
		return err
	}
	*out = HostelWorld{Door: p.world.DoorAddress(), GRPC: p.world.Server.GRPCAddr(), StaffToken: p.world.StaffToken}
	return nil
}

// Book makes the PMS push a confirmed reservation that starts today.
func (p *hostelPart) Book(b Booking, _ *None) error {
	return bookTonight(context.Background(), p.world, b)
}

// Peak stores in *bytes the largest amount of memory that the process has used so far. It fails on systems other than Linux.
func (*hostelPart) Peak(_ None, bytes *int64) error {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			*bytes = kB << 10
			return err
		}
	}
	return errors.New("/proc/self/status has no VmHWM")
}

// Close implements role: it stops the sandbox. It does nothing if Start did not succeed.
func (p *hostelPart) Close() error {
	if p.done == nil {
		return nil
	}
	return p.done()
}
