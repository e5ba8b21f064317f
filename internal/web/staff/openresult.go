package staff

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// openedCookie is the name of the cookie with the result of opening a door. The page after the redirect shows the result once. In a query,
// the result would be shown to everyone who follows the link.
const openedCookie = "lk-opened"

// openedAge is how long browsers store the cookie with the result of opening a door.
const openedAge = time.Minute

// openResults are the results of opening a lock remotely: those of the API, and offline if nothing was sent.
var openResults = []string{"opened", "refused", "expired", "unknown", "offline"}

// openResult is the result when a person tried to open a door.
type openResult struct {
	Path   string    `json:"path"`   // URL path of the page that shows the result
	Person string    `json:"person"` // id of the person who tried; the page shows the result to no other person
	Door   string    `json:"door"`   // name of the door, or "" if the page has it
	Result string    `json:"result"` // one of openResults
	Time   time.Time `json:"at"`
}

// Text returns the kind of the message about the result.
func (r openResult) Text() string { return "staff.open." + r.Result }

// OK reports whether the lock opened.
func (r openResult) OK() bool { return r.Result == "opened" }

// At returns the time of the attempt.
func (r openResult) At() *timestamppb.Timestamp { return timestamppb.New(r.Time) }

// redirectOpened redirects to the page at this path, which shows the result of opening a door. result is one of openResults, and is in a
// cookie for openedAge. So a reload of that page does not open the door again. door is the name of the door, or "" if the page has it.
func (x *exchange) redirectOpened(path, door, result string) error {
	raw, err := json.Marshal(openResult{path, x.session.GetPerson().GetId(), door, result, x.site.Now()})
	if err != nil {
		return err
	}
	x.SetCookie(openedCookie, base64.RawURLEncoding.EncodeToString(raw), x.site.Now().Add(openedAge))
	return x.Redirect(path)
}

// takeOpened returns the result of opening a door for this page and person, and deletes its cookie. If there is none, or if the page's
// script sent the request, it returns nil and keeps the cookie.
func (x *exchange) takeOpened() *openResult {
	raw, err := base64.RawURLEncoding.DecodeString(x.Cookie(openedCookie))
	if err != nil || len(raw) == 0 || x.automatic() {
		return nil
	}
	var r openResult
	if json.Unmarshal(raw, &r) != nil || r.Path != x.R.URL.Path || r.Person != x.session.GetPerson().GetId() || !slices.Contains(openResults, r.Result) {
		return nil
	}
	x.DropCookie(openedCookie)
	return &r
}
