package bench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// useOneCore restricts all threads of this process to its last core, also new threads, and sets GOMAXPROCS to 1.
func useOneCore() error {
	runtime.GOMAXPROCS(1)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return fmt.Errorf("read the cores of this process: %w", err)
	}
	for cpu := 0; set.Count() > 1; cpu++ {
		set.Clear(cpu)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) { // the thread may have ended
			return fmt.Errorf("restrict a thread to one core: %w", err)
		}
	}
	return nil
}
