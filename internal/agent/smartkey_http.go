package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/connlimit"
	"latchkey.dev/internal/smartkey"
)

// Local makes a bridge serve phones on the property's own network without the server: see section 14 of docs/smartkey.md.
type Local struct {
	Listener net.Listener // Listener serves TLS; Run closes it, unless Run ends before the locks are loaded
	Origin   string       // Origin is the guest app's "https://..." origin; empty: no web page may call the bridge
}

const (
	localGreeting     = "/smartkey/v1/greeting"
	localPresentation = "/smartkey/v1/presentation"
	cborType          = "application/cbor"
	localMaxCalls     = 16               // calls that are served at the same time
	localConnections  = 64               // maximum number of open connections; see localConns for further ones
	localPerAddress   = 4                // maximum number of open connections of one IPv4 address or IPv6 network (/64)
	localHandshake    = 3 * time.Second  // longest TLS handshake
	localTimeout      = 15 * time.Second // longest time to read a request; its answer may take twice that
	localIdle         = 30 * time.Second // a connection without a request for this long is closed
	localHeaders      = 8 << 10          // maximum size of a request's headers in bytes

	// Rate limit per address. A person at a door needs two calls.
	localPerMinute = 30   // calls per minute in the long run
	localBurst     = 10   // calls at once
	localAddresses = 4096 // addresses that are counted at the same time; while all of them call, new ones are refused
)

// serveLocal serves phones on the local network until ctx ends, and then returns nil. It fails only if the listener does. It closes the
// listener in both cases, and waits for the calls that run: the driver and the store must stay open until a door that a phone opens is
// journaled.
func (b *Bridge) serveLocal(ctx context.Context, l Local) error {
	d := b.newLocalServer(l.Origin)
	defer d.awaitCalls()
	s := &http.Server{
		Handler: d.handler(), ReadHeaderTimeout: localTimeout, ReadTimeout: localTimeout, WriteTimeout: 2 * localTimeout,
		IdleTimeout: localIdle, MaxHeaderBytes: localHeaders, ErrorLog: slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	b.log.Info("serving phones", "address", l.Listener.Addr().String())
	if err := s.Serve(localConns(l.Listener)); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return err
	}
	return nil
}

// newLocalServer returns the server for phones on the local network. Of web pages, only those of origin may call it; empty: none. Calls
// without an Origin header are not from a web page and are allowed.
func (b *Bridge) newLocalServer(origin string) *localServer {
	return &localServer{bridge: b, origin: origin, slots: make(chan struct{}, localMaxCalls), budgets: map[netip.Prefix]*budget{}}
}

// handler returns the HTTP handler for phones: greeting, presentation and preflight, within the limits of withLimits.
func (d *localServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+localGreeting, d.serveGreeting)
	mux.HandleFunc("POST "+localPresentation, d.servePresentation)
	mux.HandleFunc("OPTIONS /smartkey/v1/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return d.withLimits(mux)
}

// localServer serves phones on the local network.
type localServer struct {
	bridge *Bridge
	origin string
	slots  chan struct{} // one element per running call, to limit them

	mu      sync.Mutex
	budgets map[netip.Prefix]*budget // rate limit by client network
}

// awaitCalls waits for the running calls, and lets no further one begin: it takes all slots for itself.
func (d *localServer) awaitCalls() {
	for range localMaxCalls {
		d.slots <- struct{}{}
	}
}

// withLimits passes requests on to next if their origin is allowed and neither the rate limit nor the limit of concurrent calls is reached.
// Otherwise it answers 403 or 429. Preflight requests count as calls.
func (d *localServer) withLimits(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			if d.origin == "" || origin != d.origin {
				http.Error(w, "this origin may not call", http.StatusForbidden)
				return
			}
			h.Set("Access-Control-Allow-Origin", d.origin)
			h.Set("Access-Control-Allow-Methods", http.MethodPost)
			h.Set("Access-Control-Allow-Headers", "Content-Type")
			h.Set("Access-Control-Allow-Private-Network", "true")
			h.Set("Access-Control-Max-Age", "600")
		}
		if !d.allow(r.RemoteAddr, time.Now()) {
			h.Set("Retry-After", "10")
			http.Error(w, "too many calls from this address", http.StatusTooManyRequests)
			return
		}
		select {
		case d.slots <- struct{}{}:
			defer func() { <-d.slots }()
			next.ServeHTTP(w, r)
		default:
			h.Set("Retry-After", "1")
			http.Error(w, "too many calls at once", http.StatusTooManyRequests)
		}
	})
}

// budget is a token bucket for rate limiting.
type budget struct {
	left float64
	at   time.Time
}

