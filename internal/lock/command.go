package lock

import (
	"context"
	"errors"
	"time"

	"latchkey.dev/ent"
	entact "latchkey.dev/ent/act"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/text"
)

// Unlock is the operation of a command by staff. For those of SmartKeys see [SmartKeyUnlock].
const Unlock = "unlock"

// MaxDeadline is how long after the call that asked for it a command may be carried out.
const MaxDeadline = 10 * time.Second

// The states of a command. Done, failed, expired and unknown are final, except that a later report may replace unknown.
const (
	CommandStored  = "stored"  // no session has claimed it
	CommandClaimed = "claimed" // a session is about to send it or has sent it; no other session sends it
	CommandDone    = "done"
	CommandFailed  = "failed"
	CommandExpired = "expired" // it was not carried out and never will be
	CommandUnknown = "unknown" // it was sent and no result arrived
)

// ErrBridgeOffline is the error of a command whose lock cannot be reached now: nothing was sent and nothing will be.
var ErrBridgeOffline = fault.New(fault.Unavailable, fault.BridgeOffline, "the lock's bridge is not connected; nothing was sent")

// ErrNodeUnreachable is the error of a command whose bridge is connected to a node that cannot be reached now: nothing was sent and
// nothing will be.
var ErrNodeUnreachable = fault.New(fault.Unavailable, fault.NodeUnreachable,
	"the lock's bridge is connected to another node of the service, which cannot be reached now; nothing was sent, try again shortly").Retry(5 * time.Second)

// ErrTooLate is the error of a command whose deadline passed before anything was sent.
var ErrTooLate = fault.New(fault.Deadline, fault.DeadlineExceeded, "the command could not be sent to the lock in time; nothing was sent and nothing will be")

// TooLateOnTimeout replaces a timeout while a command was stored with ErrTooLate: a command that was not stored is not sent.
func TooLateOnTimeout(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrTooLate.With(err)
	}
	return err
}

// UnlockCommand is a stored command on its way to a bridge. It opens a lock, or checks a SmartKey.
type UnlockCommand struct {
	PropertyID string
	ActID      string
	BridgeID   string
	Node       string // the node that has the bridge's session, by the bridge's row; empty: none yet, see [bridge.MoveTimeout]
	Address    string // of the lock, on the bridge
	Operation  string
	Deadline   time.Time
	// Epoch is the session that the command was claimed for when it was stored; 0: it was not claimed. A claimed command may only be sent
	// by the caller that stored it.
	Epoch int64
	// Presentation is the proof of a SmartKey. It is never stored.
	Presentation []byte `json:"-"`
}

// Outcome is the state of a command and its result.
type Outcome struct {
	ActID  string
	LockID string
	State  string
	Result string    // the answer of the lock or its driver, as of slots
	At     time.Time // when it ended; zero: it has not ended
}

func outcomeOf(a *ent.Act) Outcome {
	return Outcome{ActID: a.ID, LockID: a.LockID, State: a.State, Result: a.Result, At: valueOrZero(a.FinishedAt)}
}

// StoreCommand stores a command to unlock a lock before anything is sent. It may be carried out until a time of this machine's clock,
// and at most until MaxDeadline from now. If that time has passed, it returns ErrTooLate. A command for a bridge with its session on here,
// the node of the caller, is claimed at once. A command for another node is refused while that node cannot be reached.
func StoreCommand(tx *db.Tx, here Node, propertyID, lockID, actor string, until time.Time) (UnlockCommand, error) {
	return storeCommand(tx, here, propertyID, lockID, actor, "", Unlock, until)
}

// storeCommand is StoreCommand for any operation. grantID is the grant of the guest who asks, or empty.
func storeCommand(tx *db.Tx, here Node, propertyID, lockID, actor, grantID, operation string, until time.Time) (UnlockCommand, error) {
	remaining := min(time.Until(until), MaxDeadline)
	if remaining <= 0 {
		return UnlockCommand{}, ErrTooLate
	}
	lk, br, err := commandTarget(tx, propertyID, lockID)
	if err != nil {
		return UnlockCommand{}, err
	}
	if !lk.Capabilities.RemoteUnlock {
		return UnlockCommand{}, fault.New(fault.Precondition, fault.RemoteUnlockUnsupported, "lock %s cannot be unlocked remotely", lockID)
	}
	online := bridge.IsOnline(br, tx.Now())
	if !online && !bridge.IsMoving(br, tx.Now()) {
		return UnlockCommand{}, ErrBridgeOffline
	}
	if online && !here.canReach(br.Node) {
		return UnlockCommand{}, ErrNodeUnreachable
	}
	state := CommandStored
	if online && here.is(br.Node) {
		state = CommandClaimed
	}
	a := &ent.Act{
		ID: id.New(id.Act), PropertyID: propertyID, LockID: lockID, Operation: operation,
		Actor: actor, GrantID: grantID, State: state, Deadline: tx.Now().Add(remaining), CreatedAt: tx.Now(),
	}
	if err := insertCommand(tx, a); err != nil {
		return UnlockCommand{}, err
	}
	command := newUnlockCommand(a, lk, br)
	if state == CommandClaimed {
		command.Epoch = br.Epoch
	}
	if !online {
		command.Node = ""
	}
	return command, nil
}

