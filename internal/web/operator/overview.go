package operator

import (
	"fmt"
	"net/http"
	"time"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

const (
	lateJob     = 5 * time.Minute // the oldest due job is late after this time
	staleBackup = 48 * time.Hour  // a backup is too old after this time
	clockApart  = time.Second     // the page warns if the clock of a node is off by more than this time
)

// overview is the page with the state of the installation. The message of each chip has a second message with the suffix .text, which
// advises what to do.
type overview struct {
	*adminv1.Installation
	now time.Time
}

// showOverview handles GET /operator/: the state of the installation.
func (s *site) showOverview(x *exchange) error {
	found, err := s.api.Installation.GetInstallation(x.call(), &adminv1.GetInstallationRequest{})
	if err != nil {
		return err
	}
	p := x.areaPage("overview")
	p.Data = overview{found.GetData(), s.Now()}
	return x.render(http.StatusOK, "overview", p)
}

// StateChip returns the chip of the node's state: ready for API calls, degraded, or not ready.
func (v overview) StateChip() chip {
	switch v.GetState() {
	case "ready":
		return chip{"ok", "●", "operator.state.ready"}
	case "degraded":
		return chip{"warn", "◐", "operator.state.degraded"}
	}
	return chip{"bad", "✕", "operator.state.unready"}
}

// NodesChip returns the chip that shows whether any node is known, and whether each node's clock is right to within clockApart.
func (v overview) NodesChip() chip {
	for _, n := range v.GetNodes() {
		if ahead := time.Duration(n.GetClockAheadMs()) * time.Millisecond; ahead.Abs() > clockApart {
			return chip{"warn", "◐", "operator.nodes.clock"}
		}
	}
	if len(v.GetNodes()) == 0 {
		return chip{"unknown", "?", "operator.nodes.none"}
	}
	return chip{"ok", "●", "operator.nodes.up"}
}

// BusChip returns the chip that shows whether this node is connected to the message bus, over which the nodes reach each other.
func (v overview) BusChip() chip {
	if v.GetBusConnected() {
		return chip{"ok", "●", "operator.bus.up"}
	}
	return chip{"bad", "✕", "operator.bus.down"}
}

// JobsChip returns the chip of the worst state of the background jobs: late, given up, retried, or in time.
func (v overview) JobsChip() chip {
	j := v.GetJobs()
	switch {
	case j.GetOldestDueAt() != nil && v.now.Sub(j.GetOldestDueAt().AsTime()) > lateJob:
		return chip{"bad", "✕", "operator.jobs.late"}
	case j.GetFailed() > 0:
		return chip{"warn", "◐", "operator.jobs.failed"}
	case j.GetRetrying() > 0:
		return chip{"info", "↻", "operator.jobs.retrying"}
	}
	return chip{"ok", "●", "operator.jobs.moving"}
}

// BackupChip returns the chip that shows whether there is a recent backup. It is "unknown" for PostgreSQL, whose backups the server does
// not make.
func (v overview) BackupChip() chip {
	switch {
	case v.GetDatabase().GetEngine() != "sqlite":
		return chip{"unknown", "?", "operator.backup.own"}
	case v.GetBackup() == nil:
		return chip{"bad", "✕", "operator.backup.none"}
	case v.now.Sub(v.GetBackup().GetMadeAt().AsTime()) > staleBackup:
		return chip{"warn", "◐", "operator.backup.old"}
	}
	return chip{"ok", "●", "operator.backup.fresh"}
}

// Engine returns the name and version of the database software.
func (v overview) Engine() string {
	if v.GetDatabase().GetEngine() == "sqlite" {
		return "SQLite " + v.GetDatabase().GetVersion()
	}
	return "PostgreSQL " + v.GetDatabase().GetVersion()
}

// Size formats a number of bytes with the largest unit in which it is at least one, such as 1.5 MB (1 KB is 1000 bytes).
func (overview) Size(bytes int64) string {
	size, units := float64(bytes), []string{"B", "KB", "MB", "GB", "TB"}
	for len(units) > 1 && size >= 1000 {
		size, units = size/1000, units[1:]
	}
	if units[0] == "B" {
		return fmt.Sprintf("%.0f B", size)
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
