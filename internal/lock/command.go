package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entact "latchkey.dev/ent/act"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/text"
)

// Unlock is the operation of a command that staff send. SmartKeys have [SmartKeyUnlock].
const Unlock = "unlock"

// MaxDeadline bounds the time between the request for a command and its execution. A later deadline is shortened to it.
const MaxDeadline = 10 * time.Second

// States of a command. Done, failed and expired are final. A late report may replace unknown.
const (
	CommandStored  = "stored"  // the command is stored, and no session has claimed it
	CommandClaimed = "claimed" // one session has claimed the command and may have sent it; no other session sends it
	CommandDone    = "done"
	CommandFailed  = "failed"
	CommandExpired = "expired" // the command was not executed and never will be: too late, cancelled, or the bridge was busy
	CommandUnknown = "unknown" // the command may have been sent, and no clear result arrived
)

// ErrBridgeOffline is returned if the lock's bridge is offline. The command is not sent, also not later.
var ErrBridgeOffline = fault.New(fault.Unavailable, fault.BridgeOffline, "the lock's bridge is not connected; nothing was sent")

// ErrNodeUnreachable is returned if the lock's bridge is connected to another server node that cannot be reached. The
// command is not sent, also not later.
var ErrNodeUnreachable = fault.New(fault.Unavailable, fault.NodeUnreachable,
	"the lock's bridge is connected to another node of the service, which cannot be reached now; nothing was sent, try again shortly").Retry(5 * time.Second)

// ErrTooLate is returned if the deadline of a command passed before the command was sent.
var ErrTooLate = fault.New(fault.Deadline, fault.DeadlineExceeded, "the command could not be sent to the lock in time; nothing was sent and nothing will be")

// TooLateOnTimeout replaces a timeout error of the transaction that stores a command by ErrTooLate, because a command that was not stored
// is never sent. It returns any other error unchanged, also nil.
func TooLateOnTimeout(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrTooLate.With(err)
	}
	return err
}

// UnlockCommand is a stored command to a bridge: unlock a lock, or only check a SmartKey.
type UnlockCommand struct {
	PropertyID string
	CommandID  string
	BridgeID   string
	Node       string // Node is the server node with the bridge's session; empty if there is none yet, see [bridge.MoveTimeout]
	Address    string // Address is the lock's address on the bridge
	Operation  string // Operation is Unlock, SmartKeyUnlock or SmartKeyCheck
	Deadline   time.Time
	// Epoch is the session that claimed the command when the command was stored, or 0. Only the caller that stored a
	// claimed command may send it.
	Epoch int64
	// Presentation is the signed proof of a SmartKey. It is never stored.
	Presentation []byte `json:"-"`
}

// Outcome is a command's state and result.
type Outcome struct {
	CommandID string
	LockID    string
	State     string
	Result    string    // Result is a [slot.Result], or RefusedKeyPrefix and a reason; empty without a report
	At        time.Time // At is when the command ended; zero if it has not ended
}

// outcomeOf returns the state and the result of a command from its row.
func outcomeOf(a *ent.Act) Outcome {
	return Outcome{CommandID: a.ID, LockID: a.LockID, State: a.State, Result: a.Result, At: db.OrZero(a.FinishedAt)}
}

// StoreCommand stores a command of staff to unlock a lock. It sends nothing. here is the caller's node, actor the person. The command
// expires at until, or after MaxDeadline if that is earlier. If the bridge is connected to here, the command is claimed at once: Epoch of
// the result is set, and the caller sends it. It is refused after until (ErrTooLate), for an unknown lock or one without remote unlock, and
// if the bridge is offline (except for a move, see [bridge.MoveTimeout]) or its node cannot be reached.
func StoreCommand(tx *db.Tx, here Node, propertyID, lockID, actor string, until time.Time) (UnlockCommand, error) {
	return storeCommand(tx, here, propertyID, lockID, actor, "", Unlock, until)
}

