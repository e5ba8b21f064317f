package jobs

import (
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// ReadSpaces has getSpaces of an integration read. One waits at a time for each integration, and one of those that may
// wait a while.
type ReadSpaces struct {
	PropertyID    string `json:"propertyId"`
	IntegrationID string `json:"integrationId"`
	Later         bool   `json:"later,omitempty"` // asked for although it was read a moment ago
	First         bool   `json:"first,omitempty"` // of an endpoint that was registered a moment ago
	Round         int    `json:"round,omitempty"` // of those asked for while the ones before were under way
}

// Kind names the job.
func (ReadSpaces) Kind() string { return "spaces.read" }

// InsertOpts bounds how often it is tried: what fails for long is read by the periodic reading.
func (ReadSpaces) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 6, UniqueOpts: unique()}
}

// Again is the reading that follows one under way.
func (a ReadSpaces) Again() river.JobArgs {
	a.Round++
	return a
}

// unique has one job of the same arguments wait or run. A done one is in nobody's way.
func unique() river.UniqueOpts {
	return river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	}}
}
