package jobs

import "github.com/riverqueue/river"

// CompleteDays has the stays of a property that were given by days completed by the hours that it has now. One waits at a
// time for each property.
type CompleteDays struct {
	PropertyID string `json:"propertyId"`
	Round      int    `json:"round,omitempty"` // of those asked for while the ones before were under way
}

// Kind names the job.
func (CompleteDays) Kind() string { return "days.complete" }

// InsertOpts has it tried for hours: nothing else does what it does.
func (CompleteDays) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 100, UniqueOpts: unique()}
}

// Again is the job that follows one under way.
func (a CompleteDays) Again() river.JobArgs {
	a.Round++
	return a
}
