package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

type adminStatus struct{}

// Run prints the state of the installation for latchkey admin status: versions, nodes, database, bus, jobs and the last backup.
func (*adminStatus) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewInstallationServiceClient(s.conn).GetInstallation(s, &adminv1.GetInstallationRequest{})
		return s.printAnswer(answer, err, func() { s.printInstallation(answer.GetData()) })
	})
}

// printInstallation prints the state of the server: its version, nodes, database, jobs and last backup.
func (s *session) printInstallation(i *adminv1.Installation) {
	bus, due, backup := "connected", "none", "none known"
	if !i.GetBusConnected() {
		bus = "no NATS server is connected"
	}
	if at := i.GetJobs().GetOldestDueAt(); at != nil {
		due = formatTime(at)
	}
	if b := i.GetBackup(); b != nil {
		backup = fmt.Sprintf("%s, %d bytes, %s", formatTime(b.GetMadeAt()), b.GetSizeBytes(), b.GetFile())
	}
	var nodes []string
	for _, n := range i.GetNodes() {
		nodes = append(nodes, n.GetName())
	}
	s.printFacts("state", strings.Join(append([]string{i.GetState()}, i.GetReasons()...), ": "), "version", i.GetVersion(), "go", i.GetGoVersion(),
		"database", fmt.Sprintf("%s %s, %d bytes", i.GetDatabase().GetEngine(), i.GetDatabase().GetVersion(), i.GetDatabase().GetSizeBytes()), "migration", i.GetDatabase().GetMigration(),
		"nodes", strings.Join(nodes, ", "), "bus", bus,
		"jobs", fmt.Sprintf("%d waiting, %d running, %d retried, %d given up", i.GetJobs().GetWaiting(), i.GetJobs().GetRunning(), i.GetJobs().GetRetrying(), i.GetJobs().GetFailed()),
		"oldest due job", due, "backup", backup)
}

type jobCommands struct {
	List    jobList    `cmd:"" help:"List the jobs whose last attempt failed."`
	Retry   jobRetry   `cmd:"" help:"Run a failed job at once."`
	Discard jobDiscard `cmd:"" help:"Remove a job that was given up."`
}

type jobList struct{}

// Run lists the background jobs whose last attempt failed, also those that the server retries: at most 200, the latest failure first.
func (*jobList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewInstallationServiceClient(s.conn).ListFailedJobs(s, &adminv1.ListFailedJobsRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, j := range answer.GetData().GetList() {
				rows = append(rows, []string{strconv.FormatInt(j.GetId(), 10), j.GetKind(), dash(j.GetPropertyId()), j.GetState(), strconv.Itoa(int(j.GetAttempts())), formatTime(j.GetFailedAt()), j.GetError()})
			}
			s.printTable("No job has failed.", []string{"id", "kind", "property", "state", "attempts", "failed", "error"}, rows)
		})
	})
}

type jobRetry struct {
	ID int64 `arg:"" name:"job" help:"The job's id."`
}

// Run makes a failed job run at once, also one that the server gave up. It does not wait for the outcome. It fails for any other job, or if
// an equal newer job waits.
func (c *jobRetry) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewInstallationServiceClient(s.conn).RetryJob(s, &adminv1.RetryJobRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Job %d runs again.", c.ID) })
	})
}

type jobDiscard struct {
	ID int64 `arg:"" name:"job" help:"The job's id."`
}

// Run removes a background job that the server has given up. It fails while the server still retries the job.
func (c *jobDiscard) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewInstallationServiceClient(s.conn).DiscardJob(s, &adminv1.DiscardJobRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Removed job %d.", c.ID) })
	})
}
