package main

import (
	"context"
	"fmt"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// lockSheet is the format of the file of lock assign --file.
var lockSheet = sheet{columns: []string{"lock", "door"}, needed: []string{"lock", "door"}, row: "lock", nothing: "nothing was assigned"}

type assignment struct {
	line       int
	lock, door string
}

// assignFile carries out lock assign --file: it assigns the locks in a CSV file to doors. If a line is wrong, it assigns nothing. If a call
// fails, the locks before it stay assigned.
func assignFile(ctx context.Context, r *remote, io *streams, file string) error {
	records, wrong, err := lockSheet.readFile(file, io)
	if err != nil {
		return err
	}
	return r.asStaff(ctx, io, func(s *session) error {
		known, err := s.allLocks(&propertyv1.ListLocksRequest{})
		if err != nil {
			return err
		}
		doors, err := aDoor.list(s)
		if err != nil {
			return err
		}
		plan := planAssignments(records, known, doors, wrong)
		if err := wrong.err(lockSheet.nothing); err != nil {
			return fmt.Errorf("%s: %w", fileName(file), err)
		}
		return s.assignAll(plan)
	})
}

// planAssignments returns the assignments to make for the records of a file, with the ids of locks and doors. known are all locks of the
// property. It adds wrong lines to wrong, also a second line for a lock or door, and a door that has another lock, even if the file moves
// that lock away. It omits locks that already have their door. A lock may move from another door.
func planAssignments(records []record, known []*propertyv1.Lock, doors []candidate, wrong *faults) (plan []assignment) {
	locks := lockCandidates(known)
	lineOf := map[string]int{} // line that names each lock and door, by its id, to find repeated ones
	for _, r := range records {
		a := assignment{line: r.line}
		for _, cell := range []struct {
			k    kind
			word string
			list []candidate
			to   *string
		}{{aLock, r.cells["lock"], locks, &a.lock}, {aDoor, r.cells["door"], doors, &a.door}} {
			id, err := cell.k.choose(cell.word, cell.list)
			switch {
			case cell.word == "":
				wrong.add(r.line, "%s is missing", cell.k.noun)
			case err != nil:
				wrong.add(r.line, "%s", explain(err, naming{}))
			case lineOf[id] > 0:
				wrong.add(r.line, "%s %s is in line %d, too", cell.k.noun, cell.word, lineOf[id])
			default:
				*cell.to, lineOf[id] = id, r.line
			}
		}
		if a.lock == "" || a.door == "" {
			continue
		}
		holder := slices.IndexFunc(known, func(l *propertyv1.Lock) bool { return l.GetDoorId() == a.door })
		switch {
		case holder < 0:
			plan = append(plan, a)
		case known[holder].GetId() != a.lock:
			wrong.add(r.line, "%s already has lock %s (%s); unassign that first: latchkey lock unassign %s",
				r.cells["door"], known[holder].GetName(), known[holder].GetId(), known[holder].GetId())
		}
	}
	return plan
}

// partialError is the error of a command that may have made some of its changes before it failed. done is a sentence about them for the
// user.
type partialError struct {
	error
	done string
}

func (e *partialError) Unwrap() error { return e.error }

// failedAt returns the sentence of a partialError. line is the line of the file whose assignment failed, and which the server may have made
// anyway. before is how many assignments had succeeded.
func failedAt(line, before int) string {
	assigned := fmt.Sprintf("%d locks before it were assigned", before)
	switch before {
	case 0:
		assigned = "No lock before it was assigned"
	case 1:
		assigned = "1 lock before it was assigned"
	}
	return fmt.Sprintf("Failed at line %d. %s; line %d may be, too. Run the command again: it skips locks that are already assigned.", line, assigned, line)
}

// assignAll makes the planned assignments, one call per lock, and prints the locks. It stops at the first that fails, prints nothing and
// returns a partialError.
func (s *session) assignAll(plan []assignment) error {
	list := &propertyv1.LockList{}
	for _, a := range plan {
		answer, err := propertyv1.NewLockServiceClient(s.conn).AssignLock(s, &propertyv1.AssignLockRequest{Id: a.lock, DoorId: &a.door})
		if err != nil {
			return &partialError{err, failedAt(a.line, len(list.GetList()))}
		}
		list.List = append(list.List, answer.GetData())
	}
	list.Total = int32(len(list.GetList())) // no overflow: a file has at most mostRows lines
	return s.printAnswer(&propertyv1.ListLocksResponse{Data: list}, nil, func() {
		s.printLockTable("All locks are already assigned to these doors.", s.bridgeNames(list.GetList()), list.GetList())
		s.sayAfterAssign()
	})
}

// sayAfterAssign prints the next steps after locks have been assigned to doors.
func (s *session) sayAfterAssign() {
	s.printNextSteps(
		"latchkey lock list --unassigned    shows the locks that have no door yet",
		`latchkey app create "Your PMS"     the vendor, if "latchkey app list" does not show it`,
		"latchkey integration connect APP   the vendor's access token for this property",
	)
}
