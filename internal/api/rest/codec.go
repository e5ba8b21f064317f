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

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
)

// maxGrowth is how much memory the length that a sender names is worth.
const maxGrowth = 64 << 10

// codec reads bodies and writes answers; it implements runtime.Marshaler.
type codec struct{}

// usualAnswer is the size of an answer that needs no second allocation.
const usualAnswer = 2 << 10

func (codec) ContentType(any) string { return jsonType[0] }

func (codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", v)
	}
	return body.Append(make([]byte, 0, usualAnswer), m.ProtoReflect())
}

func (codec) Unmarshal([]byte, any) error {
	return errors.New("bodies are read through NewDecoder")
}

func (codec) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		b, err := codec{}.Marshal(v)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	})
}

// NewDecoder returns a decoder that never fails: what is wrong with a body stands in the
// call's report, so that the chain can say who may be told.
func (codec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		src, ok := r.(*source)
		if !ok {
			return fmt.Errorf("%T is no body of an exchange", r)
		}
		src.decode(v)
		return nil
	})
}

// source is the body of a request as the generated code sees it: it is read once, by decode.
type source struct{ exchange *exchange }

func (*source) Read([]byte) (int, error) { return 0, io.EOF }
func (*source) Close() error             { return nil }

func (s *source) decode(v any) {
	report, call := &s.exchange.report, s.exchange.call
	if call == nil || call.Refused() {
		return // whoever is refused hears of nothing else
	}
	raw, f := s.read()
	if f != nil {
		report.Fault = f
		return
	}
	m, ok := target(v)
	if !ok {
		report.Fault = fault.New(fault.Internal, fault.InternalError, "a body cannot be read into %T", v)
		return
	}
	if err := call.Reserve(s.exchange.inner, len(raw)); err != nil {
		call.Fail(err)
		return
	}
	body.Decode(raw, m.ProtoReflect(), report)
}

func (s *source) read() ([]byte, *fault.Fault) {
	r := s.exchange.request
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, fault.New(fault.Invalid, fault.BadJSON, "the body is encoded: send it as plain JSON, without Content-Encoding")
	}
	if r.ContentLength > chain.MaxRequestBytes {
		return nil, s.tooLarge()
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(min(r.ContentLength, maxGrowth)) + bytes.MinRead) // the rest as it comes
	}
	n, err := buf.ReadFrom(io.LimitReader(r.Body, chain.MaxRequestBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.exchange.late = true
		return nil, chain.TooSlow().With(err)
	case err != nil:
		return nil, fault.New(fault.Invalid, fault.BadJSON, "the body ended before it was complete").With(err)
	case n > chain.MaxRequestBytes:
		return nil, s.tooLarge()
	}
	return buf.Bytes(), nil
}

func (s *source) tooLarge() *fault.Fault {
	// A sender that goes on beyond this is cut off, which is its own doing.
	_, err := io.Copy(io.Discard, io.LimitReader(s.exchange.request.Body, chain.MaxDiscard))
	s.exchange.late = errors.Is(err, os.ErrDeadlineExceeded)
	return chain.TooLarge()
}
