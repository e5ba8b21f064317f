package main

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc/codes"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
)

// wantsJSON tells whether the server's answer was asked for as JSON.
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
	text, failed := body.Append(nil, envelopeOf(err).ProtoReflect())
	if failed != nil {
		text = []byte("{}")
	}
	fmt.Fprintf(to, "{\"error\":%s}\n", text)
}

// envelopeOf is the error of a call as REST has it. An error of the command itself is of what was typed, unless it says more.
func envelopeOf(err error) *errorsv1.Error {
	st := statusOf(err)
	if st == nil {
		f, ok := fault.Of(err)
		if !ok {
			f = fault.New(fault.Invalid, fault.InvalidFields, "%s", err)
		}
		return chain.Envelope(f, "")
	}
	e := chain.EnvelopeOf(st)
	if e.GetReason() == "" {
		// No server said this, but the connection.
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
