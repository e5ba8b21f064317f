package operator

import (
	"net/http"
	"strconv"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

type jobsView struct{ List []*adminv1.FailedJob }

// Chip returns the state of a failed job as the list shows it: retried, or given up.
func (jobsView) Chip(j *adminv1.FailedJob) chip {
	if j.GetState() == "failed" {
		return chip{"bad", "✕", "operator.job.failed"}
	}
	return chip{"info", "↻", "operator.job.retrying"}
}

// showJobs handles GET /operator/jobs: the list of failed background jobs.
func (s *site) showJobs(x *exchange) error {
	found, err := s.api.Installation.ListFailedJobs(x.call(), &adminv1.ListFailedJobsRequest{})
	if err != nil {
		return err
	}
	p := x.areaPage("jobs")
	p.Data = jobsView{found.GetData().GetList()}
	return x.render(http.StatusOK, "jobs", p)
}

// changeJob handles the buttons of a failed job. "retry" runs it now, also a job that was given up, and "discard" deletes a job that was
// given up. The API refuses to discard a job that it still retries, and to retry one if an equal newer job waits.
func (s *site) changeJob(x *exchange) error {
	id, err := strconv.ParseInt(x.Value("job"), 10, 64)
	if err != nil {
		return x.problem(http.StatusBadRequest, "staff.problem.form")
	}
	switch x.Value("do") {
	case "retry":
		if _, err := s.api.Installation.RetryJob(x.call(), &adminv1.RetryJobRequest{Id: id}); err != nil {
			return err
		}
		return x.Redirect("/operator/jobs?done=retried")
	case "discard":
		if _, err := s.api.Installation.DiscardJob(x.call(), &adminv1.DiscardJobRequest{Id: id}); err != nil {
			return err
		}
		return x.Redirect("/operator/jobs?done=discarded")
	}
	return x.Redirect("/operator/jobs")
}
