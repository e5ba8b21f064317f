package worker

import (
	"context"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/conversation"
)

// conversationsSubject is the subject of the message bus on which nodes announce changed conversations.
const conversationsSubject = "latchkey.conversations"

// Conversations wakes the watchers of a changed conversation on all nodes. A lost wake-up only delays them until they read again.
type Conversations struct {
	Bus  *bus.Bus
	Feed *conversation.Feed
}

// Notify wakes the watchers of a conversation on all nodes that run [Conversations.Run]. key is a key of the topic [conversation.Changed].
// It does not block.
func (c Conversations) Notify(key string) {
	c.wakeWatchers(key)
	_ = c.Bus.Publish(conversationsSubject, []byte(key))
}

// wakeWatchers wakes this node's watchers of the conversation that a key of the bus names.
func (c Conversations) wakeWatchers(key string) {
	if k, ok := conversation.ParseTopic(key); ok {
		c.Feed.Wake(k)
	}
}

// Run wakes this node's watchers of a conversation whenever a node announces on the bus that the conversation changed, until ctx ends. It
// fails only if it cannot subscribe.
func (c Conversations) Run(ctx context.Context) error {
	stop, err := c.Bus.Subscribe(conversationsSubject, func(m bus.Message) { c.wakeWatchers(string(m.Payload)) })
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	return nil
}
