package staff

import (
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/personinvitation"
	"latchkey.dev/ent/predicate"
)

// findSession finds a session that has not ended, of a person who may sign in. $1 is the property, $2 the hash of the token, $3 the time,
// and $4 the time after which the session must have been used.
const findSession = `SELECT s.id, s.person_id, s.used_at, s.second_factor_at, s.proved_at,
	(p.totp_confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys AS k WHERE k.person_id = p.id)),
	EXISTS (SELECT 1 FROM properties AS r WHERE r.id = $1 AND r.access_step_up = false) FROM person_sessions AS s
	JOIN people AS p ON p.id = s.person_id
	WHERE s.mac = $2 AND s.pending = false AND s.ends_at > $3 AND s.used_at > $4 AND p.disabled_at IS NULL`

// isOpen selects the links that have not expired at the time now. A link that was made with a token ends with the token, because a thief
// could have made it; its invited_by is "staff:" or "operator:" and the token's id. Links that a person made end in [endInvitationsBy].
func isOpen(now time.Time) predicate.PersonInvitation {
	return personinvitation.And(personinvitation.EndsAtGT(now), func(s *sql.Selector) {
		s.Where(sql.P(func(b *sql.Builder) {
			b.WriteString(`(invited_by NOT LIKE '%:tok_%' OR EXISTS (SELECT 1 FROM tokens WHERE tokens.id IN (substr(invited_by, 7), substr(invited_by, 10))
				AND tokens.revoked_at IS NULL AND (tokens.expires_at IS NULL OR tokens.expires_at > `).Arg(now).WriteString(")))")
		}))
	})
}
