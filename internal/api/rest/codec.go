package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
)

// maxPreallocation bounds the bytes that are allocated in advance because of a Content-Length header.
const maxPreallocation = 64 << 10

// codec reads bodies and writes answers for the REST gateway. It implements runtime.Marshaler.
type codec struct{}

// usualAnswerSize is the initial size of the answer buffer in bytes; most answers fit.
const usualAnswerSize = 2 << 10

// ContentType is application/json for every answer.
func (codec) ContentType(any) string { return jsonType[0] }

// Marshal encodes an answer, which must be a protobuf message, as jsonpb.Append does.
func (codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", v)
	}
	return jsonpb.Append(make([]byte, 0, usualAnswerSize), m.ProtoReflect())
}

// Unmarshal always fails: the gateway reads bodies through NewDecoder.
func (codec) Unmarshal([]byte, any) error {
	return errors.New("bodies are read through NewDecoder")
}

// NewEncoder returns an encoder that writes answers to w as Marshal encodes them.
func (codec) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		b, err := codec{}.Marshal(v)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	})
}

// NewDecoder returns a decoder that does not fail for an invalid body. It records the errors in the call's report, so that the chain of
// interceptors answers with them after authentication. It fails only if its reader r is not a [requestBody].
func (codec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		src, ok := r.(*requestBody)
		if !ok {
			return fmt.Errorf("%T is not the body of an exchange", r)
		}
		src.decode(v)
		return nil
	})
}

// requestBody replaces the request body that the gateway's generated code sees. Its method decode reads the real body.
type requestBody struct{ exchange *exchange }

// Read returns no data, because decode reads the real body.
func (*requestBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing: the HTTP server closes the real body.
func (*requestBody) Close() error { return nil }

// decode reads the body of the HTTP request into v, a message or a pointer to one. It stores what is wrong with the body in the report. It
// refuses the call if no memory is free for the body: see [chain.Call.Reserve]. For a refused call it does nothing.
func (s *requestBody) decode(v any) {
	report, call := &s.exchange.report, s.exchange.call
	if call == nil || call.Refused() {
		return
	}
	raw, f := s.readAll()
	if f != nil {
		report.Fault = f
		return
	}
	call.MessageArrived()
	m, ok := bodyTarget(v)
	if !ok {
		report.Fault = fault.New(fault.Internal, fault.InternalError, "a body cannot be read into %T", v)
		return
	}
	if err := call.Reserve(s.exchange.callContext, len(raw)); err != nil {
		call.Fail(err)
		return
	}
	jsonpb.Decode(raw, m.ProtoReflect(), report)
}

// readAll returns the whole body, or the fault of a body that is compressed, too large, too slow or cut off, or for which no memory is
// free.
func (s *requestBody) readAll() ([]byte, *fault.Fault) {
	r := s.exchange.request
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, fault.New(fault.Invalid, fault.BadJSON, "the body is encoded: send it as plain JSON, without Content-Encoding")
	}
	if r.ContentLength > chain.MaxRequestBytes {
		return nil, s.discardTooLarge()
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(min(r.ContentLength, maxPreallocation)) + bytes.MinRead) // the buffer grows further while reading
	}
	body := s.exchange.call.Body(s.exchange.callContext, s.exchange.writer, r, &s.exchange.bodyTimedOut)
	n, err := buf.ReadFrom(io.LimitReader(body, chain.MaxRequestBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.exchange.bodyTimedOut = true
		return nil, chain.TooSlow().With(err)
	case err != nil:
		if refused, ok := fault.Of(err); ok {
			return nil, refused
		}
		return nil, fault.New(fault.Invalid, fault.BadJSON, "the body ended before it was complete").With(err)
	case n > chain.MaxRequestBytes:
		return nil, s.discardTooLarge()
	}
	return buf.Bytes(), nil
}

// discardTooLarge reads the rest of a body up to a limit, so that the sender receives the answer, and returns the fault.
func (s *requestBody) discardTooLarge() *fault.Fault {
	_, err := io.Copy(io.Discard, io.LimitReader(s.exchange.request.Body, chain.MaxDiscard))
	s.exchange.bodyTimedOut = errors.Is(err, os.ErrDeadlineExceeded)
	return chain.TooLarge()
}
