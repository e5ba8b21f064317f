// Package bus carries wake-ups ("look into the database") between the parts and nodes of an installation, and requests to the node to which
// a bridge is connected. It uses NATS: embedded in the process without a socket, or a cluster by URL, with the same behaviour. Messages are
// hints: they have no authority, contain no PIN, token or personal data, and may get lost.
package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/text"
)

const (
	// MaxPayload bounds a message, in bytes.
	MaxPayload = 64 << 10

	maxSubject     = 256
	maxPending     = 64 << 10 // pending messages of one subscription; further ones are dropped
	maxPendingSize = 16 << 20 // total size of the pending messages of one subscription, in bytes; further ones are dropped
	maxResponding  = 512      // requests that one subscription answers concurrently; further ones are refused
	requestTimeout = 10 * time.Second
	reconnectWait  = 200 * time.Millisecond
	errorHeader    = "Latchkey-Error"

	// The client drops a server that hangs after pingsUnanswered+1 pings: at most 9 s.
	pingInterval    = 3 * time.Second
	pingsUnanswered = 2
)

// Config selects a bus.
type Config struct {
	URL         string // nats://, tls:// or ws:// addresses, separated by commas; empty: the embedded server
	Credentials string // file with user JWT and seed; empty: none
	CAFile      string // file with the certificates to trust instead of the system's; empty: the system's
	CertFile    string // file of the client certificate, whose key is in KeyFile; empty: none
	KeyFile     string
	Name        string // of this node, shown in NATS tools
	Logger      *slog.Logger
	Metrics     prometheus.Registerer // nil: the metrics are not exported
	// PingInterval is the time between pings of the server. Tests use a shorter one; zero: 3 s.
	PingInterval time.Duration
}

// Message is a message that a subscriber receives.
type Message struct {
	Subject string
	Payload []byte
}

// ErrNoResponder means that no node answers requests on the subject.
var ErrNoResponder = errors.New("bus: no responder")

// ErrNotConnected means that a request was not sent because no server is connected.
var ErrNotConnected = errors.New("bus: not connected to a server")

// RemoteError is the error that a responder returned.
type RemoteError struct{ Text string }

func (e *RemoteError) Error() string { return "bus: responder: " + e.Text }

// Bus is an open connection. It is safe for concurrent use.
type Bus struct {
	conn     *nats.Conn
	embedded *server.Server
	log      *slog.Logger
	closed   chan struct{} // closes when the connection has ended
	metrics  *metrics

	mu        sync.Mutex
	onConnect []func()

	ctx       context.Context // passed to responders; ends with Close
	cancel    context.CancelFunc
	answering sync.WaitGroup
}

