package kit

import (
	"errors"
	"io"
	"net/http"
	"time"

	"latchkey.dev/internal/fault"
)

// beat is the interval in which an open page gets a sign that its stream works, so that proxies keep it.
const beat = 20 * time.Second

// Follow sends server-sent events to an open page. receive waits for the next one. It is called until it fails or the browser leaves; a receive
// that still waits then must end with the context of the request. The event "refused" says that the person may not follow any more: otherwise
// the browser would connect again and again.
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
