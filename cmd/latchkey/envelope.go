package main

import (
	"encoding/json"
	"io"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc/codes"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// wantsJSON reports whether the user gave --json to the chosen command.
func wantsJSON(c *kong.Context) bool {
	for _, f := range c.Flags() {
		if f.Name == "json" && f.Target.IsValid() && f.Target.Bool() {
			return true
		}
	}
	return false
}

// writeEnvelope writes the error of a command with --json: one line of JSON in the format of errors of the REST API.
func writeEnvelope(to io.Writer, err error) {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]any{"error": asJSON{envelopeOf(err)}})
}

// envelopeOf converts an error to the format of errors of the REST API. An error that no call to the server caused counts as invalid input,
// unless it has a reason of its own.
func envelopeOf(err error) *errorsv1.Error {
	st := statusOf(err)
	if st == nil {
		f, ok := fault.Of(err)
		if !ok {
			f = fault.New(fault.Invalid, fault.InvalidFields, "%s", err)
		}
		return envelope.Of(f, "")
	}
	e := envelope.OfStatus(st)
	if e.GetReason() == "" {
		// Only a handler gives a reason, so none was reached: the connection failed, or the server does not know the method.
		switch st.Code() {
		case codes.Unavailable:
			e.Reason = string(fault.UnavailableReason)
		case codes.DeadlineExceeded:
			e.Reason = string(fault.DeadlineExceeded)
		case codes.Canceled:
			e.Reason = string(fault.CanceledReason)
		default:
			e.Reason = string(fault.InternalError)
		}
	}
	return e
}