// Open connects to the cluster, or starts the embedded server. It succeeds even if the cluster cannot be reached: the client retries until
// it can, see [Bus.Connected]. It fails if cfg cannot be used. ctx only limits each attempt to connect, by its deadline; its cancellation
// has no effect.
func Open(ctx context.Context, cfg Config) (*Bus, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Bus{log: cfg.Logger, closed: make(chan struct{})}
	b.metrics = newMetrics(cfg.Metrics, b.Connected)
	opts, err := b.options(cfg)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(time.Until(deadline)))
	}
	// This attempt has no retry, because a client that retries by itself does not report why its first attempt failed.
	if b.conn, err = nats.Connect(cfg.URL, opts...); err != nil && b.embedded == nil {
		cause := err
		if b.conn, err = nats.Connect(cfg.URL, append(opts, nats.RetryOnFailedConnect(true))...); err == nil {
			b.log.Warn("no NATS server accepts this node: starting without one, and retrying", "url", redact(cfg.URL), "error", cause)
		}
	}
	if err != nil {
		if b.embedded != nil {
			stop(b.embedded)
		}
		return nil, fmt.Errorf("bus: connect: %w", err)
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

// redact removes credentials from the servers' URLs, for logs.
func redact(urls string) string {
	all := strings.Split(urls, ",")
	for i, raw := range all {
		all[i] = "(unreadable URL)"
		if u, err := url.Parse(strings.TrimSpace(raw)); err == nil {
			u.User = nil // a user name without a password may be a token
			all[i] = u.String()
		}
	}
	return strings.Join(all, ",")
}

// options returns the options of the connection. Without a URL it also starts the embedded server and sets b.embedded.
func (b *Bus) options(cfg Config) ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, time.Second),
		nats.ReconnectBufSize(1 << 20), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(cmp.Or(cfg.PingInterval, pingInterval)), nats.MaxPingsOutstanding(pingsUnanswered),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { b.logError(sub, err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("bus disconnected", "error", err)
			}
		}),
		nats.ConnectHandler(func(*nats.Conn) { b.onConnected() }), // called once, for the first connection
		nats.ReconnectHandler(func(*nats.Conn) {
			b.metrics.reconnects.Inc()
			b.onConnected()
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
	if cfg.URL == "" {
		s, err := startEmbedded()
		if err != nil {
			return nil, err
		}
		b.embedded = s
		return append(opts, nats.InProcessServer(s)), nil
	}
	if cfg.Credentials != "" {
		opts = append(opts, nats.UserCredentials(cfg.Credentials))
	}
	if cfg.CAFile != "" {
		opts = append(opts, nats.RootCAs(cfg.CAFile))
	}
	if cfg.CertFile != "" {
		opts = append(opts, nats.ClientCert(cfg.CertFile, cfg.KeyFile))
	}
	return opts, nil
}

// onConnected calls the functions of OnConnect. The NATS client calls it after each connect and reconnect, on a goroutine of its own.
func (b *Bus) onConnected() {
	if b.embedded == nil {
		b.log.Info("bus connected")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.onConnect {
		f()
	}
}

// OnConnect registers f, which is called after each later connect and reconnect. By then, messages of other nodes may have been lost. f may
// also be called once for the connection that [Open] made, if it is registered soon after. f must not block or call OnConnect or Close.
func (b *Bus) OnConnect(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onConnect = append(b.onConnect, f)
}

// startEmbedded starts a NATS server in this process that listens on no port.
func startEmbedded() (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "embedded", DontListen: true, NoSigs: true, NoLog: true, MaxPayload: MaxPayload,
	})
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		stop(s)
		return nil, errors.New("bus: the embedded server did not start")
	}
	return s, nil
}

// stop stops the embedded server and waits for its end.
func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// logError logs an asynchronous error of the NATS client, such as dropped messages. sub may be nil.
func (b *Bus) logError(sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	b.log.Warn("bus: messages dropped or refused", "subject", subject, "error", err)
}

// Publish sends a message to the current subscribers, without waiting: nil does not mean that it arrived. While no server is connected, it
// buffers up to 1 MiB and then fails. It refuses a payload over MaxPayload, and a subject with a wildcard, a blank or an empty part.
func (b *Bus) Publish(subject string, payload []byte) error {
	if err := checkMessage(subject, payload); err != nil {
		return err
	}
	return b.conn.Publish(subject, payload)
}

// Subscribe calls f for each message, also of this node, one after the other, until the returned stop is called, which does not wait for a
// running f. f must not block: while it does, messages beyond a limit are dropped. A subject may end in ".>" or have "*" as a part.
func (b *Bus) Subscribe(subject string, f func(Message)) (stop func(), err error) {
	return b.subscribe(subject, func(m *nats.Msg) { f(Message{m.Subject, m.Data}) })
}

// Respond answers each request on the subject with f, up to maxResponding (512) concurrently, until the returned stop is called. Further
// requests get a [RemoteError] at once. f's ctx ends when the bus is closed, and Close waits for f. f's error reaches the requester as a
// RemoteError, so it must not contain secrets. If several nodes respond on a subject, each runs f and the first answer counts.
func (b *Bus) Respond(subject string, f func(ctx context.Context, m Message) ([]byte, error)) (stop func(), err error) {
	slots := make(chan struct{}, maxResponding)
	return b.subscribe(subject, func(m *nats.Msg) {
		select {
		case slots <- struct{}{}:
		default:
			b.reply(m, nil, errors.New("too many requests at once"))
			return
		}
		ok := b.goAnswer(func() {
			defer func() { <-slots }()
			payload, err := f(b.ctx, Message{m.Subject, m.Data})
			b.reply(m, payload, err)
		})
		if !ok {
			<-slots
			b.reply(m, nil, errors.New("the responder is shutting down"))
		}
	})
}

// goAnswer runs f in a goroutine for which Close waits. It returns false, without running f, once Close has begun.
func (b *Bus) goAnswer(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.answering.Go(f)
	return true
}

