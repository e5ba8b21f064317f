package clock

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // a machine without a zone database knows its zones all the same
)

// zones remembers what was loaded: time.LoadLocation reads a file each time.
var zones sync.Map

// Zone returns the time zone of an IANA name such as Europe/Lisbon. "Local" and "" are none: they mean another zone on
// another machine.
func Zone(name string) (*time.Location, error) {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q: want an IANA name such as Europe/Lisbon", name)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: want an IANA name such as Europe/Lisbon: %w", name, err)
	}
	zones.Store(name, z)
	return z, nil
}
