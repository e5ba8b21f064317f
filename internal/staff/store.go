package staff

// findSession finds a session that has not ended, of a person who may sign in. $1 is the property, $2 the hash of the token, $3 the time,
// and $4 the time after which the session must have been used.
const findSession = `SELECT s.id, s.person_id, s.used_at, s.second_factor_at, s.proved_at,
	(p.totp_confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys AS k WHERE k.person_id = p.id)),
	EXISTS (SELECT 1 FROM properties AS r WHERE r.id = $1 AND r.access_step_up = false) FROM person_sessions AS s
	JOIN people AS p ON p.id = s.person_id
	WHERE s.mac = $2 AND s.pending = false AND s.ends_at > $3 AND s.used_at > $4 AND p.disabled_at IS NULL`
