package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
)

// A part is a process of a benchmark. It reads calls as lines of JSON from its standard input and writes one line per answer to its
// standard output. net/rpc would add an HTML debug page and unused methods to the program.

type request struct {
	Method string
	Args   json.RawMessage
}

type response struct {
	Error string          `json:",omitempty"`
	Reply json.RawMessage `json:",omitempty"`
}

// methods maps a method name to the function that answers its calls.
type methods map[string]func(args json.RawMessage) (reply any, err error)

// decodeArgs turns a function into a method. The method decodes its argument from JSON, calls the function, and returns what the function
// stored in the reply.
func decodeArgs[Args, Reply any](f func(Args, *Reply) error) func(json.RawMessage) (any, error) {
	return func(raw json.RawMessage) (any, error) {
		var args Args
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, err
		}
		reply := new(Reply)
		return reply, f(args, reply)
	}
}

// with adds more methods to m itself, in place of those with the same name, and returns m.
func (m methods) with(more methods) methods {
	maps.Copy(m, more)
	return m
}

// serveCalls answers calls one after the other until the input ends, and then returns nil. The error of a method is an answer and does not
// end it.
func (m methods) serveCalls(in io.Reader, out io.Writer) error {
	calls, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := calls.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a call: %w", err)
		}
		if err := answers.Encode(m.answer(r)); err != nil {
			return fmt.Errorf("answer %s: %w", r.Method, err)
		}
	}
}

// answer calls the method of a request and returns its result or its error.
func (m methods) answer(r request) response {
	call := m[r.Method]
	if call == nil {
		return response{Error: "there is no such method"}
	}
	reply, err := call(r.Args)
	if err != nil {
		return response{Error: err.Error()}
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		return response{Error: err.Error()}
	}
	return response{Reply: raw}
}

// caller is the client of a process of a benchmark. It makes one call at a time.
type caller struct {
	in    io.Closer
	calls *json.Encoder
	got   *json.Decoder
}

// newCaller returns a client for a process: in is the standard input of the process, out its standard output.
func newCaller(in io.WriteCloser, out io.Reader) *caller {
	return &caller{in: in, calls: json.NewEncoder(in), got: json.NewDecoder(out)}
}

// call calls a method of the process and waits. It decodes the result into reply, a pointer. The error is the method's or the pipe's.
func (c *caller) call(method string, args, reply any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := c.calls.Encode(request{Method: method, Args: raw}); err != nil {
		return err
	}
	var r response
	if err := c.got.Decode(&r); err != nil {
		return err
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return json.Unmarshal(r.Reply, reply)
}

// close closes the standard input of the process, which makes it end. It does not wait for the end.
func (c *caller) close() error { return c.in.Close() }
