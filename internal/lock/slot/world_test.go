package slot

import "time"

// The model checker's world surrounds the production step functions: a server, a link that is cut, a bridge
// that is killed, replaced or doubled, a radio that loses, delays and lies, a lock, and people who
// touch it. Time is relative: now is always epoch0, a tick moves every stored time one unit nearer.
// What no step function reads but a property needs is marked ghost.

const unit = time.Second

var epoch0 = time.Unix(1_000_000, 0).UTC()

// Codes that are not ours.
const (
	stranger PIN = "stranger" // a foreign code, set in a slot without a code
	intruder PIN = "intruder" // came into a slot that was a grant's
)

const (
	atLock = 0 // the bridge whose radio reaches the lock
	twin   = 1 // one with the same identity, started from its first image, out of reach
)

// cell is what a slot of the lock really holds.
type cell struct {
	pin         PIN       // "" is empty
	from, to    time.Time // kept by the lock itself
	gen         uint64    // ghost: 0 for a foreign code
	opens, ends time.Time // ghost: the window that was meant
}

func (in cell) ours() bool { return in.gen > 0 }

type flight struct {
	op        Op
	overtaken bool      // ghost: a later operation on the slot has taken effect
	landed    bool      // it has taken effect, and its answer is on the way
	fresh     bool      // ghost: no Latchkey code could be in the slot when it started
	opens     time.Time // ghost: the window that was meant
	ends      time.Time
}

type downward struct {
	slot int
	d    Desired
}

type upward struct {
	slot  int
	o     Observed
	stale bool // ghost: written before a change by hand at the lock
}

// peer is a bridge: what it has stored, whether it runs, and when it asked to be woken.
type peer struct {
	lock  Lock
	alive bool
	wake  time.Time
}

// budget bounds how often people and faults strike.
type budget struct {
	edits, cuts, kills, touches, swaps, twins, restores, lies uint8
	rollbacks, images                                         uint8 // of the server's database; of a bridge to an image that is not the first
}

type world struct {
	srv     [2]ServerSlot
	cell    [2]cell
	peers   [2]peer
	session uint8 // 0: none, else 1 + the peer's index
	zombie  bool  // the bridge at the lock believes in a session that was superseded
	skew    int8  // the clock of the bridge at the lock minus the true one, in units
	down    []downward
	late    []downward // of an earlier session
	reports []upward
	old     []upward // of earlier sessions
	air     []flight
	left    budget
	image   Lock // an older copy of what the bridge at the lock has stored
	imaged  bool
	backup  [2]ServerSlot // of the server's database
	backed  bool
	drawn   [2]uint64 // the latest generation that the server ever issued

	// Ghosts.
	who      [2][8]byte // the grant of each generation
	landed   [2]uint64  // the highest generation that ever took effect
	window   [2]Desired // the latest window
	touched  [2]bool    // the slot was changed by hand, which is not reported to the server yet
	blind    [2]bool    // the slot was changed by hand, which the bridge has not read yet
	news     [2]bool    // the lock reported a change by hand, and the bridge has not taken it
	used     [2]string  // the one-time code that was used, as the lock reported to the bridge
	refused  [2]uint64  // the generation that the lock refused last
	passed   [2]uint8   // operations that went before a ready one
	lost     [2]uint64  // the server may have forgotten generations up to this one
	unaware  [2]bool    // the server has forgotten something, and no bridge could show it yet
	calm     bool       // the link is back and nothing went wrong since
	changed  [2]bool
	writes   [2]uint8 // since it is calm
	drifts   uint8    // changes by hand that were noticed
	stored   uint8    // of them on the bridge's disk with the state, not yet in its journal
	noted    uint8    // in the bridge's journal
	acked    uint8    // the bridge knows that they arrived
	batch    uint8    // on the way, up to this one; 0: none is
	batchOf  uint8    // the first of them minus one
	sequence uint8    // the server's count
	written  uint8    // entries in the server's audit trail

	broken int // the property that the last transition broke
	how    string
}

func (w *world) fail(property int, how string) {
	if w.broken == 0 {
		w.broken, w.how = property, how
	}
}

// now is the clock of a peer.
func (w *world) now(p int) time.Time {
	if p == atLock {
		return epoch0.Add(time.Duration(w.skew) * unit)
	}
	return epoch0
}

