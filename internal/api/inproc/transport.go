package inproc

import (
	"sync"

	"google.golang.org/grpc/metadata"
)

// Transport collects the headers of one call or stream, and drops its trailers. It implements grpc.ServerTransportStream.
type Transport struct {
	method string
	mu     sync.Mutex
	header metadata.MD
}

// NewTransport returns a transport without headers, for one call of the method with this full name.
func NewTransport(fullMethod string) *Transport { return &Transport{method: fullMethod} }

// Header returns the headers that were set.
func (t *Transport) Header() metadata.MD {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.header
}

func (t *Transport) Method() string { return t.method }

// SetHeader adds headers to the answer. It always returns nil, also after SendHeader.
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

// SendHeader does the same as SetHeader, and sends nothing yet: the caller gets the headers with the answer. It always returns nil.
func (t *Transport) SendHeader(md metadata.MD) error { return t.SetHeader(md) }

// SetTrailer drops the trailer, because answers of the API have none.
func (t *Transport) SetTrailer(metadata.MD) error { return nil }
