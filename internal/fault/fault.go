// Package fault defines the only type of error that callers of the product see: a kind, a stable reason, and a message that
// says what was wrong, where, and what to do. Any other error counts as internal, and its text is only logged.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Kind is the class of a fault. Each protocol maps it to a status code.
type Kind int

const (
	Internal         Kind = iota // the server has a defect
	Invalid                      // the request itself is wrong; a retry fails again
	Unauthenticated              // the caller has no valid credential
	Denied                       // the caller is authenticated but not allowed
	NotFound                     // the object does not exist for this tenant
	Exists                       // the object exists already or is being created
	Aborted                      // a concurrent change was stored first
	Precondition                 // the current state of the object does not allow the call
	Exhausted                    // a limit is reached
	Unavailable                  // a dependency is not available; try again
	Deadline                     // the deadline passed
	Canceled                     // the caller cancelled
	Unimplemented                // the method does not exist
	MethodNotAllowed             // REST: the path supports other methods only
	NotAcceptable                // REST: the caller accepts no available representation
)

var kindNames = [...]string{
	Internal: "internal", Invalid: "invalid", Unauthenticated: "unauthenticated", Denied: "denied",
	NotFound: "not found", Exists: "exists", Aborted: "aborted", Precondition: "precondition",
	Exhausted: "exhausted", Unavailable: "unavailable", Deadline: "deadline", Canceled: "canceled",
	Unimplemented: "unimplemented", MethodNotAllowed: "method not allowed", NotAcceptable: "not acceptable",
}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Field is one wrong field of a request.
type Field struct {
	Path    string // as in the request: camelCase with dots and [i], counted from 0, "reservations[2].pmsMeta.id"
	Reason  Reason // camelCase word such as "required"; may be empty
	Message string // what is wrong and what is expected; never the value itself
}

// Fault is an error that the caller may see. Callers receive Kind, Reason, Message, Fields, Meta and RetryAfter; the cause is only logged.
type Fault struct {
	Kind       Kind
	Reason     Reason
	Message    string
	Fields     []Field
	Meta       map[string]string
	RetryAfter time.Duration // zero: no advice, but envelope.RetryAfter has a default for Unavailable
	cause      error
}

// New makes a fault. args are formatted into message as by fmt.Sprintf; without args, message stays unchanged. The message reaches the
// caller: it must describe what was wrong and what to do, and must not contain secrets or personal data.
func New(kind Kind, reason Reason, message string, args ...any) *Fault {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	return &Fault{Kind: kind, Reason: reason, Message: message}
}

// Fields makes the fault of a request with wrong fields, of the kind Invalid with the reason InvalidFields. The message names the first
// three. It returns nil for no fields, so that a validation can collect fields and return Err(Fields(...)).
func Fields(fields ...Field) *Fault {
	if len(fields) == 0 {
		return nil
	}
	parts := make([]string, 0, min(len(fields), 3)+1)
	for i, f := range fields {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(fields)-i))
			break
		}
		if f.Path == "" {
			parts = append(parts, f.Message)
			continue
		}
		parts = append(parts, f.Path+": "+f.Message)
	}
	return &Fault{Kind: Invalid, Reason: InvalidFields, Message: strings.Join(parts, "; "), Fields: fields}
}

// Err converts a *Fault that may be nil to an error, which is nil for a nil fault.
func Err(f *Fault) error {
	if f == nil {
		return nil
	}
	return f
}

// Error returns the text for logs. It contains the cause, so it must not reach the caller.
func (f *Fault) Error() string {
	text := f.Kind.String()
	if f.Reason != "" {
		text += " (" + string(f.Reason) + ")"
	}
	text += ": " + f.Message
	if f.cause != nil {
		text += ": " + f.cause.Error()
	}
	return text
}

// Unwrap returns the cause for errors.Is and errors.As. The cause is only logged.
func (f *Fault) Unwrap() error { return f.cause }

// Is lets errors.Is compare kind and reason. A target with an empty reason matches every reason of its kind.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.Kind == f.Kind && (t.Reason == "" || t.Reason == f.Reason)
}

// clone returns a copy with a Meta of its own. The copy shares Fields.
func (f *Fault) clone() *Fault {
	c := *f
	c.Meta = maps.Clone(f.Meta)
	return &c
}

// With returns a copy with a cause, which is logged and not sent to the caller.
func (f *Fault) With(cause error) *Fault {
	c := f.clone()
	c.cause = cause
	return c
}

// Retry returns a copy that tells the caller to try again after d.
func (f *Fault) Retry(d time.Duration) *Fault {
	c := f.clone()
	c.RetryAfter = d
	return c
}

// Put returns a copy with one more machine-readable detail, which the caller receives in Meta.
func (f *Fault) Put(key, value string) *Fault {
	c := f.clone()
	if c.Meta == nil {
		c.Meta = make(map[string]string, 1)
	}
	c.Meta[key] = value
	return c
}

// Of returns the first fault in an error's chain, or false if there is none.
func Of(err error) (*Fault, bool) {
	var f *Fault
	if errors.As(err, &f) && f != nil {
		return f, true
	}
	return nil, false
}

// BadPageToken returns the fault of a list whose page token came with no earlier page.
func BadPageToken() *Fault {
	return Fields(Field{Path: "pageToken", Reason: BadFormat, Message: "must be the nextPageToken of the previous page"})
}

// Has reports whether the first fault in an error's chain has this reason. It returns false for nil.
func Has(err error, reason Reason) bool {
	f, ok := Of(err)
	return ok && f.Reason == reason
}