// reply sends the answer to a request: payload, or err as a header, from which the requester makes a [RemoteError]. It does nothing for a
// message that asks for no reply. A payload over MaxPayload becomes an error.
func (b *Bus) reply(to *nats.Msg, payload []byte, err error) {
	if to.Reply == "" {
		return
	}
	answer := nats.NewMsg(to.Reply)
	if err == nil && len(payload) > MaxPayload {
		err = errors.New("answer too large")
	}
	if err != nil {
		answer.Header.Set(errorHeader, headerSafe(err.Error()))
	} else {
		answer.Data = payload
	}
	if err := b.conn.PublishMsg(answer); err != nil {
		b.log.Warn("bus: answer not sent", "subject", to.Subject, "error", err)
	}
}

// headerSafe makes a text valid in a message header: without control characters and at most 1024 bytes.
func headerSafe(s string) string {
	return text.Truncate(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s), 1024)
}

// subscribe calls f for each message on the subject until the returned function is called. Once subscribe returns, no message is missed,
// unless no server is connected.
func (b *Bus) subscribe(subject string, f nats.MsgHandler) (func(), error) {
	sub, err := b.conn.Subscribe(subject, f)
	if err != nil {
		return nil, fmt.Errorf("bus: subscribe %q: %w", subject, err)
	}
	if err := sub.SetPendingLimits(maxPending, maxPendingSize); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	// After the flush the server has the subscription, so no later message is missed. Without a server, the client subscribes
	// when it connects.
	if b.Connected() {
		if err := b.conn.FlushTimeout(requestTimeout); err != nil && b.Connected() {
			return nil, errors.Join(err, sub.Unsubscribe())
		}
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// Request sends a request to the responder on the subject and waits for its answer until ctx ends, at most 10 s. It refuses what
// [Bus.Publish] refuses, and returns [ErrNoResponder] and [ErrNotConnected] at once; then nothing ran the request. The responder's own
// error is a [RemoteError]. After any other error, such as a timeout, the responder may have run the request.
func (b *Bus) Request(ctx context.Context, subject string, payload []byte) ([]byte, error) {
	if err := checkMessage(subject, payload); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := b.request(ctx, subject, payload)
	b.metrics.observeRequest(began, err)
	return answer, err
}

// request is Request without the checks and the metrics.
func (b *Bus) request(ctx context.Context, subject string, payload []byte) ([]byte, error) {
	if !b.Connected() { // the client would buffer the request
		return nil, ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := b.conn.RequestWithContext(ctx, subject, payload)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("%w on %s", ErrNoResponder, subject)
	}
	if err != nil {
		return nil, fmt.Errorf("bus: request %s: %w", subject, err)
	}
	if text := answer.Header.Get(errorHeader); text != "" {
		return nil, &RemoteError{text}
	}
	return answer.Data, nil
}

// checkMessage refuses messages that are too large, and subjects that are empty, too long, or have a wildcard, a blank or an empty part, as
// from an empty id. It cannot see that an id contains a dot.
func checkMessage(subject string, payload []byte) error {
	if subject == "" || len(subject) > maxSubject || strings.ContainsAny(subject, " \t\r\n*>") ||
		strings.HasPrefix(subject, ".") || strings.HasSuffix(subject, ".") || strings.Contains(subject, "..") {
		return fmt.Errorf("bus: bad subject %q", subject)
	}
	if len(payload) > MaxPayload {
		return fmt.Errorf("bus: the message on %[2]s has %[1]d bytes; at most %[3]d are allowed", len(payload), subject, MaxPayload)
	}
	return nil
}

// Connected reports whether a server is connected.
func (b *Bus) Connected() bool { return b.conn.IsConnected() }

// Close cancels the contexts of responders, waits for them, sends their answers and other pending messages, and closes the connection. It
// also stops the embedded server. The error is always nil.
func (b *Bus) Close() error {
	b.mu.Lock() // so that no responder starts during the wait
	b.cancel()
	b.mu.Unlock()
	b.answering.Wait()
	if err := b.conn.Drain(); err != nil {
		b.conn.Close() // Drain fails if not connected: there is nothing to wait for
	}
	<-b.closed
	if b.embedded != nil {
		stop(b.embedded)
	}
	return nil
}

// Signal sends to the channel c, which must have a buffer of one. It never blocks, so handlers may call it. It drops the signal if one is
// pending already.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
