package main

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/fault"
)

// advice maps a gRPC code to what the user should do about the error. It is printed after the server's message.
var advice = map[codes.Code]string{
	codes.Unauthenticated: "The token is wrong, expired or revoked, or it is not for this command. Create a new one on the server's machine: latchkey admin token create NAME (operators), latchkey token create (staff).",
	codes.Unimplemented:   "The server is older than this command line. Use the version that the server runs.",
	codes.Internal:        "This is a bug in Latchkey. Please report it with the request id. The server's log has details.",
}

// unanswered maps a gRPC code to what the user should do if no answer came. If a server answered with the same code, this advice does not
// apply.
var unanswered = map[codes.Code]string{
	codes.Unavailable:      "Check that the server runs and that the address is right. Its log may say more.",
	codes.DeadlineExceeded: "The server did not answer in time. Check its log, then try again.",
}

// statusOf returns the gRPC status of a failed call; nil if the error did not come from a call.
func statusOf(err error) *status.Status {
	// status.FromError would include the text of wrapping errors.
	var of interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &of) {
		return nil
	}
	if st := of.GRPCStatus(); st.Code() != codes.OK {
		return st
	}
	return nil
}

// explain converts the error of a command to the text for the user: what was wrong, each wrong field by its flag or, if the values came
// from a file, by its line, and what to do. n translates fields to flags.
func explain(err error, n naming) string {
	if h := (*hintedError)(nil); errors.As(err, &h) {
		return explain(h.error, n) + "\n" + h.hint
	}
	st := statusOf(err)
	if f, ok := fault.Of(err); ok && st == nil {
		return f.Message
	}
	if st == nil {
		return err.Error()
	}
	text := n.in(strings.TrimSuffix(st.Message(), "."))
	if st.Code() == codes.Unavailable && strings.Contains(text, "connection error") {
		text = "no server answers: " + text
	}
	name := n.of
	var file *atLines
	if errors.As(err, &file) {
		name = file.of
	}
	if strings.Contains(text, "unexpected HTTP status code") || strings.Contains(text, "looked like an HTTP/1.1 header") {
		return "that address is an HTTP listener: --server must be the gRPC address, the server's --listen-grpc"
	}
	var said *errdetails.ErrorInfo
	id := ""
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			said = d
		case *errdetails.BadRequest:
			text = "the server refused these values:"
			for _, v := range d.GetFieldViolations() {
				text += "\n  " + strings.TrimSpace(name(v.GetField())+" "+n.in(plain(v.GetDescription())))
			}
		case *errdetails.RequestInfo:
			id = "\n  request id: " + d.GetRequestId()
		}
	}
	if file != nil {
		text = file.where(said) + text
	}
	if said.GetReason() != "" && !strings.Contains(text, "\n") {
		text += " (" + said.GetReason() + ")"
	}
	text += id
	if done := (*partialError)(nil); errors.As(err, &done) {
		text += "\n" + done.done
	}
	if a := adviceOn(st.Code(), said); a != "" {
		text += "\n" + a
	}
	return text
}

// hintedError is the error of a command that knows what the user can do about it. hint is a sentence for the user.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// plain returns the description of a wrong value unchanged, or, if it is the regular expression for a time of day, an example in place of
// it.
func plain(description string) string {
	if strings.HasPrefix(description, "does not match regex pattern") && strings.Contains(description, ":[0-5][0-9]") {
		return "must be HH:MM, such as 08:00"
	}
	return description
}

// adviceOn returns what the user should do about an error, or "". said is the server's error detail: if it names a role, a token of that
// role is needed. said is nil if the server did not answer.
func adviceOn(code codes.Code, said *errdetails.ErrorInfo) string {
	if role := said.GetMetadata()["role"]; role != "" {
		return fmt.Sprintf("Use a token of that role or a higher one: latchkey token create --role %s.", role)
	}
	if said == nil && unanswered[code] != "" {
		return unanswered[code]
	}
	return advice[code]
}
