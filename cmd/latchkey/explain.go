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

// advice is what to do about an error, by its code; the server's own message comes first.
var advice = map[codes.Code]string{
	codes.Unauthenticated: "The token is wrong, ended or revoked, or it is not for this command. Make a new one on the server's machine: latchkey admin token create NAME (operators), latchkey token create (staff).",
	codes.Unimplemented:   "The server is older than this command line. Use the version that the server runs.",
	codes.Internal:        "This is a defect of ours. The server's log says more; quote the request id when you report it.",
}

// unanswered is what to do where no answer came. An answer of the server may have these codes too, because of something behind it.
var unanswered = map[codes.Code]string{
	codes.Unavailable:      "Is the server running, and is the address right? Look at its log.",
	codes.DeadlineExceeded: "The server did not answer in time. Look at its log, then try again.",
}

// statusOf is what a call ended with, as the server said it; nil for an error that is of no call.
func statusOf(err error) *status.Status {
	// What wraps an error must not get into its text, as status.FromError has it.
	var of interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &of) {
		return nil
	}
	if st := of.GRPCStatus(); st.Code() != codes.OK {
		return st
	}
	return nil
}

// explain turns an error into text for people: what was wrong, each wrong field as it was typed, and what to do.
func explain(err error, n naming) string {
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
		return "that address answers as an HTTP listener: --server is the gRPC one, the server's --listen-grpc"
	}
	var said *errdetails.ErrorInfo
	id := ""
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			said = d
		case *errdetails.BadRequest:
			text = "the server refuses what was given:"
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
	if done := (*partly)(nil); errors.As(err, &done) {
		text += "\n" + done.done
	}
	if a := adviceOn(st.Code(), said); a != "" {
		text += "\n" + a
	}
	return text
}

// plain says of a pattern what it wants.
func plain(description string) string {
	if strings.HasPrefix(description, "does not match regex pattern") && strings.Contains(description, ":[0-5][0-9]") {
		return "must be HH:MM, such as 08:00"
	}
	return description
}

// adviceOn is what to do about an error of which the server said more, or which is of the connection: nil.
func adviceOn(code codes.Code, said *errdetails.ErrorInfo) string {
	if role := said.GetMetadata()["role"]; role != "" {
		return fmt.Sprintf("Use a token of that role or a higher one: latchkey token create --role %s.", role)
	}
	if said == nil && unanswered[code] != "" {
		return unanswered[code]
	}
	return advice[code]
}
