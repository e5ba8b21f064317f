package clock

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // embeds the zones for machines without a zone database
)

// zones caches loaded zones: time.LoadLocation reads a file each time.
var zones sync.Map

// Zone returns the time zone with an IANA name such as Europe/Lisbon. It refuses "Local" and "", which mean a different zone
// on each machine.
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
