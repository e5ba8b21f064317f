package agent

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"latchkey.dev/internal/lock/slot"
)

const (
	maxDeadline        = 10 * time.Second // longest time from the arrival of a command to its execution; it shortens later deadlines
	maxRunningCommands = 16               // further commands are refused while so many run
	operationUnlock    = "unlock"
)

// Outcomes of an unlock command.
const (
	outcomeDone    = "done"
	outcomeFailed  = "failed"
	outcomeExpired = "expired" // the command was not executed and never will be
	outcomeUnknown = "unknown" // the command may have been executed
)

var errTooManyCommands = errors.New("too many unlock commands within ten minutes; this one was not executed")

// command is an unlock command from the server or from a phone at the door.
type command struct {
	id        string
	address   string    // address of the lock on this bridge
	operation string    // operationUnlock, operationSmartKeyUnlock or operationSmartKeyCheck
	deadline  time.Time // time on this machine's clock after which the lock is no longer asked
	// presentation is the SmartKey message of a phone; nil for other commands.
	presentation []byte
}

// commandRunner executes each unlock command at most once, and never after its deadline.
type commandRunner struct {
	bridge  *Bridge
	mu      sync.Mutex
	running map[string]bool // ids of running commands
	wait    sync.WaitGroup  // executions that run
}

// start executes a command in the background and puts its result into the outbox. It executes no id twice within commandMemory: it ignores
// a command that is already running, and for one that was started earlier it only reports the stored result again. If maxRunningCommands
// are running, it refuses the command (outcomeExpired, Busy) instead of queueing it, and stores nothing. The end of ctx stops the
// execution.
func (r *commandRunner) start(ctx context.Context, c command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[c.id] {
		return
	}
	if len(r.running) >= maxRunningCommands {
		r.bridge.outbox.addCommand(commandRecord{ID: c.id, Outcome: outcomeExpired, Result: string(slot.Busy), At: r.bridge.clock.Now()})
		return
	}
	r.running[c.id] = true
	r.wait.Go(func() {
		rec := r.runOnce(ctx, c)
		r.markEnded(c.id) // must precede the report of the result: a command that is repeated after the report then finds the stored result
		r.bridge.outbox.addCommand(rec)
	})
}

// markEnded removes a command from the running commands.
func (r *commandRunner) markEnded(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// ended returns the stored records of the commands that do not run, each with an outcome. It looks which commands run before it reads the
// store: one that ends meanwhile would otherwise be taken for one that an earlier run of the bridge left. It reports its result itself.
func (r *commandRunner) ended() ([]commandRecord, error) {
	r.mu.Lock()
	running := maps.Clone(r.running)
	r.mu.Unlock()
	stored, err := r.bridge.store.commands()
	if err != nil {
		return nil, err
	}
	out := make([]commandRecord, 0, len(stored))
	for _, rec := range stored {
		if !running[rec.ID] {
			out = append(out, withOutcome(rec))
		}
	}
	return out, nil
}

// runOnce executes a command, unless it was started before, and returns its record with the outcome. A command with a SmartKey is executed
// only if admit allows it. The store gets the record before the execution and again after it, so that a restarted bridge does not execute
// the command twice. If the first write fails, or the store has too many commands, it does not execute the command (outcomeExpired). A
// failure of the second write is only logged.
func (r *commandRunner) runOnce(ctx context.Context, c command) commandRecord {
	b := r.bridge
	rec, first, err := b.store.beginCommand(c.id, b.clock.Now())
	switch {
	case err != nil:
		b.log.Error("storing the start of a command failed", "act", c.id, "error", err)
		return commandRecord{ID: c.id, Outcome: outcomeExpired, Result: string(slot.Busy), At: b.clock.Now()}
	case !first:
		return withOutcome(rec)
	}
	if r.admit(&c, &rec) {
		rec.Outcome, rec.Result = r.unlock(ctx, c)
	}
	rec.At = b.clock.Now()
	if err := b.store.endCommand(rec); err != nil {
		b.log.Error("storing the end of a command failed", "act", c.id, "error", err)
	}
	b.log.Info("command executed", "act", c.id, "lock", c.address, "outcome", rec.Outcome, "result", rec.Result, "reason", rec.Reason)
	return rec
}

// withOutcome completes the stored record of an earlier command: without an outcome, the bridge stopped during the execution, so the
// outcome is unknown.
func withOutcome(rec commandRecord) commandRecord {
	if rec.Outcome == "" {
		rec.Outcome = outcomeUnknown
	}
	return rec
}

// unlock opens the command's lock, if that is possible before the deadline; it goes before all other calls that wait for the radio. outcome
// is one of the outcome constants. result is a [slot.Result]: the lock's answer, or why the lock was not asked. A lock that answers Jammed
// is marked as jammed. unlock stores and reports nothing.
func (r *commandRunner) unlock(ctx context.Context, c command) (outcome, result string) {
	w, ok := r.bridge.workers[c.address]
	if !ok || c.operation != operationUnlock || !w.lock.Capabilities().RemoteUnlock {
		return outcomeFailed, string(slot.Unsupported)
	}
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	if !w.radio.acquireFirst(ctx) {
		return outcomeExpired, string(slot.Busy)
	}
	defer w.radio.release()
	if !time.Now().Before(c.deadline) { // the deadline may have passed although ctx is not cancelled yet
		return outcomeExpired, string(slot.Timeout)
	}
	answer := w.lock.Unlock(ctx)
	if answer.Result == slot.Jammed {
		r.bridge.markJammed(c.address)
	}
	switch {
	case answer.Result == slot.OK:
		outcome = outcomeDone
	case answer.Result.MayTakeEffect() && !answer.Unsent:
		outcome = outcomeUnknown
	default:
		outcome = outcomeFailed
	}
	return outcome, string(answer.Result)
}