// spend takes one token and returns true, or returns false if there is none. The bucket holds at most burst tokens and gains perMinute
// tokens a minute.
func (b *budget) spend(now time.Time, burst, perMinute float64) bool {
	b.left = min(burst, b.left+now.Sub(b.at).Minutes()*perMinute)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// allow reports whether the client at the address remote, IP:port, may make a call, and counts the call. It refuses an address that cannot
// be parsed. IPv6 clients count by network. If there are too many budgets, it forgets clients that have not called for a minute, and
// refuses new clients if that is not enough.
func (d *localServer) allow(remote string, now time.Time) bool {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	network := connlimit.Network(ap.Addr())
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.budgets[network]
	if b == nil {
		if len(d.budgets) >= localAddresses {
			for k, old := range d.budgets {
				if now.Sub(old.at) >= time.Minute {
					delete(d.budgets, k)
				}
			}
		}
		if len(d.budgets) >= localAddresses {
			return false
		}
		b = &budget{left: localBurst, at: now}
		d.budgets[network] = b
	}
	return b.spend(now, localBurst, localPerMinute)
}

// serveGreeting answers a phone with a greeting, whose nonce its presentation must contain, or with 503 if none can be made.
func (d *localServer) serveGreeting(w http.ResponseWriter, _ *http.Request) {
	g, err := d.bridge.doorkeeper.Greet()
	if err != nil {
		http.Error(w, "no greeting can be given now", http.StatusServiceUnavailable)
		return
	}
	writeCBOR(w, g.Encode())
}

// servePresentation opens a door for a phone with a SmartKey, or only checks the key, as the presentation in the body asks. The answer in
// the body, with status 200, is OK or why not: the key was refused, or the lock failed. Only a request of the wrong type or size gets
// another status. An opening that has begun finishes even if the phone disconnects.
func (d *localServer) servePresentation(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != cborType {
		http.Error(w, "want "+cborType, http.StatusUnsupportedMediaType)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, smartkey.MaxPresentationSize))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "larger than a presentation can be", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the body is incomplete", http.StatusBadRequest)
	default:
		writeCBOR(w, d.bridge.acceptPresentation(context.WithoutCancel(r.Context()), raw).Encode())
	}
}

// writeCBOR answers a request with encoded CBOR.
func writeCBOR(w http.ResponseWriter, raw []byte) {
	w.Header().Set("Content-Type", cborType)
	_, _ = w.Write(raw)
}

// acceptPresentation verifies a presentation that a phone sent directly, and executes its operation. It journals an opening or, within
// limits, the refusal of a key, but no successful check, no failure of the lock and no malformed presentation. Its context must not be
// cancelled when the phone disconnects, because a started operation must finish.
func (b *Bridge) acceptPresentation(ctx context.Context, raw []byte) smartkey.Answer {
	p, err := smartkey.DecodePresentation(raw)
	if err != nil {
		return smartkey.Answer{Reason: smartkey.ReasonOf(err)}
	}
	var proof smartkey.Proof // an unreadable proof stays empty; Verify then returns the error
	if proof, err = smartkey.ReadProof(p.Proof); err != nil {
		proof = smartkey.Proof{}
	}
	v := b.doorkeeper.Verify(p, proof.Door, proof.Operation)
	if !v.Accepted() {
		b.reportRefusedKey(b.addressOf(proof.Door), v)
		return smartkey.Answer{Reason: v.Reason, Detail: v.Detail}
	}
	if proof.Operation == smartkey.Check {
		return smartkey.Answer{Reason: smartkey.OK}
	}
	address := b.addressOf(proof.Door)
	deadline := time.Now().Add(maxDeadline)
	if until := b.doorkeeper.Until(v); until.Before(deadline) {
		deadline = until
	}
	outcome, result := b.commands.unlock(ctx, command{address: address, operation: operationUnlock, deadline: deadline})
	b.log.Info("a phone used its SmartKey directly", "lock", address, "outcome", outcome, "result", result)
	if outcome != outcomeDone {
		return smartkey.Answer{Reason: smartkey.LockFailed, Detail: "the key is valid, but the lock failed: " + result}
	}
	b.journalSmartKey(driver.Event{Address: address, Kind: driver.Opened, Reason: smartKeys}, v)
	return smartkey.Answer{Reason: smartkey.OK}
}

// addressOf returns the address of the lock at a door of this bridge, or "" if there is none.
func (b *Bridge) addressOf(door smartkey.Door) string {
	for _, l := range b.locks {
		if b.doorkeeper.Door(l.Address()) == door {
			return l.Address()
		}
	}
	return ""
}

// localConns returns a listener that bounds the open connections in total and by address. At a bound, a new connection replaces the oldest
// one that has not sent anything, so that idle connections cannot keep phones out. If all have, the new one is closed.
func localConns(l net.Listener) net.Listener {
	return connlimit.New(promptListener{l}, connlimit.Config{PerAddress: localPerAddress, Total: localConnections, EvictSilent: true})
}

// promptListener limits the TLS handshake to localHandshake, because the HTTP server would allow it localTimeout.
type promptListener struct{ net.Listener }

// Accept returns the next connection. Its first Read makes the TLS handshake, with the short timeout.
func (l promptListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if secure, ok := c.(*tls.Conn); ok && err == nil {
		return &promptConn{Conn: secure}, nil
	}
	return c, err
}

// promptConn is a TLS connection whose first Read makes the handshake within localHandshake.
type promptConn struct {
	*tls.Conn
	once   sync.Once
	failed error
}

// Read reads decrypted data, after the handshake. A failed handshake makes every Read fail.
func (c *promptConn) Read(p []byte) (int, error) {
	c.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), localHandshake)
		defer cancel()
		c.failed = c.HandshakeContext(ctx)
	})
	if c.failed != nil {
		return 0, c.failed
	}
	return c.Conn.Read(p)
}
