package staff

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// remark is a text with a time, next to a chip. Text is a message kind. The zero remark means that there is none.
type remark struct {
	Text  string
	At    *timestamppb.Timestamp
	Since bool // the text does not contain the time: the page adds "since" and the time
}

// offlineReasons are the API's reasons why a lock or bridge is offline that have a message staff.offline.REASON.
var offlineReasons = []string{
	"lockOffline", "brokerUnreachable", "gatewayOffline", "noBridge", "bridgeRevoked", "neverConnected", "disconnected", "noHeartbeat", "shuttingDown", "nodeLost", "enrolled",
}

// offlineRemark returns the remark why a lock or bridge is offline, and since when. A reason that is not in offlineReasons gets a general
// text.
func offlineRemark(reason string, since *timestamppb.Timestamp) remark {
	if !slices.Contains(offlineReasons, reason) {
		return remark{"staff.offline.other", since, true}
	}
	return remark{"staff.offline." + reason, since, true}
}

// boltMaxAge is how old the report about a bolt may be. The page shows an older report as the last known state, not as the current one.
const boltMaxAge = time.Hour

// boltChip returns the state of a lock's bolt, and a remark about when the lock reported it. The state is unknown if the lock is offline or
// the report is older than boltMaxAge.
func boltChip(s *propertyv1.LockStatus, now time.Time) (chip, remark) {
	bolt, at := s.GetBolt(), s.GetLastSeenAt()
	known := slices.Contains([]string{"locked", "unlocked", "notFullyLocked", "jammed"}, bolt)
	switch {
	case at == nil:
		return chip{"unknown", "?", "staff.bolt.unknown"}, remark{Text: "staff.bolt.never"}
	case !known:
		return chip{"unknown", "?", "staff.bolt.unknown"}, remark{Text: "staff.bolt.silent", At: at}
	case !s.GetOnline() || now.Sub(at.AsTime()) > boltMaxAge:
		return chip{"unknown", "?", "staff.bolt.unknown"}, remark{Text: "staff.bolt.was." + bolt, At: at}
	}
	tone, mark := "warn", "◐"
	switch bolt {
	case "locked":
		tone, mark = "ok", "●"
	case "jammed":
		tone, mark = "bad", "✕"
	}
	return chip{tone, mark, "staff.bolt." + bolt}, remark{Text: "staff.ago", At: at}
}

// batteryChip returns the state of a lock's battery.
func batteryChip(s *propertyv1.LockStatus) chip {
	switch {
	case s.BatteryPercent == nil && s.GetBatteryLow():
		return chip{"bad", "✕", "staff.battery.low"}
	case s.BatteryPercent == nil:
		return chip{"unknown", "?", "staff.battery.unknown"}
	case s.GetBatteryLow():
		return chip{"bad", "✕", "staff.battery.percent"}
	}
	return chip{"ok", "●", "staff.battery.percent"}
}

// weakSignal is the signal strength, in dBm, below which a radio link loses messages.
const weakSignal = -85

// linkChip returns the state of the connection to a lock: offline, unstable, weak or good. The remark is the reason if it is offline, since
// when if it is unstable, and otherwise zero.
func linkChip(s *propertyv1.LockStatus) (chip, remark) {
	switch {
	case !s.GetOnline():
		return chip{"bad", "✕", "staff.link.offline"}, offlineRemark(s.GetOfflineReason(), s.GetOfflineSince())
	case s.GetOfflineSince() != nil:
		return chip{"warn", "◐", "staff.link.unstable"}, remark{Text: "staff.since", At: s.GetOfflineSince()}
	case s.Rssi != nil && s.GetRssi() < weakSignal:
		return chip{"warn", "◐", "staff.link.weak"}, remark{}
	}
	return chip{"ok", "●", "staff.link.good"}, remark{}
}

// lockFindings returns the problems of a lock as the kinds of messages that advise what to do, the worst first.
func lockFindings(l *propertyv1.Lock) (kinds []string) {
	s := l.GetStatus()
	add := func(wrong bool, kind string) {
		if wrong {
			kinds = append(kinds, kind)
		}
	}
	if !s.GetOnline() {
		kind := "fix.bridgeOffline"
		if slices.Contains([]string{"lockOffline", "brokerUnreachable", "gatewayOffline", "noBridge", "bridgeRevoked"}, s.GetOfflineReason()) {
			kind = "fix." + s.GetOfflineReason()
		}
		add(true, kind)
	}
	add(s.GetBolt() == "jammed", "fix.lockJammed")
	add(s.GetBatteryLow(), "fix.batteryLow")
	add(s.GetClockUntrusted(), "fix.clockUntrusted")
	add(s.GetSlotsFree() == 0 && l.GetAbilities().GetSlotsTotal() > 0, "fix.slotsFull")
	add(l.GetAbilities().GetGuessable(), "fix.guessable")
	add(l.DoorId == nil, "staff.lock.noDoor.fix")
	return kinds
}

// lockRow is one lock with its state for a page. Low is about the battery. Placeless means that the lock is not on a door.
type lockRow struct {
	*propertyv1.Lock
	Bolt, Battery, Link     chip
	BoltRemark, LinkRemark  remark
	Findings                []string
	Offline, Low, Placeless bool
}

// newLockRow returns a lock with its chips and findings at the time now.
func newLockRow(l *propertyv1.Lock, now time.Time) lockRow {
	r := lockRow{Lock: l, Battery: batteryChip(l.GetStatus()), Findings: lockFindings(l)}
	r.Bolt, r.BoltRemark = boltChip(l.GetStatus(), now)
	r.Link, r.LinkRemark = linkChip(l.GetStatus())
	r.Offline, r.Low, r.Placeless = !l.GetStatus().GetOnline(), l.GetStatus().GetBatteryLow(), l.DoorId == nil
	return r
}

