package inproc

import (
	"sync"

	"google.golang.org/grpc/metadata"
)

// Transport is a grpc.ServerTransportStream that collects the headers of one unary call.
type Transport struct {
	method string
	mu     sync.Mutex
	header metadata.MD
}

// NewTransport returns the transport of one call.
func NewTransport(fullMethod string) *Transport { return &Transport{method: fullMethod} }

// Header returns the headers set so far.
func (t *Transport) Header() metadata.MD {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.header
}

// Method implements grpc.ServerTransportStream.
func (t *Transport) Method() string { return t.method }

// SetHeader implements grpc.ServerTransportStream.
func (t *Transport) SetHeader(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.header == nil {
		t.header = md
		return nil
	}
	t.header = metadata.Join(t.header, md)
	return nil
}

// SendHeader implements grpc.ServerTransportStream.
func (t *Transport) SendHeader(md metadata.MD) error { return t.SetHeader(md) }

// SetTrailer drops the trailer: answers of the API have none.
func (t *Transport) SetTrailer(metadata.MD) error { return nil }