// storeCommand is [StoreCommand] for any operation: it stores the command, claims it if the bridge is connected to here, and sends nothing.
// grantID is the grant of the guest who asks; it is empty for staff.
func storeCommand(tx *db.Tx, here Node, propertyID, lockID, actor, grantID, operation string, until time.Time) (UnlockCommand, error) {
	remaining := min(time.Until(until), MaxDeadline)
	if remaining <= 0 {
		return UnlockCommand{}, ErrTooLate
	}
	to, err := loadCommandTarget(tx, propertyID, lockID)
	if err != nil {
		return UnlockCommand{}, err
	}
	if !to.capabilities.RemoteUnlock {
		return UnlockCommand{}, fault.New(fault.Precondition, fault.RemoteUnlockUnsupported, "lock %s cannot be unlocked remotely", lockID)
	}
	online := to.link.IsOnline(tx.Now())
	if !online && !to.link.IsMoving(tx.Now()) {
		return UnlockCommand{}, ErrBridgeOffline
	}
	if online && !here.canReach(to.node) {
		return UnlockCommand{}, ErrNodeUnreachable
	}
	state := CommandStored
	if online && here.is(to.node) {
		state = CommandClaimed
	}
	c := command{
		id: id.New(id.Act), propertyID: propertyID, lockID: lockID, operation: operation,
		actor: actor, grantID: grantID, state: state, deadline: tx.Now().Add(remaining), createdAt: tx.Now(),
	}
	if err := insertCommand(tx, c); err != nil {
		return UnlockCommand{}, err
	}
	unlock := newUnlockCommand(c, to.address, to.bridgeID, to.node)
	if state == CommandClaimed {
		unlock.Epoch = to.epoch
	}
	if !online {
		unlock.Node = ""
	}
	return unlock, nil
}

// newUnlockCommand returns a stored command in the form that is sent to its bridge, with Epoch 0. node is the server node with the bridge's
// session.
func newUnlockCommand(c command, address, bridgeID, node string) UnlockCommand {
	return UnlockCommand{
		PropertyID: c.propertyID, CommandID: c.id, BridgeID: bridgeID, Node: node,
		Address: address, Operation: c.operation, Deadline: c.deadline,
	}
}

// GetCommand returns the state and the result of a command, or a not-found fault.
func GetCommand(tx *db.Tx, propertyID, commandID string) (Outcome, error) {
	a, err := tx.Act.Query().Where(entact.ID(commandID), entact.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return Outcome{}, fault.New(fault.NotFound, fault.LockNotFound, "no unlock command %s at this property", commandID)
	}
	if err != nil {
		return Outcome{}, err
	}
	return outcomeOf(a), nil
}

// ClaimCommand claims a command for the session, named by its epoch, that is about to send it. Only the first claim succeeds, only before
// the deadline and only in the bridge's current session; otherwise it returns errCommandTaken or bridge.ErrSuperseded, or errCommandUnknown
// if the bridge has no such command.
func ClaimCommand(tx *db.Tx, bridgeID string, epoch int64, commandID string) (UnlockCommand, error) {
	ctx := tx.Context()
	br, err := bridge.InSession(tx, bridgeID, epoch)
	if err != nil {
		return UnlockCommand{}, err
	}
	c, address, _, err := commandOnBridge(tx, br.ID, commandID)
	if err != nil {
		return UnlockCommand{}, err
	}
	n, err := tx.Act.Update().Where(entact.ID(commandID), entact.PropertyID(c.propertyID), entact.State(CommandStored), entact.DeadlineGT(tx.Now())).
		SetState(CommandClaimed).Save(ctx)
	if err != nil {
		return UnlockCommand{}, err
	}
	if n == 0 {
		return UnlockCommand{}, errCommandTaken
	}
	return newUnlockCommand(c, address, br.ID, br.Node), nil
}

var errCommandTaken = fault.New(fault.Aborted, fault.DeadlineExceeded, "the command was sent before, or its deadline has passed")