func newUnlockCommand(a *ent.Act, lk *ent.Lock, br *ent.Bridge) UnlockCommand {
	return UnlockCommand{
		PropertyID: a.PropertyID, ActID: a.ID, BridgeID: br.ID, Node: br.Node,
		Address: lk.Address, Operation: a.Operation, Deadline: a.Deadline,
	}
}

// GetCommand loads the outcome of a command of the property.
func GetCommand(ctx context.Context, c *ent.Client, propertyID, actID string) (Outcome, error) {
	a, err := c.Act.Query().Where(entact.ID(actID), entact.PropertyID(propertyID)).Only(ctx)
	if ent.IsNotFound(err) {
		return Outcome{}, fault.New(fault.NotFound, fault.LockNotFound, "no unlock command %s at this property", actID)
	}
	if err != nil {
		return Outcome{}, err
	}
	return outcomeOf(a), nil
}

// ClaimCommand claims a command for the session that is about to send it. It succeeds once, before the deadline, for the bridge's
// current session.
func ClaimCommand(tx *db.Tx, bridgeID string, epoch int64, actID string) (UnlockCommand, error) {
	ctx := tx.Context()
	br, err := bridge.InSession(tx, bridgeID, epoch)
	if err != nil {
		return UnlockCommand{}, err
	}
	a, lk, err := commandOnBridge(tx, br.ID, actID)
	if err != nil {
		return UnlockCommand{}, err
	}
	n, err := tx.Act.Update().Where(entact.ID(actID), entact.PropertyID(a.PropertyID), entact.State(CommandStored), entact.DeadlineGT(tx.Now())).
		SetState(CommandClaimed).Save(ctx)
	if err != nil {
		return UnlockCommand{}, err
	}
	if n == 0 {
		return UnlockCommand{}, errCommandTaken
	}
	return newUnlockCommand(a, lk, br), nil
}

var errCommandTaken = fault.New(fault.Aborted, fault.DeadlineExceeded, "the command was sent before, or its deadline has passed")

// FinishCommand stores the outcome of a claimed command: done, failed, expired or unknown. A later report replaces unknown. The other
// outcomes are final.
func FinishCommand(tx *db.Tx, bridgeID, actID, outcome, result string, at time.Time) (Outcome, error) {
	a, lk, err := commandOnBridge(tx, bridgeID, actID)
	if err != nil {
		return Outcome{}, err
	}
	switch outcome {
	case CommandDone, CommandFailed, CommandExpired:
	default:
		outcome = CommandUnknown
	}
	switch {
	case at.IsZero() || at.After(tx.Now()):
		at = tx.Now()
	case at.Before(a.CreatedAt): // the bridge's clock is behind
		at = a.CreatedAt
	}
	result = text.Truncate(result, 32)
	ended, err := endCommand(tx, a, outcome, result, at)
	if err != nil {
		return Outcome{}, err
	}
	if !ended {
		return GetCommand(tx.Context(), tx.Client, a.PropertyID, actID)
	}
	if outcome == CommandDone && a.Operation != SmartKeyCheck {
		err = appendOpened(tx, a, lk, at)
	}
	return Outcome{ActID: a.ID, LockID: a.LockID, State: outcome, Result: result, At: at}, err
}

// CancelCommand ends a command that no session has claimed: it will not be sent. With unsent it also ends a claimed one: the caller has
// the command and knows that nothing was sent.
func CancelCommand(tx *db.Tx, propertyID, actID string, unsent bool) error {
	from := []string{CommandStored}
	if unsent {
		from = append(from, CommandClaimed)
	}
	return tx.Act.Update().Where(entact.ID(actID), entact.PropertyID(propertyID), entact.StateIn(from...)).
		SetState(CommandExpired).SetFinishedAt(tx.Now()).Exec(tx.Context())
}

// EndAbandonedCommands ends commands that a node left behind when it died: those that no session claimed expired, the outcome of
// claimed ones is unknown.
func EndAbandonedCommands(tx *db.Tx) error {
	ctx := tx.Context()
	for state, end := range map[string]string{CommandStored: CommandExpired, CommandClaimed: CommandUnknown} {
		err := tx.Act.Update().Where(entact.State(state), entact.DeadlineLT(tx.Now().Add(-MaxDeadline))).
			SetState(end).SetFinishedAt(tx.Now()).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// ReleaseCommand takes back the claim that was stored with a command, so that another session may claim it. Only the caller that stored
// the command, and knows that nothing was sent, may call it.
func ReleaseCommand(tx *db.Tx, propertyID, actID string) error {
	return tx.Act.Update().Where(entact.ID(actID), entact.PropertyID(propertyID), entact.State(CommandClaimed)).
		SetState(CommandStored).Exec(tx.Context())
}

// Node is a server process. The zero value has no session and reaches every node.
type Node struct {
	Name    string
	Reaches func() bool // reports whether other nodes can be reached now; nil: they can
}

func (n Node) is(name string) bool { return n.Name == name && name != "" }

func (n Node) canReach(name string) bool { return n.Name == name || n.Reaches == nil || n.Reaches() }
