package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/timestamppb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/lock/slot"
)

// ticket is the address and credentials of a simulated bridge. The exported fields are sent between the processes of a benchmark.
type ticket struct {
	Address    string
	Boot       string // Boot is the boot id that the bridge sends in each Hello; it does not change
	ServerName string
	Cert       []byte // Cert is X.509 in DER
	Key        []byte // Key is PKCS #8 in DER
	CA         []byte // CA is X.509 in DER
	Locks      int    // Locks is the number of locks of the bridge

	tls *tls.Config
}

// encodeTLS copies the certificates and the key from the TLS configuration into the exported fields, so that the ticket can be sent to
// another process. ca is the CA that the bridge trusts.
func (t *ticket) encodeTLS(ca *x509.Certificate) (err error) {
	cert := t.tls.Certificates[0]
	t.Cert, t.CA = cert.Certificate[0], ca.Raw
	t.Key, err = x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	return err
}

// decodeTLS makes the TLS configuration of the simulated bridge from the certificate and the key in the ticket. pool contains the CA.
func (t *ticket) decodeTLS(pool *x509.CertPool) error {
	key, err := x509.ParsePKCS8PrivateKey(t.Key)
	if err != nil {
		return fmt.Errorf("the key of a ticket: %w", err)
	}
	t.tls = &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: t.ServerName,
		Certificates: []tls.Certificate{{Certificate: [][]byte{t.Cert}, PrivateKey: key}},
	}
	return nil
}

// simBridge is a simulated bridge with its own connection and little memory. It sends Hello, and reports every unlock command as executed.
// Its owner makes it send heartbeats.
type simBridge struct {
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse]
	stop   context.CancelFunc
	ended  chan struct{} // closed when the stream has ended

	mu    sync.Mutex // mutex for sending
	epoch uint64
}

// connectBridge opens the stream of a bridge and waits for Welcome. ctx limits only this: the bridge then stays connected until close, but
// the caller sends its heartbeats. If the server is stopping, the error wraps a *reconnectLater.
func connectBridge(ctx context.Context, t ticket) (_ *simBridge, err error) {
	r := &simBridge{ended: make(chan struct{})}
	r.conn, err = grpc.NewClient(t.Address, grpc.WithTransportCredentials(credentials.NewTLS(t.tls)),
		grpc.WithReadBufferSize(2<<10), grpc.WithWriteBufferSize(2<<10), grpc.WithIdleTimeout(0))
	if err != nil {
		return nil, err
	}
	long, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	abort := context.AfterFunc(ctx, stop)
	defer abort()
	defer func() {
		if err != nil {
			stop()
			err = errors.Join(err, r.conn.Close())
		}
	}()
	if r.stream, err = lockv1.NewBridgeServiceClient(r.conn).Connect(long); err != nil {
		return nil, err
	}
	if err := r.stream.Send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: t.hello()}}); err != nil {
		return nil, err
	}
	first, err := r.stream.Recv()
	if err != nil {
		return nil, err
	}
	if d := first.GetDrain(); d != nil {
		return nil, &reconnectLater{time.Duration(d.GetReconnectAfterMs()) * time.Millisecond}
	}
	if r.epoch = first.GetWelcome().GetEpoch(); r.epoch == 0 {
		return nil, fmt.Errorf("%s was not welcomed: %v", t.Boot, first)
	}
	go r.answerUnlocks()
	return r, nil
}

// reconnectLater is the error of a stream that the server ended with a request to reconnect after a time.
type reconnectLater struct{ after time.Duration }

// Error implements error.
func (l *reconnectLater) Error() string {
	return fmt.Sprintf("the server asks to connect again after %v", l.after)
}

