package torture

import (
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// said is a statement about door D with these words.
func said(status, evidence, reason string, reasons ...string) statement {
	return statement{Status: status, Reasons: reasons, Claims: []claim{{Door: "D", Name: "D", Evidence: evidence, Reason: reason}},
		From: noon.Add(-time.Hour), To: noon.Add(time.Hour), PINs: map[string]string{"": "345678"}}
}

func TestJudge(t *testing.T) {
	opened, wrong := sim.Press{Opened: true}, sim.Press{Reason: "wrongPin"}
	at := func(s statement, a sim.Press, change ...func(*press)) press {
		p := press{At: noon, Lock: "L", Doors: []string{"D"}, PIN: "345678", Statement: s, Answer: a}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	former := func(p *press) { p.Former = true }
	elsewhere := func(p *press) { p.Doors = []string{"E"} }
	movedLock := func(p *press) { p.Doors = []string{"E", "D"} }
	for name, tt := range map[string]struct {
		p    press
		want string
	}{
		"verified opens":                        {at(said("issued", "verified", ""), opened), ""},
		"accepted must open":                    {at(said("issued", "accepted", ""), wrong), ruleRefused},
		"verified must open":                    {at(said("issued", "verified", ""), wrong), ruleRefused},
		"used must open":                        {at(said("issued", "used", ""), wrong), ruleRefused},
		"a PIN of its own must open":            {at(said("issued", "verified", "ownPin"), wrong), ruleRefused},
		"updating: the door that is done opens": {at(said("updating", "verified", ""), wrong), ruleRefused},
		"queued need not open":                  {at(said("issued", "queued", ""), wrong), ""},
		"queued may open":                       {at(said("issued", "queued", ""), opened), ""},
		"unconfirmed need not open":             {at(said("issued", "unconfirmed", ""), wrong), ""},
		"a reason explains a refusal":           {at(said("issued", "verified", "jammed"), wrong), ""},
		"a jammed bolt need not open":           {at(said("issued", "verified", ""), sim.Press{Reason: "jammed"}), ""},
		"an empty battery need not open":        {at(said("issued", "verified", ""), sim.Press{Reason: "noPower"}), ""},
		"outside its window a lock must not":    {at(said("issued", "verified", ""), sim.Press{Reason: "outsideWindow"}), ruleRefused},
		"a slot changed by hand need not open":  {at(said("issued", "verified", ""), wrong, func(p *press) { p.NeedNotOpen = true }), ""},
		"near the end a lock may have closed": {at(said("issued", "verified", ""), wrong,
			func(p *press) { p.At, p.OwnSchedule = noon.Add(59*time.Minute), true }), ""},
		"near the end a bridge has not":                          {at(said("issued", "verified", ""), wrong, func(p *press) { p.At = noon.Add(59 * time.Minute) }), ruleRefused},
		"at the beginning a lock may be late":                    {at(said("issued", "verified", ""), wrong, func(p *press) { p.At, p.OwnSchedule = noon.Add(-time.Hour), true }), ""},
		"before the window it need not open":                     {at(said("issued", "verified", ""), wrong, func(p *press) { p.At = noon.Add(-2 * time.Hour) }), ""},
		"the PIN of another door, from which the lock was taken": {at(said("issued", "used", ""), wrong, func(p *press) { p.PIN = "222222" }), ""},
		"removed must not open":                                  {at(said("removed", "removed", "checkedOut"), opened), ruleOpened},
		"none must not open":                                     {at(said("issued", "none", "noLock"), opened), ruleOpened},
		"planned must not open":                                  {at(said("none", "planned", "notCheckedIn"), opened), ruleOpened},
		"failed must not open":                                   {at(said("failed", "failed", "slotsFull"), opened), ruleOpened},
		"failed with a warning may":                              {at(said("updating", "failed", "slotsFull", "formerCode"), opened), ""},
		"removing may open":                                      {at(said("removing", "removing", "checkedOut"), opened), ""},
		"a door that is not mentioned":                           {at(said("issued", "verified", ""), opened, elsewhere), ruleForeign},
		"not mentioned, although updating":                       {at(said("updating", "verified", ""), opened, elsewhere), ruleForeign},
		"a lock that hung on a door of the stay":                 {at(said("issued", "removing", ""), opened, movedLock), ""},
		"such a lock once the code is gone":                      {at(said("issued", "none", "noLock"), opened, movedLock), ruleOpened},
		"a former PIN at a door that is verified":                {at(said("issued", "verified", ""), opened, former), ruleFormer},
		"a former PIN at a door that is sent":                    {at(said("issued", "sent", "lockOffline", "lockOffline"), opened, former), ruleFormer},
		"a former PIN that is warned of":                         {at(said("updating", "sent", "lockOffline", "lockOffline", "formerCode"), opened, former), ""},
		"a former PIN while updating":                            {at(said("updating", "sent", ""), opened, former), ""},
		"a former PIN while moving out":                          {at(said("issued", "verified", "movingOut"), opened, former), ""},
		"a former PIN at another guest's door":                   {at(said("updating", "verified", "", "formerCode"), opened, former, elsewhere), ruleForeign},
		"a former PIN that is gone":                              {at(said("issued", "verified", ""), wrong, former), ""},
		"a native window that is over": {at(said("removing", "removing", ""), opened,
			func(p *press) { p.OwnSchedule, p.LatestEnd = true, noon.Add(-slackAfterWindow-time.Second) }), ruleAfterWindow},
		"a native window just over": {at(said("removing", "removing", ""), opened,
			func(p *press) { p.OwnSchedule, p.LatestEnd = true, noon.Add(-time.Second) }), ""},
		"a lock without windows after the end": {at(said("removing", "removing", ""), opened,
			func(p *press) { p.LatestEnd = noon.Add(-time.Hour) }), ""},
	} {
		if got := brokenRule(tt.p); got != tt.want {
			t.Errorf("%s: %q; want %q", name, got, tt.want)
		}
	}
}

func TestJudgeStatement(t *testing.T) {
	for name, tt := range map[string]struct {
		s    statement
		want string
	}{
		"a door that opens":       {said("issued", "verified", ""), ""},
		"a door that will":        {said("issued", "queued", "lockOffline"), ""},
		"nothing and not issued":  {said("none", "none", "noLock"), ""},
		"without a lock":          {said("issued", "none", "noLock"), ruleIssued},
		"failed":                  {said("issued", "failed", "slotsFull"), ruleIssued},
		"on its way out":          {said("issued", "removing", "movingOut"), ruleIssued},
		"without a door":          {statement{Status: "issued"}, ruleIssued},
		"partly":                  {said("partial", "none", "noLock"), ""},
		"a code that was removed": {said("issued", "removed", ""), ruleIssued},
	} {
		if got := brokenStatementRule(tt.s); got != tt.want {
			t.Errorf("%s: %q; want %q", name, got, tt.want)
		}
	}
}

// What is said of a code names its lock: another lock of the same door is not meant.
func TestJudgeByLock(t *testing.T) {
	s := said("issued", "verified", "")
	s.Claims[0].Lock = "L"
	p := press{At: noon, Lock: "L", Doors: []string{"D"}, PIN: "345678", Statement: s, Answer: sim.Press{Reason: "wrongPin"}}
	if got := brokenRule(p); got != ruleRefused {
		t.Errorf("at its lock: %q", got)
	}
	p.Lock = "other"
	if got := brokenRule(p); got != "" {
		t.Errorf("refused at another lock: %q", got)
	}
	p.Answer = sim.Press{Opened: true}
	if got := brokenRule(p); got != ruleForeign {
		t.Errorf("opened at another lock: %q", got)
	}
}

func TestSettled(t *testing.T) {
	for name, tt := range map[string]struct {
		s      statement
		access bool
		rests  bool
	}{
		"verified":                 {said("issued", "verified", ""), true, true},
		"failed is an end":         {said("failed", "failed", "slotsFull"), true, true},
		"no lock":                  {said("none", "none", "noLock"), true, true},
		"queued":                   {said("issued", "queued", ""), true, false},
		"unconfirmed":              {said("issued", "unconfirmed", ""), true, false},
		"removing at another door": {said("issued", "removing", ""), true, false},
		"still updating":           {said("updating", "verified", ""), true, false},
		"removed":                  {said("removed", "removed", ""), false, true},
		"never had any":            {said("none", "none", ""), false, true},
		"not checked in":           {said("none", "planned", "notCheckedIn"), false, true},
		"planned for ever":         {said("issued", "planned", ""), true, false},
		"still removing":           {said("removing", "removing", ""), false, false},
		"verified though over":     {said("removed", "verified", ""), false, false},
	} {
		if got := firstPendingChange(tt.s, tt.access); (got == "") != tt.rests {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestShownPINs(t *testing.T) {
	s := statement{PINs: map[string]string{"": "1111", "D": "2222"}, Claims: []claim{{Door: "D", Lock: "L", Evidence: "used"}}}
	for _, tt := range []struct {
		pin, lock, door string
		want            bool
	}{
		{"2222", "L", "D", true},
		{"2222", "L", "", true}, // taken off door D, where the service still names it
		{"1111", "L", "", true},
		{"2222", "K", "", false},
		{"2222", "K", "E", false},
		{"1111", "L", "D", false},
		{"3333", "L", "D", false},
	} {
		if got := s.showsPIN(tt.pin, tt.lock, tt.door); got != tt.want {
			t.Errorf("%v: %v", tt, got)
		}
	}
}