// lacksBattery reports whether nothing is known about the battery of a lock on a door. That is so after a restart of its bridge, until the
// lock reports its battery again.
func (r lockRow) lacksBattery() bool {
	return !r.Placeless && !r.Low && r.GetStatus().BatteryPercent == nil
}

// Faults returns the chip of a lock that is offline or jammed, or nil, for pages that show only what is wrong. The page itself adds the
// chip of a low battery, because that text has a percentage.
func (r lockRow) Faults() []chip {
	switch {
	case r.Offline:
		return []chip{r.Link}
	case r.GetStatus().GetBolt() == "jammed":
		return []chip{r.Bolt}
	}
	return nil
}

// badness returns the sort key of a lock, from 0 (offline or jammed) over 1 (low battery) and 2 (on no door) to 3 (none of these).
func (r lockRow) badness() int {
	switch {
	case r.Offline || r.GetStatus().GetBolt() == "jammed":
		return 0
	case r.Low:
		return 1
	case r.Placeless:
		return 2
	}
	return 3
}

// matches reports whether the lock passes a filter (offline, low or noDoor; any other word lets all pass) and its name or the name of its
// door contains text, in upper or lower case. Each name contains the text "".
func (r lockRow) matches(filter, text string) bool {
	switch filter {
	case "offline":
		if !r.Offline {
			return false
		}
	case "low":
		if !r.Low {
			return false
		}
	case "noDoor":
		if !r.Placeless {
			return false
		}
	}
	text = strings.ToLower(text)
	return strings.Contains(strings.ToLower(r.GetName()+"\n"+doorName(r.Lock)), text)
}

// tab is one of several lists of a page, with its number of entries (-1: not shown). Name is a message kind.
type tab struct {
	Name, URL string
	Count     int
	Here      bool
}

// finder is the search form above a list. Label is a message kind, and Filter the value of "show" that the search keeps, or "".
type finder struct{ URL, Label, Query, Filter string }

type locksView struct {
	Tabs   []tab
	Find   finder
	Rows   []lockRow
	All    int    // number of locks of the property
	Next   string // URL of the next page, or ""
	Access bool   // the person may manage bridges
	Bridge bool   // no bridge has reported a lock, although one is connected
}

// locks loads all locks that r selects, over all pages of the API's list. It changes the page size and token in r.
func (x *exchange) locks(r *propertyv1.ListLocksRequest) ([]*propertyv1.Lock, error) {
	return loadAllPages(func(token string) ([]*propertyv1.Lock, string, error) {
		r.PageSize, r.PageToken = wholePage, token
		found, err := x.site.api.Locks.ListLocks(x.call(), r)
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
}

// usualLocks is the number of rows of the list of locks until the person chooses another.
const usualLocks = 100

// showLocks handles the list of locks, those with the worst problems first.
func (s *site) showLocks(x *exchange) error {
	q := x.R.URL.Query()
	filter, text := q.Get("show"), q.Get("q")
	locks, err := x.locks(&propertyv1.ListLocksRequest{})
	if err != nil {
		return err
	}
	v := locksView{All: len(locks), Find: finder{"/app/locks", "staff.locks.search", text, filter}, Access: x.may("manageBridges")}
	if len(locks) == 0 {
		if v.Bridge, err = x.hasConnectedBridge(); err != nil {
			return err
		}
	}
	tabs := []tab{{Name: ""}, {Name: "offline"}, {Name: "low"}, {Name: "noDoor"}}
	for _, l := range locks {
		row := newLockRow(l, s.Now())
		for i := range tabs {
			if row.matches(tabs[i].Name, "") {
				tabs[i].Count++
			}
		}
		if row.matches(filter, text) {
			v.Rows = append(v.Rows, row)
		}
	}
	for _, t := range tabs {
		t.Here, t.URL = t.Name == filter, listURL("/app/locks", "show", t.Name)
		t.Name = "staff.locks.tab." + cmp.Or(t.Name, "all")
		v.Tabs = append(v.Tabs, t)
	}
	slices.SortStableFunc(v.Rows, func(a, b lockRow) int {
		return cmp.Or(cmp.Compare(a.badness(), b.badness()), compareNames(cmp.Or(doorName(a.Lock), a.GetName()), cmp.Or(doorName(b.Lock), b.GetName())))
	})
	size := x.pageSize(usualLocks, mostFullRows)
	at, _ := strconv.Atoi(q.Get("page"))
	at = min(max(at, 0), len(v.Rows))
	if v.Rows = v.Rows[at:]; len(v.Rows) > size {
		v.Rows, v.Next = v.Rows[:size], listURL("/app/locks", "show", filter, "q", text, "page", strconv.Itoa(at+size))
	}
	p := x.newPage("staff.locks.title")
	p.Here, p.Data = "locks", v
	x.resizable(p, size, mostFullRows, len(v.Rows), v.Next != "")
	return x.render(http.StatusOK, "locks", p)
}

// hasConnectedBridge reports whether a bridge of the property is connected.
func (x *exchange) hasConnectedBridge() (bool, error) {
	found, err := x.site.api.Bridges.ListBridges(x.call(), &propertyv1.ListBridgesRequest{})
	return slices.ContainsFunc(found.GetData().GetList(), func(b *propertyv1.Bridge) bool { return b.GetState() == "online" }), err
}

// listURL returns path with a query. kv are names and values in turn. Empty values are left out.
func listURL(path string, kv ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i+1] != "" {
			q.Set(kv[i], kv[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
