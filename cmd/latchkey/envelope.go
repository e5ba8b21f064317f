package main

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc/codes"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
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
	text, failed := jsonpb.Append(nil, envelopeOf(err).ProtoReflect())
	if failed != nil {
		text = []byte("{}")
	}
	fmt.Fprintf(to, "{\"error\":%s}\n", text)
}

// envelopeOf returns the error as REST would. An error of the command itself means invalid input, unless it has a reason.
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
