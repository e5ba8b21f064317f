package kit

import (
	"errors"
	"io"
	"net/http"
	"time"

	"latchkey.dev/internal/fault"
)

// beat is the interval of the keep-alive comments that Follow sends, so that proxies do not close the stream.
const beat = 20 * time.Second

// Follow sends server-sent events to an open page until receive fails or the browser disconnects. receive blocks until the next event and
// returns it in the wire format, such as "data: 7\n\n". It runs in a goroutine of its own, which may outlast Follow, and must return when
// the context of the request ends. If receive fails because the session has ended or lacks a right, Follow sends the event "refused", so
// that the browser does not reconnect. The result is always nil: the response has begun, so no error page can follow.
func (x *Exchange) Follow(receive func() (event string, err error)) error {
	control := http.NewResponseController(x.W)
	_ = control.SetWriteDeadline(time.Time{})
	x.W.Header().Set("Content-Type", "text/event-stream")
	x.W.Header().Set("X-Accel-Buffering", "no")
	events, ended := make(chan string), make(chan error, 1)
	go func() {
		for {
			event, err := receive()
			if err != nil {
				ended <- err
				return
			}
			select {
			case events <- event:
			case <-x.R.Context().Done():
				return
			}
		}
	}()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for event := ": \n\n"; ; {
		if _, err := io.WriteString(x.W, event); err != nil {
			return nil
		}
		if control.Flush() != nil {
			return nil
		}
		select {
		case <-x.R.Context().Done():
			return nil
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			if f := x.area.Fault(err); f.Kind == fault.Unauthenticated || f.Kind == fault.Denied {
				_, _ = io.WriteString(x.W, "event: refused\ndata:\n\n")
			}
			return nil
		case <-ticker.C:
			event = ": \n\n"
		case event = <-events:
		}
	}
}