// scenario is what may happen in a world.
type scenario struct {
	name  string
	slots int
	caps  Capabilities
	rules rules
	most  budget

	grants  string // who asks for slots; "" is "a"
	pins    bool   // a grant may ask for another PIN
	windows int    // 0: codes without end; else how many units a window lasts
	weekly  int    // more windows follow, each a unit after the one before
	once    bool   // codes are one-time codes, and guests use them
	beside  bool   // a's one-time code is also on another lock of the bridge, and a guest uses it there
	held    int    // so many slots start with a's code, known to all
	foreign bool   // slot 1 starts with a stranger's code
	hands   string // what people do at the lock: e empties, p programs a code, r resets to factory
	tells   bool   // the lock answers Occupied
	reports bool   // the lock reports what people do at it
	lossy   bool   // the lock refuses now and then
	direct  bool   // the link takes no time
	sweep   bool   // wake-ups get lost, the sweep makes them good
	delayed bool   // answers and desired states of earlier times arrive
	margin  int8   // bound of the bridge's clock error in units; every error within it is tried
	audit   bool   // the bridge's journal travels
	outage  bool   // minds change while the link is down, and operations after it are counted

	off    loose // what surrounds the step functions and is switched off
	ignore []int // properties not to check
}

// loose names what the step functions require of the code around them.
type loose uint8

const (
	storeFirst      loose = 1 << iota // an operation is stored before it is sent to the lock
	markFirst                         // that a slot was sent is stored before it is sent
	journalFirst                      // a change by hand is journaled with the state that saw it
	sequenceOnce                      // the server counts the sequence of what it stored
	usedWithDesired                   // the use of a code is known in the step that applies its desired state
	usedLoaded                        // used codes are known before a bridge starts an operation
	drawnByTime                       // a database that was restored issues no generation twice
	unnamedReported                   // a bridge reports the slots that a snapshot does not name
)

// modelRules are production's with the waits taken out, so that time costs few states.
func modelRules() rules {
	r := production
	r.preload, r.readEvery, r.readRetry = unit, 0, 0
	r.retryFirst, r.maxRetrySet, r.maxRetryClear = 0, 0, 0
	r.maxAttempts, r.maxOvertaken = 0, 1
	return r
}

// first lists the worlds that everything starts from: one for each error of the clocks.
func (c *scenario) first() []world {
	var out []world
	for skew := -c.margin; skew <= c.margin; skew++ {
		w := world{left: c.most, skew: skew}
		w.peers[atLock] = peer{alive: true, lock: Lock{Caps: c.caps}}
		for i := range c.slots {
			w.srv[i].ReadBack = c.caps.ReadBack
		}
		if c.foreign {
			w.cell[0].pin = stranger
		}
		for i := range c.held {
			c.hold(&w, i)
		}
		out = append(out, w)
	}
	return out
}

// hold lets a world start with a's code in a slot.
func (c *scenario) hold(w *world, i int) {
	d := Desired{Generation: 1, Intent: Present, PIN: "1"}
	evidence := Accepted
	if c.caps.ReadBack {
		evidence = Verified
	}
	o := Observed{Generation: 1, Present: true, Evidence: evidence}
	w.who[i][1], w.landed[i], w.window[i], w.drawn[i] = 'a', 1, Desired{Generation: 1}, 1
	w.cell[i] = cell{pin: d.PIN, gen: 1}
	w.srv[i] = ServerSlot{Desired: d, Observed: o, Grant: "a", SentTo: "c", ReadBack: c.caps.ReadBack}
	w.session = 1 + atLock
	w.peers[atLock].lock.Slots = append(w.peers[atLock].lock.Slots,
		Slot{Number: uint32(i + 1), Desired: d, Content: Content{Kind: Own, PIN: d.PIN, Evidence: evidence}, Observed: o})
}

// adder takes one transition; a fault may happen but liveness must not need it.
type adder func(to world, label string, fault bool)

// edges calls add for every transition out of a world.
func (c *scenario) edges(w world, add adder) {
	c.people(w, add)
	c.link(w, add)
	c.power(w, add)
	c.rollback(w, add)
	c.radio(w, add)
	if c.ticks(w) {
		add(c.tick(w), "tick", false)
	}
}
