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

// Local has a bridge serve phones on the property's own network, without the service: docs/smartkey.md, section 14.
type Local struct {
	Listener net.Listener // that speaks TLS; closed when Run ends
	Origin   string       // the guest app's, "https://..."; empty: no page in a browser may call
}

const (
	localGreeting     = "/smartkey/v1/greeting"
	localPresentation = "/smartkey/v1/presentation"
	cborType          = "application/cbor"
	localAtOnce       = 16
	localConnections  = 64
	localShare        = 4 // connections of one address
	localHandshake    = 3 * time.Second
	localTimeout      = 15 * time.Second
	localIdle         = 30 * time.Second
	localHeaders      = 8 << 10

	// What one address may ask for: a person at a door needs two calls.
	localPerMinute = 30
	localBurst     = 10
	localAddresses = 4096
)

// serveLocal serves phones until ctx ends.
func (b *Bridge) serveLocal(ctx context.Context, l Local) error {
	s := &http.Server{
		Handler: b.localHandler(l.Origin), ReadHeaderTimeout: localTimeout, ReadTimeout: localTimeout, WriteTimeout: 2 * localTimeout,
		IdleTimeout: localIdle, MaxHeaderBytes: localHeaders, ErrorLog: slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	b.log.Info("phones are served here", "address", l.Listener.Addr().String())
	if err := s.Serve(localConns(l.Listener)); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return err
	}
	return nil
}

// localHandler is the local interface.
func (b *Bridge) localHandler(origin string) http.Handler {
	d := &localDoor{bridge: b, origin: origin, turns: make(chan struct{}, localAtOnce), taken: map[netip.Prefix]*budget{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+localGreeting, d.greeting)
	mux.HandleFunc("POST "+localPresentation, d.presentation)
	mux.HandleFunc("OPTIONS /smartkey/v1/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return d.guarded(mux)
}

type localDoor struct {
	bridge *Bridge
	origin string
	turns  chan struct{}

	mu    sync.Mutex
	taken map[netip.Prefix]*budget
}

// guarded says who may call, and how often.
func (d *localDoor) guarded(next http.Handler) http.Handler {
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
		if !d.allowed(r.RemoteAddr, time.Now()) {
			h.Set("Retry-After", "10")
			http.Error(w, "too many calls from this address", http.StatusTooManyRequests)
			return
		}
		select {
		case d.turns <- struct{}{}:
			defer func() { <-d.turns }()
			next.ServeHTTP(w, r)
		default:
			h.Set("Retry-After", "1")
			http.Error(w, "too many calls at once", http.StatusTooManyRequests)
		}
	})
}

// budget is what is left to somebody.
type budget struct {
	left float64
	at   time.Time
}

// take takes one of what is left, of which there are most at most and which grows by so many in a minute.
func (b *budget) take(now time.Time, most, perMinute float64) bool {
	b.left = min(most, b.left+now.Sub(b.at).Minutes()*perMinute)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// allowed takes one call from an address's budget; of IPv6, from that of its network. Too many addresses share what is left
// to none: those that have not called for a minute make room.
func (d *localDoor) allowed(remote string, now time.Time) bool {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	who := connlimit.Network(ap.Addr())
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.taken[who]
	if b == nil {
		if len(d.taken) >= localAddresses {
			for k, old := range d.taken {
				if now.Sub(old.at) >= time.Minute {
					delete(d.taken, k)
				}
			}
		}
		if len(d.taken) >= localAddresses {
			return false
		}
		b = &budget{left: localBurst, at: now}
		d.taken[who] = b
	}
	return b.take(now, localBurst, localPerMinute)
}

func (d *localDoor) greeting(w http.ResponseWriter, _ *http.Request) {
	g, err := d.bridge.doorkeeper.Greet()
	if err != nil {
		http.Error(w, "no greeting can be given now", http.StatusServiceUnavailable)
		return
	}
	answer(w, g.Encode())
}

func (d *localDoor) presentation(w http.ResponseWriter, r *http.Request) {
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
		http.Error(w, "the body did not come whole", http.StatusBadRequest)
	default:
		answer(w, d.bridge.present(context.WithoutCancel(r.Context()), raw).Encode())
	}
}

func answer(w http.ResponseWriter, raw []byte) {
	w.Header().Set("Content-Type", cborType)
	_, _ = w.Write(raw)
}

// present judges a presentation that a phone hands over itself, and carries out what it asks for. It may not be cut off in
// between: what was begun at a lock is seen to its end.
func (b *Bridge) present(ctx context.Context, raw []byte) smartkey.Answer {
	p, err := smartkey.DecodePresentation(raw)
	if err != nil {
		return smartkey.Answer{Reason: smartkey.ReasonOf(err)}
	}
	var proof smartkey.Proof // where it cannot be read, the token's own fault is told first
	if proof, err = smartkey.ReadProof(p.Proof); err != nil {
		proof = smartkey.Proof{}
	}
	v := b.doorkeeper.Judge(p, proof.Door, proof.Operation)
	if !v.Accepted() {
		b.refusedKey(b.addressOf(proof.Door), v)
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
	outcome, result := b.actor.carryOut(ctx, act{address: address, operation: operationAct, deadline: deadline})
	b.log.Info("a phone at the door", "lock", address, "outcome", outcome, "result", result)
	if outcome != actDone {
		return smartkey.Answer{Reason: smartkey.LockFailed, Detail: "the key is good, and the lock did not follow: " + result}
	}
	b.tellKey(driver.Event{Address: address, Kind: driver.Opened, Reason: smartKeys}, v)
	return smartkey.Answer{Reason: smartkey.OK}
}

// addressOf is the lock of a door of this bridge.
func (b *Bridge) addressOf(door smartkey.Door) string {
	for _, l := range b.locks {
		if b.doorkeeper.Door(l.Address()) == door {
			return l.Address()
		}
	}
	return ""
}

// localConns bounds the connections that are open at once: each address has a share, and a new connection takes the place of
// the oldest that has not called yet, so that nobody who only connects keeps phones out.
func localConns(l net.Listener) net.Listener {
	return connlimit.New(promptListener{l}, connlimit.Config{PerAddress: localShare, Total: localConnections, EvictSilent: true})
}

// promptListener gives the TLS handshake of its connections localHandshake: the server itself would allow localTimeout.
type promptListener struct{ net.Listener }

func (l promptListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if secure, ok := c.(*tls.Conn); ok && err == nil {
		return &promptConn{Conn: secure}, nil
	}
	return c, err
}

type promptConn struct {
	*tls.Conn
	once   sync.Once
	failed error
}

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
