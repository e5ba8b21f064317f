package sim

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// The protocol between a bridge and locks that another process simulates: JSON over HTTP. PINs are plain strings, because slot.PIN refuses
// to be marshalled.
type (
	description struct {
		Address, Radio, Model string
		Capabilities          slot.Capabilities
	}
	request struct {
		Deadline time.Time
		Number   uint32 // Number is a slot
		Setting  driver.Setting
		PIN      string // PIN is Setting.PIN, which JSON cannot contain
		Lockout  slot.Lockout
		Pause    time.Duration
	}
	response struct {
		Answer  driver.Answer
		Content driver.Content
		PIN     string // PIN is Content.PIN, which JSON cannot contain; empty: the lock showed none
		Status  driver.Status
		Lockout slot.Lockout
		Error   string
	}
)

const (
	maxMessage = 1 << 16         // maximum size of a request to Serve in bytes; answers have no limit
	longPoll   = 5 * time.Second // how long a poll for events waits
)

// Serve serves a driver's locks to [Dial] in another process. The locks then outlive the bridge, as real locks do, and a running operation
// continues after the bridge was killed. The list of locks is that of the call to Serve, which fails if the driver cannot list them. It is
// for tests on loopback, because it has no authentication.
func Serve(d driver.Driver) (http.Handler, error) {
	locks, err := d.Locks(context.Background())
	if err != nil {
		return nil, err
	}
	byAddress := map[string]driver.Lock{}
	list := make([]description, 0, len(locks))
	for _, l := range locks {
		byAddress[l.Address()] = l
		list = append(list, description{l.Address(), l.Radio(), l.Model(), l.Capabilities()})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /locks", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, list) })
	mux.HandleFunc("POST /locks/{address}/{call}", func(w http.ResponseWriter, r *http.Request) {
		var in request
		l, known := byAddress[r.PathValue("address")]
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&in); err != nil || !known {
			http.Error(w, "unknown lock or unreadable request", http.StatusBadRequest)
			return
		}
		// The operation continues after the bridge was killed, because a real radio would not notice.
		ctx, cancel := context.WithDeadline(context.WithoutCancel(r.Context()), in.Deadline)
		defer cancel()
		out, known := callLock(ctx, l, r.PathValue("call"), in)
		if !known {
			http.NotFound(w, r)
			return
		}
		writeJSON(w, out)
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		select {
		case e := <-d.Events():
			writeJSON(w, []driver.Event{e})
		case <-time.After(longPoll):
			writeJSON(w, []driver.Event{})
		case <-r.Context().Done():
		}
	})
	return mux, nil
}

// callLock makes the call with a name, such as set or read, to a lock, with the parameters in the request. known is false if there is no
// such call. An error of status is in out.Error.
func callLock(ctx context.Context, l driver.Lock, call string, in request) (out response, known bool) {
	switch call {
	case "set":
		in.Setting.PIN = slot.PIN(in.PIN)
		out.Answer = l.Set(ctx, in.Setting)
	case "clear":
		out.Answer = l.Clear(ctx, in.Number)
	case "read":
		out.Content, out.Answer = l.Read(ctx, in.Number)
		out.PIN = string(out.Content.PIN)
	case "unlock":
		out.Answer = l.Unlock(ctx)
	case "setLockout":
		out.Lockout, out.Answer = l.SetLockout(ctx, in.Lockout)
	case "pauseKeypad":
		out.Answer = l.PauseKeypad(ctx, in.Pause)
	case "status":
		var err error
		if out.Status, err = l.Status(ctx); err != nil {
			out.Error = err.Error()
		}
	default:
		return out, false
	}
	return out, true
}

// writeJSON answers a request with v as JSON and status 200.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

const maxPress = 1 << 10 // maximum size of a request with a PIN in bytes

// Keypads serves the keypads of simulated locks: POST /{address} with {"pin": "..."} answers a Press. It is for tests on loopback, because
// any client can guess PINs.
func Keypads(h *Site) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{address}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			PIN string `json:"pin"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPress)).Decode(&in); err != nil {
			http.Error(w, `want {"pin": "..."}`, http.StatusBadRequest)
			return
		}
		p, err := h.Press(r.PathValue("address"), slot.PIN(in.PIN))
		if err != nil {
			http.Error(w, "no such lock", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p)
	})
	return mux
}
