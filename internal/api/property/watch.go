package property

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/watch"
)

// Events implements EventService.
type Events struct {
	propertyv1.UnimplementedEventServiceServer
	Feed *watch.Feed
}

// watchPause is the minimum time between two messages of a stream. The later message has all changes in between.
const watchPause = 250 * time.Millisecond

// listMethods maps each topic to the call that lists its objects. A caller that is allowed to make this call is allowed to watch the topic.
var listMethods = map[watch.Topic]string{
	watch.Reservations: propertyv1.DayService_ListDay_FullMethodName,
	watch.Spaces:       propertyv1.SpaceService_ListSpaces_FullMethodName,
	watch.Locks:        propertyv1.LockService_ListLocks_FullMethodName,
	watch.Bridges:      propertyv1.BridgeService_ListBridges_FullMethodName,
	watch.Notices:      propertyv1.NoticeService_ListNotices_FullMethodName,
	watch.Messages:     propertyv1.MessageService_ListConversations_FullMethodName,
	watch.Kiosks:       propertyv1.KioskService_ListKiosks_FullMethodName,
}

// Watch streams the ids of what changes at the caller's property, by topic. The first message has the changes since the resume token or,
// without a known one, says that everything may have changed. It sends a message after changes, at most one in watchPause, and at least
// every watchBeat. It fails if the caller or the property has too many streams.
func (s *Events) Watch(r *propertyv1.WatchRequest, stream grpc.ServerStreamingServer[propertyv1.WatchResponse]) error {
	ctx := stream.Context()
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	caller, _ := actor.From(ctx)
	topics, err := watchedTopics(caller, r.GetTopics(), time.Now())
	if err != nil {
		return err
	}
	changes, err := s.Feed.Open(propertyID, streamCaller(ctx), topics, r.GetResumeToken())
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

// streamCaller returns the caller whose open streams are counted together: the person, or else the token.
func streamCaller(ctx context.Context) string {
	caller, _ := actor.From(ctx)
	return cmp.Or(caller.PersonID, caller.TokenID)
}

// wait waits for the time limit, or until woken receives a value. It returns an error if the stream must end. A nil woken never receives
// one.
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

// sendChanges sends what changed since the last message, and a resume token. It also sends if nothing changed.
func sendChanges(stream grpc.ServerStreamingServer[propertyv1.WatchResponse], changes *watch.Stream) error {
	list, resume := changes.Changes()
	out := &propertyv1.WatchResponse{ResumeToken: resume}
	for _, c := range list {
		out.Changes = append(out.Changes, &propertyv1.WatchedChange{Topic: string(c.Topic), Ids: c.IDs, Everything: c.Everything})
	}
	return stream.Send(out)
}

// watchedTopics returns the topics of a stream: the named ones, or if none is named, all that the caller is allowed to read. It refuses a
// named topic that the caller is not allowed to read, and ignores unknown names. The result can be empty.
func watchedTopics(caller actor.Actor, named []string, now time.Time) (topics []watch.Topic, err error) {
	for _, t := range watch.Topics {
		if len(named) > 0 && !slices.Contains(named, string(t)) {
			continue
		}
		refused := chain.MayCall(caller, chain.AccessRule(listMethods[t]), now)
		if refused != nil && len(named) > 0 {
			return nil, refused
		}
		if refused == nil {
			topics = append(topics, t)
		}
	}
	return topics, nil
}
