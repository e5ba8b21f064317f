package staff

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// feed is what an open page follows.
type feed struct {
	URL string
	Of  string // the id that the page is about; "": any
	At  string // the address of the page with the parts, if it is another page; "": the page itself
}

// newFeed returns the feed of topics, which are joined by commas.
func newFeed(topics, of string) feed { return feed{URL: "/app/live?topics=" + topics, Of: of} }

// newFeedAt is [newFeed] for the answer to a form, which a browser cannot load again: it shows parts of another page.
func newFeedAt(at, topics, of string) feed {
	f := newFeed(topics, of)
	f.At = at
	return f
}

// follow announces what changes to an open page, as server-sent events with ids. The page then loads its parts again, so it misses no last state
// whatever it missed before.
func (s *site) follow(x *exchange) error {
	topics := strings.Split(x.R.URL.Query().Get("topics"), ",") // the API refuses those that the person may not read
	stream, err := s.api.Events.Watch(x.call(), &propertyv1.WatchRequest{Topics: topics, ResumeToken: x.R.Header.Get("Last-Event-ID")})
	if err != nil {
		return err
	}
	return x.Follow(func() (string, error) {
		got, err := stream.Recv()
		if err != nil {
			return "", err
		}
		return changedEvent(got)
	})
}

// changedEvent returns the event of what changed; of nothing, a comment that keeps the stream.
func changedEvent(m *propertyv1.WatchResponse) (string, error) {
	if len(m.GetChanges()) == 0 {
		return ": \n\n", nil
	}
	changed := struct {
		IDs []string `json:"ids"`
		All bool     `json:"all"` // the page cannot know whether it shows what changed
	}{IDs: []string{}}
	for _, c := range m.GetChanges() {
		changed.IDs = append(changed.IDs, c.GetIds()...)
		changed.All = changed.All || c.GetEverything() || len(c.GetIds()) == 0
	}
	data, err := json.Marshal(changed)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("id: %s\nevent: changed\ndata: %s\n\n", m.GetResumeToken(), data), nil
}

// LostAt is where the script puts the time since which a page is not live.
func (p *page) LostAt() template.HTML { return "<time data-at></time>" }
