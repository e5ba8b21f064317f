package guest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

func (f *fakeAPI) ListMessages(ctx context.Context, r *guestv1.ListMessagesRequest, _ ...grpc.CallOption) (*guestv1.ListMessagesResponse, error) {
	list := slices.Clone(f.messages)
	slices.Reverse(list)
	if before, err := strconv.Atoi(r.GetPageToken()); err == nil {
		list = slices.DeleteFunc(list, func(m *guestv1.Message) bool { return int(m.GetNumber()) >= before })
	}
	out := &guestv1.MessageList{List: list}
	if size := int(r.GetPageSize()); len(list) > size {
		out.List, out.NextPageToken = list[:size], strconv.Itoa(int(list[size-1].GetNumber()))
	}
	return &guestv1.ListMessagesResponse{Data: out}, f.call(ctx, staySession)
}

func (f *fakeAPI) SendMessage(ctx context.Context, r *guestv1.SendMessageRequest, _ ...grpc.CallOption) (*guestv1.SendMessageResponse, error) {
	if len(r.GetText()) > 2000 {
		return nil, fault.Fields(fault.Field{Path: "text", Reason: fault.TooLong})
	}
	m := &guestv1.Message{Number: int32(len(f.messages) + 1), Sender: "guest", Text: r.GetText(), SentAt: timestamppb.New(f.now)}
	f.messages = append(f.messages, m)
	return &guestv1.SendMessageResponse{Data: m}, f.call(ctx, staySession)
}

func (f *fakeAPI) ReadMessages(ctx context.Context, r *guestv1.ReadMessagesRequest, _ ...grpc.CallOption) (*guestv1.ReadMessagesResponse, error) {
	f.readUpTo = r.GetNumber()
	return &guestv1.ReadMessagesResponse{}, f.call(ctx, staySession)
}

// fakeStream sends the messages of the fake.
type fakeStream struct {
	grpc.ServerStreamingClient[guestv1.WatchMessagesResponse]
	ctx    context.Context
	coming chan *guestv1.Message
}

func (s fakeStream) Recv() (*guestv1.WatchMessagesResponse, error) {
	select {
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case m := <-s.coming:
		return &guestv1.WatchMessagesResponse{Data: m}, nil
	}
}

func (f *fakeAPI) WatchMessages(ctx context.Context, _ *guestv1.WatchMessagesRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[guestv1.WatchMessagesResponse], error) {
	return fakeStream{ctx: ctx, coming: f.coming}, f.call(ctx, staySession)
}

// The guest reads and writes messages without script. Reading marks them as read, and a text that is refused is kept.
func TestMessages(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.stay.UnreadMessages = new(int32(2))
	b.shows("/g/stays/rsv_1", "Messages 2 new")
	f.messages = []*guestv1.Message{
		{Number: 1, Sender: "property", Text: "Welcome,\nAna <3", SentAt: timestamppb.New(f.now)},
		{Number: 2, Sender: "guest", Text: "Thanks", SentAt: timestamppb.New(f.now), ReadAt: timestamppb.New(f.now)},
	}
	const path = "/g/stays/rsv_1/messages"
	a := b.shows(path, "Hostel Miramar Fri 20 Nov, 12:00 Welcome, Ana &lt;3 You Fri 20 Nov, 12:00 Thanks Read Fri 20 Nov, 12:00")
	if f.readUpTo != 2 || !strings.Contains(a.body, `data-feed="`+path+`/live?after=2"`) {
		t.Errorf("read up to %d: %s", f.readUpTo, a.body)
	}
	b.moves(path, form("text", "Where is\nthe key?"), path+"#end-of-messages")
	b.shows(path, "Where is the key?")
	b.moves(path, form("text", " "), path)
	long := strings.Repeat("long ", 401)
	if a := b.do(http.MethodPost, path, form("text", long)); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, strings.TrimSpace(long)) {
		t.Errorf("status %d: %s", a.status, plain(a.body))
	}
	if len(f.messages) != 3 {
		t.Errorf("%d messages", len(f.messages))
	}
}

// The page shows the newest messages and leads to older ones. A page with older messages follows no stream, which would put the newest in their
// place, has no form, and marks nothing as read.
func TestOlderMessages(t *testing.T) {
	f := newFake()
	for n := range int32(130) {
		f.messages = append(f.messages, &guestv1.Message{Number: n + 1, Sender: "property", Text: fmt.Sprintf("Message %d.", n+1), SentAt: timestamppb.New(f.now)})
	}
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	const path = "/g/stays/rsv_1/messages"
	newest := b.shows(path, "Older messages", "Message 31.", "Message 130.", "Your message")
	if !strings.Contains(newest.body, `<div id="older"><p class="more"><a href="`+path+`?page=31">`) || strings.Contains(newest.body, "Message 30.") || f.readUpTo != 130 {
		t.Errorf("read up to %d: %s", f.readUpTo, newest.body)
	}
	f.readUpTo = 0
	older := b.shows(path+"?page=31", "Message 1.", "Message 30.", "Newest messages")
	for _, not := range []string{"Older messages", "Message 31.", "data-feed", "<textarea", `id="messages"`} {
		if strings.Contains(older.body, not) {
			t.Errorf("the page with older messages has %s: %s", not, older.body)
		}
	}
	if f.readUpTo != 0 || !strings.Contains(older.body, `<a href="`+path+`">Newest messages`) {
		t.Errorf("read up to %d: %s", f.readUpTo, older.body)
	}
	if a := b.get(path + "?page=1"); a.moved != path {
		t.Errorf("a page without messages moves to %q", a.moved)
	}
}

// An open page receives each message at once.
func TestMessagesLive(t *testing.T) {
	f := newFake()
	f.coming = make(chan *guestv1.Message, 2)
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/g/stays/rsv_1/messages/live?after=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("status %d, %s", res.StatusCode, kind)
	}
	lines := bufio.NewScanner(res.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() != "" {
				if lines.Text() != want {
					t.Fatalf("the page hears %q, want %q", lines.Text(), want)
				}
				return
			}
		}
		t.Fatalf("the stream ended before %q", want)
	}
	next(": ")
	f.coming <- &guestv1.Message{Number: 2}
	next("id: 2")
	next("data: 2")
}
