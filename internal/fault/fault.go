// Package fault is the one type of error that may leave the product: a kind, a stable
// reason, and a message that says what was wrong, where, and what to do. An error that
// is no Fault counts as internal, and its text stays inside.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Kind is the class of a fault; each protocol has a table that gives it a code.
type Kind int

const (
	Internal         Kind = iota // a defect of ours
	Invalid                      // the request itself is wrong; the same again fails again
	Unauthenticated              // no valid credential
	Denied                       // known, but not allowed
	NotFound                     // no such thing for this tenant
	Exists                       // it is there already, or under way
	Aborted                      // lost against a concurrent change
	Precondition                 // the state of things forbids it for now
	Exhausted                    // a limit is used up
	Unavailable                  // something we need is away; try again
	Deadline                     // not done in time
	Canceled                     // the caller went away
	Unimplemented                // no such method
	MethodNotAllowed             // REST: the path knows other methods
	NotAcceptable                // REST: no representation the caller accepts
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
	Path    string // as the caller wrote it: camelCase with dots and [i], "reservations[2].pmsMeta.id"
	Reason  Reason // camelCase word such as "required"; may be empty
	Message string // what is wrong and what would be right; never the value itself
}

// Fault is an error that the caller may see. Only Kind, Reason, Message, Fields, Meta and
// RetryAfter leave; the cause is for our log.
type Fault struct {
	Kind       Kind
	Reason     Reason
	Message    string
	Fields     []Field
	Meta       map[string]string
	RetryAfter time.Duration // zero: trying again at once is of no use or no harm
	cause      error
}

// New makes a fault. The message reaches the caller: it names what was wrong and what to
// do, and holds no secret and no personal data.
func New(kind Kind, reason Reason, message string, args ...any) *Fault {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	return &Fault{Kind: kind, Reason: reason, Message: message}
}

// Fields makes the fault of a request with wrong fields. It returns nil for no fields, so
// that a validation may collect and then return the result as it is through [Err].
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

// Err turns a *Fault that may be nil into an error that is nil with it.
func Err(f *Fault) error {
	if f == nil {
		return nil
	}
	return f
}

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

// Unwrap returns the cause, which is for our log alone.
func (f *Fault) Unwrap() error { return f.cause }

// Is lets errors.Is compare by kind and reason: a template with an empty reason matches
// every reason of its kind.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.Kind == f.Kind && (t.Reason == "" || t.Reason == f.Reason)
}

func (f *Fault) clone() *Fault {
	c := *f
	c.Meta = maps.Clone(f.Meta)
	return &c
}

// With returns a copy that remembers its cause.
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

// Put returns a copy with one more word of detail for machines.
func (f *Fault) Put(key, value string) *Fault {
	c := f.clone()
	if c.Meta == nil {
		c.Meta = make(map[string]string, 1)
	}
	c.Meta[key] = value
	return c
}

// Of finds the fault in an error's chain.
func Of(err error) (*Fault, bool) {
	var f *Fault
	if errors.As(err, &f) && f != nil {
		return f, true
	}
	return nil, false
}

// Has reports whether an error's chain holds a fault with this reason.
func Has(err error, reason Reason) bool {
	f, ok := Of(err)
	return ok && f.Reason == reason
}