// hello returns the bridge's first message, with as many empty locks as the ticket has.
func (t ticket) hello() *lockv1.Hello {
	h := &lockv1.Hello{ProtocolVersion: 1, BootId: t.Boot, Software: "latchkey-bench", Clock: timestamppb.Now()}
	nothing := slot.LockDigest(nil)
	for n := range t.Locks {
		h.Locks = append(h.Locks, &lockv1.LockHello{
			Address: fmt.Sprintf("door-%d", n), Digest: nothing[:], Model: "bench",
			Capabilities: &lockv1.LockCapabilities{
				PinMinLength: 4, PinMaxLength: 8, SlotsTotal: 30, PinReadable: string(slot.ReadableNone), ReadBack: true,
				NativeSchedule: string(slot.ScheduleNone), RemoteUnlock: true, CredentialKinds: []string{"pin"}, OperationLifetimeMs: 2000,
			},
			Status: &lockv1.LockStatus{Bolt: "locked", Door: "closed", Online: true},
		})
	}
	return h
}

// answerUnlocks reports every received unlock command as executed, until the stream ends.
func (r *simBridge) answerUnlocks() {
	defer close(r.ended)
	for {
		m, err := r.stream.Recv()
		if err != nil {
			return
		}
		if a := m.GetAct(); a != nil {
			_ = r.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_ActReport{ActReport: &lockv1.ActReport{
				Id: a.GetId(), Outcome: "done", Result: string(slot.OK), OccurredAt: timestamppb.Now(),
			}}})
		}
	}
}

// send sends a message with the session's epoch. It is safe for concurrent use.
func (r *simBridge) send(m *lockv1.ConnectRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.Epoch = r.epoch
	return r.stream.Send(m)
}

func (r *simBridge) sendHeartbeat() error {
	return r.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Heartbeat{Heartbeat: &lockv1.Heartbeat{Clock: timestamppb.Now()}}})
}

// close ends the stream and closes the connection.
func (r *simBridge) close() error {
	r.stop()
	<-r.ended
	return r.conn.Close()
}

// simFleet is many simulated bridges with a common heartbeat loop.
type simFleet struct {
	mu      sync.Mutex
	bridges []*simBridge
	stop    context.CancelFunc
	beats   sync.WaitGroup
}

// heartbeatInterval is the product's interval between heartbeats.
const heartbeatInterval = 15 * time.Second

// newSimFleet returns a fleet without bridges and starts its heartbeats, which end with close.
func newSimFleet() *simFleet {
	ctx, stop := context.WithCancel(context.Background())
	h := &simFleet{stop: stop}
	h.beats.Go(func() { h.sendHeartbeats(ctx) })
	return h
}

// sendHeartbeats sends heartbeats until ctx ends: one for each bridge in every heartbeatInterval, spread over the interval.
func (h *simFleet) sendHeartbeats(ctx context.Context) {
	const steps = 150
	t := time.NewTicker(heartbeatInterval / steps)
	defer t.Stop()
	for step := 0; ; step = (step + 1) % steps {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		h.mu.Lock()
		bridges := h.bridges
		h.mu.Unlock()
		for n := step; n < len(bridges); n += steps {
			_ = bridges[n].sendHeartbeat() // a broken stream makes its unlock commands fail, which is reported
		}
	}
}

// connectAll connects bridges, several at the same time, and adds them to the fleet. After an error, those that connected remain in the
// fleet.
func (h *simFleet) connectAll(ctx context.Context, tickets []ticket) error {
	got := make([]*simBridge, len(tickets))
	err := inParallel(ctx, len(tickets), func(ctx context.Context, n int) (err error) {
		got[n], err = connectBridge(ctx, tickets[n])
		return err
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range got {
		if r != nil {
			h.bridges = append(h.bridges, r)
		}
	}
	return err
}

// close ends the heartbeats and disconnects all bridges. After an error, some can remain connected.
func (h *simFleet) close() (err error) {
	h.stop()
	h.beats.Wait()
	return inParallel(context.Background(), len(h.bridges), func(_ context.Context, n int) error { return h.bridges[n].close() })
}

// maxParallel is the maximum number of concurrent calls of inParallel.
const maxParallel = 32

// inParallel calls do with each number below times, up to maxParallel (32) calls at the same time, and waits for them. The first error, or
// the end of ctx, cancels the context of the others, starts no more calls, and is returned.
func inParallel(ctx context.Context, times int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(maxParallel, times) {
		all.Go(func() {
			for n := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := do(ctx, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	for n := range times {
		next <- n
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}
