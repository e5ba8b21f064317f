package kit

import (
	"embed"
	"net/http"
	"slices"

	"latchkey.dev/internal/fault"
)

// DeskParts are the templates that the areas of staff and of operators share: see [Kit.NewArea].
//
//go:embed desk
var DeskParts embed.FS

// ProblemOf returns the HTTP status of the error page for an API error, and the message kind of its title. method is that of the browser's
// request. known is false for an unexpected error, which the caller must log.
func ProblemOf(f *fault.Fault, method string) (status int, message string, known bool) {
	switch {
	case f.Kind == fault.Denied:
		return http.StatusForbidden, "staff.problem.role", true
	case f.Kind == fault.NotFound, f.Kind == fault.Invalid && method != http.MethodPost:
		return http.StatusNotFound, "staff.problem.unknown", true
	case f.Kind == fault.Exhausted:
		return http.StatusTooManyRequests, "staff.problem.tooMany", true
	case slices.Contains([]fault.Kind{fault.Invalid, fault.Precondition, fault.Aborted, fault.Exists}, f.Kind):
		return http.StatusConflict, "staff.problem.changed", true
	case slices.Contains([]fault.Kind{fault.Unavailable, fault.Deadline, fault.Canceled}, f.Kind):
		return http.StatusServiceUnavailable, "staff.problem.away", true
	}
	return http.StatusInternalServerError, "staff.problem.away", false
}
