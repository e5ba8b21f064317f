package jobs

// The statements read River's table of jobs, which has the same columns on both engines, except that the arguments and the errors are
// JSON texts on SQLite.
const (
	countsQuery = "SELECT CAST(state AS text), count(*) FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled', 'discarded') GROUP BY state"
	oldestQuery = "SELECT scheduled_at FROM river_job WHERE state = 'available' ORDER BY scheduled_at LIMIT 1"
	failedStart = "SELECT id, kind, COALESCE(args ->> 'propertyId', ''), CAST(state AS text), attempt, attempted_at, scheduled_at, "
	failedEnd   = " FROM river_job WHERE state IN ('retryable', 'discarded') ORDER BY attempted_at DESC, id DESC LIMIT 200"

	failedSQLite   = failedStart + "COALESCE(json_extract(errors, '$[#-1].error'), '')" + failedEnd
	failedPostgres = failedStart + "COALESCE(errors[array_length(errors, 1)] ->> 'error', '')" + failedEnd
	stateQuery     = "SELECT CAST(state AS text), queue FROM river_job WHERE id = $1"
)