// FinishCommand stores the outcome of a claimed command: done, failed, expired, or else unknown. If an unlock is done, it records that the
// door was opened. A late report replaces unknown. For other states FinishCommand changes nothing and returns the stored outcome. It
// returns errCommandUnknown if the bridge has no such command or is revoked. at is the bridge's time; a zero or future time becomes now,
// and one before the command was stored becomes the time of that.
func FinishCommand(tx *db.Tx, bridgeID, commandID, outcome, result string, at time.Time) (Outcome, error) {
	c, _, door, err := commandOnBridge(tx, bridgeID, commandID)
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
	case at.Before(c.createdAt): // the bridge's clock is behind
		at = c.createdAt
	}
	result = text.Truncate(result, 32)
	ended, err := endCommand(tx, c, outcome, result, at)
	if err != nil {
		return Outcome{}, err
	}
	if !ended {
		return GetCommand(tx, c.propertyID, commandID)
	}
	if outcome == CommandDone && c.operation != SmartKeyCheck {
		err = appendOpened(tx, c, door, at)
	}
	return Outcome{CommandID: c.id, LockID: c.lockID, State: outcome, Result: result, At: at}, err
}

// CancelCommand sets a command that no session has claimed to expired, so that it is never sent. If unsent is true, it does so also with a
// claimed command: the caller claimed it and did not send it. It does nothing to other commands.
func CancelCommand(tx *db.Tx, propertyID, commandID string, unsent bool) error {
	from := []string{CommandStored}
	if unsent {
		from = append(from, CommandClaimed)
	}
	return tx.Act.Update().Where(entact.ID(commandID), entact.PropertyID(propertyID), entact.StateIn(from...)).
		SetState(CommandExpired).SetFinishedAt(tx.Now()).Exec(tx.Context())
}

// EndAbandonedCommands ends commands of all properties that a crashed node left open, MaxDeadline after their deadline: unclaimed commands
// become expired, claimed commands unknown.
func EndAbandonedCommands(tx *db.Tx) error {
	ctx := tx.Context()
	for state, end := range map[string]string{CommandStored: CommandExpired, CommandClaimed: CommandUnknown} {
		err := tx.Act.Update().Where(entact.State(state), entact.FinishedAtIsNil(), entact.DeadlineLT(tx.Now().Add(-MaxDeadline))).
			SetState(end).SetFinishedAt(tx.Now()).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteCommands deletes commands of staff of all properties from before a time, no more than most, and returns their number. Commands of
// guests are deleted with their stay.
func DeleteCommands(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := tx.Act.Query().Where(entact.CreatedAtLT(before), predicate.Act(ofStaff)).Limit(most).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("find commands to delete: %w", err)
	}
	n, err := tx.Act.Delete().Where(entact.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("delete commands: %w", err)
	}
	return n, nil
}

// ofStaff matches the commands of staff. It is the condition of a partial index, which neither database would use if
// the condition had a parameter.
func ofStaff(s *sql.Selector) { s.Where(sql.ExprP("grant_id = ''")) }

// ReleaseCommand removes the claim of a command, so that another session may claim it. Only the caller that claimed
// the command and has not sent it may call ReleaseCommand.
func ReleaseCommand(tx *db.Tx, propertyID, commandID string) error {
	return tx.Act.Update().Where(entact.ID(commandID), entact.PropertyID(propertyID), entact.State(CommandClaimed)).
		SetState(CommandStored).Exec(tx.Context())
}

// Node is a server process. The zero value has no bridge sessions and reaches every node.
type Node struct {
	Name    string
	Reaches func() bool // Reaches reports whether other nodes can be reached now; nil means that they can
}

// is reports whether this process is the named node. An empty name is none.
func (n Node) is(name string) bool { return n.Name == name && name != "" }

// canReach reports whether this process is the named node, or other nodes can be reached now. It does not check that a node of that name
// runs.
func (n Node) canReach(name string) bool { return n.Name == name || n.Reaches == nil || n.Reaches() }
