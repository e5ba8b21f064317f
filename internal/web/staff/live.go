package staff

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// feed describes the event stream that an open page follows to update itself.
type feed struct {
	URL string
	Of  string // the page updates only on changes of the objects with these ids (separated by space characters); "" for any
	At  string // URL from which the script loads the updated parts; "" for the page itself
}

// newFeed returns the feed of these topics, separated by commas. of are the ids of the objects that the page shows, separated by space
// characters, or "".
func newFeed(topics, of string) feed { return feed{URL: "/app/live?topics=" + topics, Of: of} }

// newFeedAt is newFeed for the response to a form, which a script cannot load again. The script loads the updated parts from the page at
// the URL at.
func newFeedAt(at, topics, of string) feed {
	f := newFeed(topics, of)
	f.At = at
	return f
}

// follow handles the event stream of an open page. Each event has the ids of changed objects, and the page then reloads its parts. Missed
// events do no harm, because a reload shows the current state.
func (s *site) follow(x *exchange) error {
	topics := strings.Split(x.R.URL.Query().Get("topics"), ",") // not checked here: the API refuses topics that the person may not read
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

// changedEvent returns the server-sent event for a message of the API. Without changes it is a comment, which keeps the connection open.
func changedEvent(m *propertyv1.WatchResponse) (string, error) {
	if len(m.GetChanges()) == 0 {
		return ": \n\n", nil
	}
	changed := struct {
		IDs []string `json:"ids"`
		All bool     `json:"all"` // the changed objects are unknown, so every page reloads
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

// LostAt returns an empty HTML element. The script fills in since when the page is no longer updated.
func (p *page) LostAt() template.HTML { return "<time data-at></time>" }
