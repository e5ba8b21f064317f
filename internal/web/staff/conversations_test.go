package staff

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// conversation is an API with a conversation of many messages.
type conversation struct {
	house
	propertyv1.MessageServiceClient
	count, readUpTo int32
	read            *timestamppb.Timestamp // when all messages were read, or nil
	erased          bool                   // the data of the guests were erased
}

func (c *conversation) ListMessages(_ context.Context, r *propertyv1.ListMessagesRequest, _ ...grpc.CallOption) (*propertyv1.ListMessagesResponse, error) {
	last := c.count
	if before, err := strconv.Atoi(r.GetPageToken()); err == nil {
		last = int32(before) - 1
	}
	list := &propertyv1.MessageList{}
	for n := last; n > 0; n-- {
		if len(list.GetList()) == int(r.GetPageSize()) {
			list.NextPageToken = fmt.Sprint(n + 1)
			break
		}
		list.List = append(list.List, &propertyv1.Message{Number: n, Sender: "guest", Text: fmt.Sprintf("Message %d.", n), ReadAt: c.read})
	}
	return &propertyv1.ListMessagesResponse{Data: list, Conversation: &propertyv1.Conversation{GuestId: "gst_1", ReservationId: "rsv_1", PmsNumber: "8790", Erased: c.erased}}, nil
}

func (c *conversation) ReadMessages(_ context.Context, r *propertyv1.ReadMessagesRequest, _ ...grpc.CallOption) (*propertyv1.ReadMessagesResponse, error) {
	c.readUpTo = r.GetNumber()
	return &propertyv1.ReadMessagesResponse{}, nil
}

// The page of a conversation shows its newest messages and leads to older ones. Only the page with the newest messages marks them as read and has the
// form of a new message.
func TestOlderMessages(t *testing.T) {
	c := &conversation{house: house{rights: []string{"readGuests", "writeMessages"}}, count: 250}
	api := API{Sessions: c, Properties: c, Notices: &notices{}, Messages: c}
	const path = "/app/messages/gst_1"
	for _, page := range []struct {
		url, first, last, older, newest string
		reads                           int32
	}{
		{path, "Message 151.", "Message 250.", path + "?page=151", "", 250},
		{path + "?page=151", "Message 51.", "Message 150.", path + "?page=51", path, 0},
		{path + "?page=51", "Message 1.", "Message 50.", "", path, 0},
	} {
		c.readUpTo = 0
		got := serve(t, api, page.url, nil)
		body := got.Body.String()
		if got.Code != http.StatusOK || c.readUpTo != page.reads || strings.Contains(body, "<textarea") != (page.newest == "") {
			t.Errorf("%s: status %d, read up to %d", page.url, got.Code, c.readUpTo)
		}
		first, last := strings.Index(body, page.first), strings.Index(body, page.last)
		if first < 0 || last < first || strings.Count(body, ">Message ") > 100 {
			t.Errorf("%s: the first message is at %d, the last at %d of\n%s", page.url, first, last, body)
		}
		for name, to := range map[string]string{"Older messages": page.older, "Newest messages": page.newest} {
			if link := fmt.Sprintf(`<a href="%s">%s</a>`, to, name); to != "" != strings.Contains(body, name) || to != "" && !strings.Contains(body, link) {
				t.Errorf("%s: the page lacks %s, or has it without need", page.url, link)
			}
		}
	}
	c.readUpTo, c.read = 0, timestamppb.Now()
	if serve(t, api, path, nil); c.readUpTo != 0 {
		t.Errorf("messages that were read before are marked as read up to %d", c.readUpTo)
	}
	if got := serve(t, api, path+"?page=1", nil); got.Code != http.StatusSeeOther || got.Header().Get("Location") != path {
		t.Errorf("a page without messages: %d, to %q", got.Code, got.Header().Get("Location"))
	}
}

// No message reaches the guests of a stay whose data were erased, so the page has no form.
func TestNoFormForAnErasedStay(t *testing.T) {
	c := &conversation{house: house{rights: []string{"readGuests", "writeMessages"}}, erased: true}
	got := serve(t, API{Sessions: c, Properties: c, Notices: &notices{}, Messages: c}, "/app/messages/rsv_1", nil)
	if got.Code != http.StatusOK || strings.Contains(got.Body.String(), "<textarea") {
		t.Errorf("status %d of\n%s", got.Code, got.Body)
	}
}

// A page that loads itself again marks nothing as read, and does so only for messages of its own guest.
func TestMessagesAreReadByAPerson(t *testing.T) {
	c := &conversation{house: house{rights: []string{"readGuests", "writeMessages"}}, count: 3}
	api := API{Sessions: c, Properties: c, Notices: &notices{}, Messages: c}
	const path = "/app/messages/gst_1"
	for _, own := range []bool{true, false} {
		c.readUpTo = 0
		body := serveAs(t, api, "en", path, nil, map[string]string{"Latchkey-Automatic": map[bool]string{true: "1"}[own]}).Body.String()
		if want := map[bool]int32{false: 3}[own]; c.readUpTo != want {
			t.Errorf("the script sent the request: %v, read up to %d, want %d", own, c.readUpTo, want)
		}
		if !strings.Contains(body, `data-feed="/app/live?topics=messages" `) || !strings.Contains(body, `data-of="gst_1"`) {
			t.Errorf("the page follows other conversations: %s", body)
		}
	}
}
