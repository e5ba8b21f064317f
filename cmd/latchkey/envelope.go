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

// wantsJSON reports whether the command line has --json.
func wantsJSON(c *kong.Context) bool {
	for _, f := range c.Flags() {
		if f.Name == "json" && f.Target.IsValid() && f.Target.Bool() {
			return true
		}
	}
	return false
}

// writeEnvelope writes an error as one JSON object on one line, as REST answers it.
func writeEnvelope(to io.Writer, err error) {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]any{"error": asJSON{envelopeOf(err)}})
}

// envelopeOf returns the error as REST would. An error of the command itself means invalid input, unless it has a reason.
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
		// The connection failed, so that no server gave a reason.
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
