package jobs

import (
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

var (
	_ Repeatable = ReadSpaces{}
	_ Repeatable = CompleteDays{}
	_ Repeatable = DeliverEvents{}
)

// ReadSpaces calls getSpaces of an integration and stores the listed spaces. Of the jobs of an integration with the same Later and First,
// one waits at a time.
type ReadSpaces struct {
	PropertyID    string `json:"propertyId"`
	IntegrationID string `json:"integrationId"`
	Later         bool   `json:"later,omitempty"` // Later means that the spaces were read recently, so that this job runs later
	First         bool   `json:"first,omitempty"` // First means that the endpoint is newly registered
	Round         int    `json:"round,omitempty"` // Round makes the job differ from a running job, which would otherwise absorb it
}

// Kind implements river.JobArgs. Jobs are stored under this name, so it must not change.
func (ReadSpaces) Kind() string { return "spaces.read" }

// InsertOpts implements river.JobArgsWithInsertOpts. It allows few attempts, because the spaces are also read periodically.
func (ReadSpaces) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 6, UniqueOpts: unique()}
}

// Next implements [Repeatable]: it returns the arguments with the next Round.
func (a ReadSpaces) Next() river.JobArgs {
	a.Round++
	return a
}

// unique returns the option by which River does not store a job while one with the same arguments waits or runs. Completed jobs do not
// count.
func unique() river.UniqueOpts {
	return river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	}}
}

// CompleteDays recomputes the check-in and check-out times of reservations for which the PMS sent days only, from the property's current
// hours. One job per property waits at a time.
type CompleteDays struct {
	PropertyID string `json:"propertyId"`
	Round      int    `json:"round,omitempty"` // Round makes the job differ from a running job, which would otherwise absorb it
}

// Kind implements river.JobArgs. Jobs are stored under this name, so it must not change.
func (CompleteDays) Kind() string { return "days.complete" }

// InsertOpts implements river.JobArgsWithInsertOpts. It allows attempts for hours, because nothing else does this work.
func (CompleteDays) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 100, UniqueOpts: unique()}
}

// Next implements [Repeatable]: it returns the arguments with the next Round.
func (a CompleteDays) Next() river.JobArgs {
	a.Round++
	return a
}

// SendMail sends a stored mail. It holds ids only: the text, and every secret in it, is created when the job runs.
type SendMail struct {
	PropertyID string `json:"propertyId"`
	MailID     string `json:"mailId"`
}

// Kind implements river.JobArgs. Jobs are stored under this name, so it must not change.
func (SendMail) Kind() string { return "mail.send" }

// InsertOpts implements river.JobArgsWithInsertOpts. It allows attempts for hours: an attempt fails only because of the database. If the
// mail server fails, the job is postponed, which is not a failed attempt.
func (SendMail) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 100, UniqueOpts: unique()}
}

// DeliverEvents delivers events to a webhook in order. It holds ids only: the messages, and every PIN in them, are created when the job
// runs.
type DeliverEvents struct {
	PropertyID string `json:"propertyId"`
	WebhookID  string `json:"webhookId"`
	Round      int    `json:"round,omitempty"` // Round makes the job differ from a running job, which would otherwise absorb it
}

// Kind implements river.JobArgs. Jobs are stored under this name, so it must not change.
func (DeliverEvents) Kind() string { return "webhook.deliver" }

// InsertOpts implements river.JobArgsWithInsertOpts. It allows attempts for hours: an attempt fails only because of the database. Failed
// deliveries are counted at the webhook's cursor instead.
func (DeliverEvents) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 100, Queue: webhooksQueue, UniqueOpts: unique()}
}

// Next implements [Repeatable]: it returns the arguments with the next Round.
func (a DeliverEvents) Next() river.JobArgs {
	a.Round++
	return a
}
