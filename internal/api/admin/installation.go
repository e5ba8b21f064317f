package admin

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
)

type installation struct {
	adminv1.UnimplementedInstallationServiceServer
	Deps
}

// GetInstallation returns the state of the installation, such as its versions, nodes and backups, as this node sees it.
func (s *installation) GetInstallation(ctx context.Context, _ *adminv1.GetInstallationRequest) (*adminv1.GetInstallationResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	found, err := s.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return &adminv1.GetInstallationResponse{Data: found}, nil
}

// ListPropertyStates lists one page of properties with their connected apps and the number of their bridges. The oldest properties are
// first. A page has 200 unless the request sets its size.
func (s *installation) ListPropertyStates(ctx context.Context, r *adminv1.ListPropertyStatesRequest) (*adminv1.ListPropertyStatesResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	rows, next, err := listProperties(s.DB.View(ctx), int(r.GetPageSize()), r.GetPageToken())
	if err != nil {
		return nil, err
	}
	list := &adminv1.PropertyStateList{NextPageToken: next}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	apps, err := partner.AppNames(s.DB.View(ctx), ids)
	if err != nil {
		return nil, err
	}
	bridges, err := bridge.CountByProperty(s.DB.View(ctx), ids...)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		count := bridges[row.ID]
		list.List = append(list.List, &adminv1.PropertyState{
			Property: propertyapi.Message(row), Apps: apps[row.ID], Bridges: int32(count.All), BridgesOnline: int32(count.Online),
		})
	}
	return &adminv1.ListPropertyStatesResponse{Data: list}, nil
}

// ListFailedJobs lists jobs whose last attempt failed: those that the server retries, and those that it gave up. It lists at most 200, the
// latest failure first.
func (s *installation) ListFailedJobs(ctx context.Context, _ *adminv1.ListFailedJobsRequest) (*adminv1.ListFailedJobsResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	rows, err := s.Jobs.ListFailed(s.DB.View(ctx))
	if err != nil {
		return nil, err
	}
	list := &adminv1.FailedJobList{}
	for _, j := range rows {
		m := &adminv1.FailedJob{Id: j.ID, Kind: j.Kind, PropertyId: j.PropertyID, State: "retrying", Attempts: int32(j.Attempts), Error: j.Error, FailedAt: convert.OptionalTime(j.FailedAt)}
		if j.GivenUp {
			m.State = "failed"
		} else {
			m.RetryAt = timestamppb.New(j.RetryAt)
		}
		list.List = append(list.List, m)
	}
	return &adminv1.ListFailedJobsResponse{Data: list}, nil
}

// RetryJob makes a failed job run at once, also one that the server gave up. It fails for any other job, or if an equal newer job waits.
func (s *installation) RetryJob(ctx context.Context, r *adminv1.RetryJobRequest) (*adminv1.RetryJobResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.RetryJobResponse, error) {
		return &adminv1.RetryJobResponse{}, s.Jobs.Retry(tx, r.GetId())
	})
}

// DiscardJob removes a job that the server gave up. It refuses a job that is still retried.
func (s *installation) DiscardJob(ctx context.Context, r *adminv1.DiscardJobRequest) (*adminv1.DiscardJobResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.DiscardJobResponse, error) {
		return &adminv1.DiscardJobResponse{}, s.Jobs.Discard(tx, r.GetId())
	})
}
