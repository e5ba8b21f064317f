package staff

import (
	"net/http"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

type conversationsView struct {
	Tabs   []tab
	Find   finder
	Rows   []*propertyv1.Conversation
	Next   string // URL of the next page, or ""
	Narrow bool   // a filter or search is active
}

// showConversations handles the list of conversations with guests. On each page, those with unread messages are first.
func (s *site) showConversations(x *exchange) error {
	q := x.R.URL.Query()
	unread := q.Get("show") == "unread"
	size := x.pageSize(usualRows, mostRows)
	found, err := s.api.Messages.ListConversations(x.call(), &propertyv1.ListConversationsRequest{PageSize: int32(size), UnreadOnly: unread, Query: q.Get("q"), PageToken: q.Get("page")})
	if err != nil {
		return err
	}
	v := conversationsView{
		Rows: found.GetData().GetList(), Narrow: unread || q.Get("q") != "", Find: finder{"/app/messages", "staff.conversations.search", q.Get("q"), q.Get("show")},
		Tabs: []tab{
			{Name: "staff.conversations.all", URL: "/app/messages", Count: -1, Here: !unread},
			{Name: "staff.conversations.unread", URL: "/app/messages?show=unread", Count: int(found.GetData().GetUnread()), Here: unread},
		},
	}
	for _, c := range v.Rows {
		if c.GetLast() != nil {
			c.Last.Text = shorten(c.GetLast().GetText())
		}
	}
	slices.SortStableFunc(v.Rows, func(a, b *propertyv1.Conversation) int { return unreadFirst(a) - unreadFirst(b) })
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/messages", "show", q.Get("show"), "q", q.Get("q"), "page", next)
	}
	p := x.newPage("staff.messages.title.short")
	p.Here, p.Data, p.secret = "messages", v, true
	x.resizable(p, size, mostRows, len(v.Rows), v.Next != "")
	return x.render(http.StatusOK, "conversations", p)
}

// unreadFirst returns the sort key of a conversation in the list: 0 with unread messages, 1 without, so that read ones come last.
func unreadFirst(c *propertyv1.Conversation) int {
	if c.GetUnread() == 0 {
		return 1
	}
	return 0
}

type messagesView struct {
	Guest  string                // id of the guest
	Stay   string                // URL of the reservation, or "" if the page is a part of it
	List   []*propertyv1.Message // oldest first
	Older  string                // URL of the page with older messages, or ""
	Newest string                // URL of the page with the newest messages, or "" on that page
	Typed  string                // a refused message, or ""
	May    bool                  // the person may write messages, and the guest's data are not erased
}

// shownMessages is how many messages a page shows.
const shownMessages = 100

// showMessages handles the conversation with one guest.
func (s *site) showMessages(x *exchange) error {
	return x.messagesPage(http.StatusOK, x.R.URL.Query().Get("page"), "")
}

// messagesPage renders a page of the conversation with one guest. If it shows the newest messages, it marks them as read, unless the person
// may not write messages or the page's script sent the request. typed is a message that was refused because it was too long, or "". If no
// messages are left on the page of token, it redirects to the newest ones. The menu entry of the page is "messages" or, for a URL below a
// reservation, "reservations".
func (x *exchange) messagesPage(status int, token, typed string) error {
	v := messagesView{Typed: typed, May: x.may("writeMessages")}
	found, err := x.readConversation(x.R.PathValue("id"), token, v.May && !x.automatic())
	if err != nil {
		return err
	}
	first := x.R.URL.EscapedPath()
	v.List = found.GetData().GetList()
	slices.Reverse(v.List)
	if token != "" && len(v.List) == 0 { // the messages of this page were deleted
		return x.Redirect(first)
	}
	if token != "" {
		v.Newest = first
	}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Older = listURL(first, "page", next)
	}
	of := found.GetConversation()
	v.May = v.May && !of.GetErased()
	v.Guest = of.GetGuestId()
	name := of.GetName()
	if name == "" { // a companion who has not entered a name yet
		name = x.words().Text("web.guest", nil)
	}
	p := x.newPage("staff.messages.title", "name", name, "number", of.GetPmsNumber())
	stay := "/app/reservations/" + of.GetReservationId()
	if p.Here, p.Back = "reservations", stay; !strings.HasPrefix(x.R.URL.Path, stay) {
		p.Here, p.Back, v.Stay = "messages", "/app/messages", stay
	}
	p.Data, p.secret = v, true
	p.refuseMessage(status)
	return x.render(status, "messages", p)
}

// refuseMessage adds the error that a message is too long, unless status is 200.
func (p *page) refuseMessage(status int) {
	if status != http.StatusOK {
		p.Wrong = []kit.Wrong{{ID: "f-text", Label: p.T("staff.messages.write"), Text: p.T("web.messages.tooLong")}}
	}
}

// readConversation loads a page of a conversation: the newest messages, or those of a page token. The newest message is first. If marks is
// true and token is "", it also marks all messages of the guest up to the newest one as read. marks is false for a page that updates
// itself, because possibly no person reads it. Without unread messages on the page it marks nothing, because a write waits for the disk.
func (x *exchange) readConversation(guest, token string, marks bool) (*propertyv1.ListMessagesResponse, error) {
	found, err := x.site.api.Messages.ListMessages(x.call(), &propertyv1.ListMessagesRequest{GuestId: guest, NewestFirst: true, PageToken: token, PageSize: shownMessages})
	list := found.GetData().GetList()
	unread := slices.ContainsFunc(list, func(m *propertyv1.Message) bool { return m.GetSender() == "guest" && m.GetReadAt() == nil })
	if err == nil && marks && token == "" && unread {
		_, err = x.site.api.Messages.ReadMessages(x.call(), &propertyv1.ReadMessagesRequest{GuestId: guest, Number: list[0].GetNumber()})
	}
	return found, err
}

// sendMessage handles the form with a new message to the guest. An empty text sends nothing. One that is too long shows the page again with
// an error.
func (s *site) sendMessage(x *exchange) error {
	if text := x.Value("text"); text != "" {
		if _, err := s.api.Messages.SendMessage(x.call(), &propertyv1.SendMessageRequest{GuestId: x.R.PathValue("id"), Text: text}); err != nil {
			if s.Fault(err).Kind == fault.Invalid {
				return x.messagesPage(http.StatusUnprocessableEntity, "", text)
			}
			return err
		}
	}
	return x.Redirect(x.R.URL.EscapedPath())
}

// maxExcerpt is how many characters of the last message the list shows.
const maxExcerpt = 140

// shorten returns a text as one line. It cuts a text of more than maxExcerpt characters and ends it with "…".
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if text.TruncateRunes(s, maxExcerpt) == s {
		return s
	}
	return strings.TrimSpace(text.TruncateRunes(s, maxExcerpt-1)) + "…"
}
