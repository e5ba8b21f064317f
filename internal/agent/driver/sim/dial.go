package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// Dial returns a driver for simulated locks that another process serves at a base URL with [Serve]. Dial does not wait for that process.
// The driver polls for events until Close.
func Dial(base string) driver.Driver {
	ctx, cancel := context.WithCancel(context.Background())
	d := &remoteDriver{base: base, events: make(chan driver.Event), cancel: cancel, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	d.running.Go(func() { d.forwardEvents(ctx) })
	return d
}

// remoteDriver is the driver that Dial returns.
type remoteDriver struct {
	base    string
	client  *http.Client
	events  chan driver.Event
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Locks asks the other process once for its locks. It fails if that does not answer.
func (d *remoteDriver) Locks(ctx context.Context) ([]driver.Lock, error) {
	var list []description
	if err := d.call(ctx, http.MethodGet, "/locks", nil, &list); err != nil {
		return nil, fmt.Errorf("list the simulated locks: %w", err)
	}
	var out []driver.Lock
	for _, l := range list {
		out = append(out, remoteLock{d, l})
	}
	return out, nil
}

// Events returns the channel to which the events of the other process are forwarded. It has no buffer and is never closed.
func (d *remoteDriver) Events() <-chan driver.Event { return d.events }

// Close stops polling for events. The simulated locks keep running in the other process.
func (d *remoteDriver) Close() error {
	d.cancel()
	d.running.Wait()
	d.client.CloseIdleConnections()
	return nil
}

// forwardEvents polls the other process for lock events and emits them until ctx ends. After an error it tries again in a second.
func (d *remoteDriver) forwardEvents(ctx context.Context) {
	for ctx.Err() == nil {
		var events []driver.Event
		if err := d.call(ctx, http.MethodGet, "/events", nil, &events); err != nil {
			clock.Sleep(ctx, time.Second)
		}
		for _, e := range events {
			select {
			case d.events <- e:
			case <-ctx.Done():
			}
		}
	}
}

// call makes one HTTP request to the process of the simulated locks. It sends in as JSON, unless nil, and decodes the answer into out. A
// status other than 200 is an error.
func (d *remoteDriver) call(ctx context.Context, method, path string, in, out any) error {
	var content io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, content)
	if err != nil {
		return err
	}
	res, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", path, res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(out)
}

// remoteLock is a simulated lock in another process.
type remoteLock struct {
	driver *remoteDriver
	description
}

func (l remoteLock) Address() string                 { return l.description.Address }
func (l remoteLock) Radio() string                   { return l.description.Radio }
func (l remoteLock) Model() string                   { return l.description.Model }
func (l remoteLock) Capabilities() slot.Capabilities { return l.description.Capabilities }

// do makes one call to the lock, named as in the URL of [Serve]. It passes ctx's deadline to the other process, or else now plus the lock's
// lifetime. If the HTTP request fails, the answer is Timeout, and out.Error says why.
func (l remoteLock) do(ctx context.Context, call string, in request) (out response) {
	var set bool
	if in.Deadline, set = ctx.Deadline(); !set {
		in.Deadline = time.Now().Add(l.Capabilities().Lifetime())
	}
	err := l.driver.call(ctx, http.MethodPost, "/locks/"+url.PathEscape(l.Address())+"/"+call, in, &out)
	if err != nil {
		return response{Answer: driver.Answer{Result: slot.Timeout}, Error: err.Error()}
	}
	return out
}

// Set makes the call in the other process: see do.
func (l remoteLock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	return l.do(ctx, "set", request{Setting: s, PIN: string(s.PIN)}).Answer
}

// Clear makes the call in the other process: see do.
func (l remoteLock) Clear(ctx context.Context, number uint32) driver.Answer {
	return l.do(ctx, "clear", request{Number: number}).Answer
}

// Read makes the call in the other process: see do. The Content is valid only if the answer is OK.
func (l remoteLock) Read(ctx context.Context, number uint32) (driver.Content, driver.Answer) {
	out := l.do(ctx, "read", request{Number: number})
	out.Content.PIN = slot.PIN(out.PIN)
	return out.Content, out.Answer
}

// Unlock makes the call in the other process: see do.
func (l remoteLock) Unlock(ctx context.Context) driver.Answer {
	return l.do(ctx, "unlock", request{}).Answer
}

// SetLockout makes the call in the other process: see do. It returns the setting as the lock has read it back.
func (l remoteLock) SetLockout(ctx context.Context, want slot.Lockout) (slot.Lockout, driver.Answer) {
	out := l.do(ctx, "setLockout", request{Lockout: want})
	return out.Lockout, out.Answer
}

// PauseKeypad makes the call in the other process: see do.
func (l remoteLock) PauseKeypad(ctx context.Context, d time.Duration) driver.Answer {
	return l.do(ctx, "pauseKeypad", request{Pause: d}).Answer
}

// Status asks the other process for the status. It fails if that does not answer, or if the status cannot be read there.
func (l remoteLock) Status(ctx context.Context) (driver.Status, error) {
	out := l.do(ctx, "status", request{})
	if out.Error != "" {
		return driver.Status{}, errors.New(out.Error)
	}
	return out.Status, nil
}
