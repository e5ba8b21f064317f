package property

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/watch"
)

// Events implements EventService.
type Events struct {
	propertyv1.UnimplementedEventServiceServer
	Feed *watch.Feed
}

// watchPause is the minimum time between two messages of a stream.
const watchPause = 250 * time.Millisecond

// watchRules are the role of a token and the right of a person that each topic needs: those of the call that lists what the topic names.
var watchRules = map[watch.Topic]struct {
	role  string
	right staff.Right
}{
	watch.Reservations: {credential.RoleViewer, staff.ReadReservations},
	watch.Spaces:       {credential.RoleViewer, staff.ReadProperty},
	watch.Locks:        {credential.RoleViewer, staff.ReadLocks},
	watch.Bridges:      {credential.RoleViewer, staff.ReadLocks},
	watch.Notices:      {credential.RoleViewer, staff.ReadNotices},
	watch.Messages:     {credential.RoleOperator, staff.ReadGuests},
	watch.Kiosks:       {credential.RoleViewer, staff.ReadProperty},
}

// Watch sends what changes at the caller's property.
func (s *Events) Watch(r *propertyv1.WatchRequest, stream grpc.ServerStreamingServer[propertyv1.WatchResponse]) error {
	ctx := stream.Context()
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	caller, _ := actor.From(ctx)
	topics, err := watchedTopics(caller, r.GetTopics())
	if err != nil {
		return err
	}
	name := caller.PersonID
	if name == "" {
		name = caller.TokenID
	}
	changes, err := s.Feed.Open(propertyID, name, topics, r.GetResumeToken())
	if err != nil {
		return err
	}
	defer changes.End()
	for {
		if err := sendChanges(stream, changes); err != nil {
			return err
		}
		if err := s.wait(ctx, watchPause, nil); err != nil {
			return err
		}
		if err := s.wait(ctx, watchBeat-watchPause, changes.Woken()); err != nil {
			return err
		}
	}
}

// wait waits for a time, or until a change wakes the stream. It returns an error if the stream ends.
func (s *Events) wait(ctx context.Context, limit time.Duration, woken <-chan struct{}) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Feed.Closed():
		return fault.New(fault.Unavailable, "", "the service stops: call again")
	case <-woken:
	case <-timer.C:
	}
	return nil
}

// sendChanges sends what changed since the last message, also if nothing did.
func sendChanges(stream grpc.ServerStreamingServer[propertyv1.WatchResponse], changes *watch.Stream) error {
	list, resume := changes.Changes()
	out := &propertyv1.WatchResponse{ResumeToken: resume}
	for _, c := range list {
		out.Changes = append(out.Changes, &propertyv1.WatchedChange{Topic: string(c.Topic), Ids: c.IDs, Everything: c.Everything})
	}
	return stream.Send(out)
}

// watchedTopics returns the topics of a stream: those that the caller named, or all that the caller may read.
func watchedTopics(caller actor.Actor, named []string) (topics []watch.Topic, err error) {
	for _, t := range watch.Topics {
		if len(named) > 0 && !slices.Contains(named, string(t)) {
			continue
		}
		refused := mayWatch(caller, t)
		if refused != nil && len(named) > 0 {
			return nil, refused
		}
		if refused == nil {
			topics = append(topics, t)
		}
	}
	return topics, nil
}

// mayWatch returns why a caller may not watch a topic, or nil.
func mayWatch(caller actor.Actor, t watch.Topic) error {
	rule := watchRules[t]
	switch {
	case caller.PersonID != "" && !staff.Allows(staff.Role(caller.Role), rule.right):
		return fault.New(fault.Denied, fault.RightMissing, "the right %s is needed to watch %s; your role %s does not include it", rule.right, t, caller.Role).
			Put("right", string(rule.right))
	case caller.PersonID == "" && !credential.Suffices(caller.Role, rule.role):
		return fault.New(fault.Denied, fault.RoleMissing, "the role %s is needed to watch %s", rule.role, t).Put("role", rule.role)
	}
	return nil
}
