package main

import (
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// advice is what to do about an error, by its code; the server's own message comes first.
var advice = map[codes.Code]string{
	codes.Unavailable:      "Is the server running, and is the address right? Look at its log.",
	codes.DeadlineExceeded: "The server did not answer in time. Look at its log, then try again.",
	codes.Unauthenticated:  "The token is wrong, ended or revoked, or it is not for this command. Make a new one on the server's machine: latchkey admin token create NAME (operators), latchkey token create (staff).",
	codes.PermissionDenied: "Use a token with a higher role: latchkey token create --role owner.",
	codes.Unimplemented:    "The server is older than this command line. Use the version that the server runs.",
	codes.Internal:         "This is a defect of ours. The server's log says more; quote the request id when you report it.",
}

// explain turns an error into text for people: what was wrong, each wrong field, and what to do.
func explain(err error) string {
	st, ok := status.FromError(err)
	var wrapped interface{ GRPCStatus() *status.Status }
	if !ok && !errors.As(err, &wrapped) {
		return err.Error()
	}
	if st == nil || st.Code() == codes.OK {
		return err.Error()
	}
	text := strings.TrimSuffix(st.Message(), ".")
	if st.Code() == codes.Unavailable && strings.Contains(text, "connection error") {
		text = "no server answers: " + text
	}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.BadRequest:
			text = "the server refuses what was given:"
			for _, v := range d.GetFieldViolations() {
				text += "\n  " + flag(v.GetField()) + " " + v.GetDescription()
			}
		case *errdetails.RequestInfo:
			text += "\n  request id: " + d.GetRequestId()
		}
	}
	if a := advice[st.Code()]; a != "" {
		text += "\n" + a
	}
	return text
}

// flag is how a field of a request is called on the command line: settings.timeZone was given as
// --time-zone.
func flag(field string) string {
	word := field[strings.LastIndex(field, ".")+1:]
	var b strings.Builder
	b.WriteString("--")
	for _, r := range word {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
