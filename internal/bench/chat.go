package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/sandbox"
)

// cutStreams is how long a stream of messages lasts before its client cuts it and connects again.
const cutStreams = 17 * time.Second

// chat is one guest's side of a conversation. It checks the numbers of the messages that the stream of the guest's open page delivers.
type chat struct {
	v      *sandbox.Visitor
	bed    int
	sent   int        // messages by the guest
	ended  chan error // gets the error of the stream, or nil, when chat has ended
	mu     sync.Mutex
	counts numbering
}

// numbering counts the missing and the repeated numbers in a sequence that should be 1, 2, 3 and so on.
type numbering struct {
	last        int32
	lost, twice int
}

// add counts the next number of the sequence. A number that is not higher than the last counts as repeated; the numbers that it skips count
// as lost.
func (n *numbering) add(number int32) {
	switch {
	case number <= n.last:
		n.twice++
		return
	case number > n.last+1:
		n.lost += int(number - n.last - 1)
	}
	n.last = number
}

// startChat begins to follow the conversation of a guest who has checked in, until ctx ends. It cuts and resumes the stream after each
// cutStreams. At the end, the channel ended gets the error or nil.
func startChat(ctx context.Context, v *sandbox.Visitor, bed int) *chat {
	c := &chat{v: v, bed: bed, ended: make(chan error, 1)}
	go func() {
		for ctx.Err() == nil {
			cut, cancel := context.WithTimeout(ctx, cutStreams)
			err := v.Follow(cut, c.received().last, c.receive)
			cancel()
			if err != nil && cut.Err() == nil {
				c.ended <- err
				return
			}
		}
		c.ended <- nil
	}()
	return c
}

// receive counts a message, by its number in the conversation, that the stream of the guest delivered.
func (c *chat) receive(number int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.add(number)
}

// received returns the counts of the messages that the guest has received.
func (c *chat) received() numbering {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// guestText is the format of a guest's message. It contains the number of the bed and of the message, so that the front desk notices a
// lost or repeated message.
const guestText = "Bed %d: question %d"

// write sends the next message of the guest. It counts the message in sent, also if it fails.
func (c *chat) write(ctx context.Context) error {
	c.sent++
	return c.v.Write(ctx, fmt.Sprintf(guestText, c.bed, c.sent))
}

// frontDesk answers each message of each guest, as staff with a stream of conversations do.
type frontDesk struct {
	conn     *grpc.ClientConn
	messages propertyv1.MessageServiceClient
	token    string

	mu    sync.Mutex
	read  map[string]int32   // by guest id, the number of the last message that the front desk has read: it lists only later ones
	asked map[int]*numbering // the questions received, by bed
}

// newFrontDesk returns a front desk that calls the server at a gRPC address with a staff token.
func newFrontDesk(address, token string) (*frontDesk, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &frontDesk{conn: conn, messages: propertyv1.NewMessageServiceClient(conn), token: token, read: map[string]int32{}, asked: map[int]*numbering{}}, nil
}

func (d *frontDesk) close() error { return d.conn.Close() }

// serve answers messages until ctx ends, and then returns nil. A broken stream or a failed answer ends it earlier with an error. It opens
// its stream again after each cutStreams, to test that no message is lost.
func (d *frontDesk) serve(ctx context.Context) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+d.token)
	for ctx.Err() == nil {
		cut, cancel := context.WithTimeout(ctx, cutStreams)
		err := d.follow(ctx, cut)
		cancel()
		if code := status.Code(err); cut.Err() == nil && code != codes.DeadlineExceeded && code != codes.Canceled {
			return fmt.Errorf("front desk: %w", err)
		}
	}
	return nil
}

// follow opens a stream with the context cut, and answers messages until the stream ends. The answers use ctx, so that the end of cut does
// not stop them. follow always returns an error: why the stream ended.
func (d *frontDesk) follow(ctx, cut context.Context) error {
	stream, err := d.messages.WatchConversations(cut, &propertyv1.WatchConversationsRequest{})
	if err != nil {
		return err
	}
	for {
		changed, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := d.answer(ctx, changed.GetData().GetGuestId()); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// answer loads the messages of a guest since its last call, answers each question, and counts it. It fails if a message of the guest is not
// one that chat.write made.
func (d *frontDesk) answer(ctx context.Context, guest string) error {
	d.mu.Lock()
	after := d.read[guest]
	d.mu.Unlock()
	found, err := d.messages.ListMessages(ctx, &propertyv1.ListMessagesRequest{GuestId: guest, After: after, PageSize: 200})
	if err != nil {
		return err
	}
	for _, m := range found.GetData().GetList() {
		d.mu.Lock()
		d.read[guest] = m.GetNumber()
		d.mu.Unlock()
		if m.GetSender() != "guest" {
			continue
		}
		var bed, question int
		if _, err := fmt.Sscanf(m.GetText(), guestText, &bed, &question); err != nil {
			return fmt.Errorf("a message is not one of this benchmark: %w", err)
		}
		d.countQuestion(bed, int32(question))
		answer := &propertyv1.SendMessageRequest{GuestId: guest, Text: fmt.Sprintf("Answer %d for bed %d", question, bed)}
		if _, err := d.messages.SendMessage(ctx, answer); err != nil {
			return err
		}
	}
	return nil
}

// countQuestion records that the question with a number has arrived from a bed.
func (d *frontDesk) countQuestion(bed int, question int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked[bed] == nil {
		d.asked[bed] = &numbering{}
	}
	d.asked[bed].add(question)
}

// received returns the counts of the questions from a bed: the last one that arrived, the gaps and the repetitions. Questions after the
// last are not counted as lost.
func (d *frontDesk) received(bed int) numbering {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.asked[bed]; n != nil {
		return *n
	}
	return numbering{}
}

// waitForAnswers waits until every guest's phone has the answer to each question, at most for the duration most. A timeout is not an error:
// waitForAnswers fails only if ctx is cancelled. A complete conversation has twice as many messages as questions.
func waitForAnswers(ctx context.Context, chats []*chat, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for _, c := range chats {
		for c.received().last < int32(2*c.sent) {
			if err := sleepUntil(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					return nil // what is missing is counted as lost
				}
				return err
			}
		}
	}
	return nil
}

// tally sums up the messages of all conversations. sent is the number of questions and of their expected answers. lost counts those that
// did not arrive, and twice those that arrived more than once.
func tally(chats []*chat, d *frontDesk) (sent, lost, twice int) {
	for _, c := range chats {
		phone, desk := c.received(), d.received(c.bed)
		sent += 2 * c.sent
		lost += phone.lost + desk.lost + max(0, 2*c.sent-int(phone.last)) + max(0, c.sent-int(desk.last))
		twice += phone.twice + desk.twice
	}
	return sent, lost, twice
}
