package jobs

import "github.com/riverqueue/river"

// CompleteDays recomputes the check-in and check-out times of reservations that were given by days only, from the property's
// current hours. One job per property waits at a time.
type CompleteDays struct {
	PropertyID string `json:"propertyId"`
	Round      int    `json:"round,omitempty"` // distinguishes a job that was requested while the previous one ran
}

// Kind implements river.JobArgs.
func (CompleteDays) Kind() string { return "days.complete" }

// InsertOpts allows attempts for hours, because no other process does this work.
func (CompleteDays) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 100, UniqueOpts: unique()}
}

// Again implements [Repeatable].
func (a CompleteDays) Again() river.JobArgs {
	a.Round++
	return a
}
