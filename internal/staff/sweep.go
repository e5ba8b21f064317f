package staff

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/person"
	"latchkey.dev/ent/personinvitation"
	"latchkey.dev/ent/personsession"
	"latchkey.dev/ent/signinattempts"
	"latchkey.dev/ent/usedchallenge"
	"latchkey.dev/internal/db"
)

// withoutProperty selects people who work at no property any more, such as those of a property that was deleted.
func withoutProperty(s *sql.Selector) {
	t := sql.Table(membership.Table)
	s.Where(sql.NotExists(sql.Select().From(t).Where(sql.ColumnsEQ(t.C(membership.FieldPersonID), s.C(person.FieldID)))))
}

// DeleteExpired deletes links, sessions, counts of failures and used challenges that ended before a time, and, whatever the time, people
// without a property; at most most of each kind. It returns the largest number that it deleted of one kind.
func DeleteExpired(tx *db.Tx, before time.Time, most int) (int, error) {
	ctx := tx.Context()
	links, err := tx.PersonInvitation.Query().Where(personinvitation.EndsAtLT(before)).Limit(most).IDs(ctx)
	if err != nil {
		return 0, fmt.Errorf("list expired links of people: %w", err)
	}
	sessions, err := tx.PersonSession.Query().Where(personsession.EndsAtLT(before)).Limit(most).IDs(ctx)
	if err != nil {
		return 0, fmt.Errorf("list expired sessions of people: %w", err)
	}
	counts, err := tx.SignInAttempts.Query().Where(signinattempts.LastAtLT(before.Add(-longestPeriod))).Limit(most).IDs(ctx)
	if err != nil {
		return 0, fmt.Errorf("list old counts of failures: %w", err)
	}
	if _, err := tx.PersonInvitation.Delete().Where(personinvitation.IDIn(links...)).Exec(ctx); err != nil {
		return 0, fmt.Errorf("delete expired links of people: %w", err)
	}
	if _, err := tx.PersonSession.Delete().Where(personsession.IDIn(sessions...)).Exec(ctx); err != nil {
		return 0, fmt.Errorf("delete expired sessions of people: %w", err)
	}
	if _, err := tx.SignInAttempts.Delete().Where(signinattempts.IDIn(counts...)).Exec(ctx); err != nil {
		return 0, fmt.Errorf("delete old counts of failures: %w", err)
	}
	challenges, err := tx.UsedChallenge.Query().Where(usedchallenge.EndsAtLT(before)).Limit(most).IDs(ctx)
	if err != nil {
		return 0, fmt.Errorf("list expired challenges: %w", err)
	}
	if _, err := tx.UsedChallenge.Delete().Where(usedchallenge.IDIn(challenges...)).Exec(ctx); err != nil {
		return 0, fmt.Errorf("delete expired challenges: %w", err)
	}
	people, err := tx.Person.Query().Where(withoutProperty).Limit(most).IDs(ctx)
	if err != nil {
		return 0, fmt.Errorf("list people without a property: %w", err)
	}
	if _, err := tx.Person.Delete().Where(person.IDIn(people...)).Exec(ctx); err != nil {
		return 0, fmt.Errorf("delete people without a property: %w", err)
	}
	return max(len(links), len(sessions), len(counts), len(challenges), len(people)), nil
}
