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

// ticket is what a simulated bridge connects with. Its exported fields travel between the processes of a benchmark.
type ticket struct {
	Address    string
	Boot       string
	ServerName string
	Cert       []byte // DER
	Key        []byte // PKCS #8
	CA         []byte // DER
	Locks      int

	tls *tls.Config
}

// pack puts the TLS configuration into the fields that travel.
func (t *ticket) pack(ca *x509.Certificate) (err error) {
	cert := t.tls.Certificates[0]
	t.Cert, t.CA = cert.Certificate[0], ca.Raw
	t.Key, err = x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	return err
}

// unpack makes the TLS configuration; pool holds the CA.
func (t *ticket) unpack(pool *x509.CertPool) error {
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

// rider is a simulated bridge: a connection and a stream of its own, the real protocol, and next to no memory. It says
// Hello, beats when it is told to, and reports every act as done.
type rider struct {
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse]
	stop   context.CancelFunc
	ended  chan struct{}

	mu    sync.Mutex // of sending
	epoch uint64
}

// connect opens a rider's stream and waits for Welcome.
func connect(ctx context.Context, t ticket) (_ *rider, err error) {
	r := &rider{ended: make(chan struct{})}
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
		return nil, &later{time.Duration(d.GetReconnectAfterMs()) * time.Millisecond}
	}
	if r.epoch = first.GetWelcome().GetEpoch(); r.epoch == 0 {
		return nil, fmt.Errorf("%s was not welcomed: %v", t.Boot, first)
	}
	go r.ride()
	return r, nil
}

// later is a server's request to connect again after a while.
type later struct{ after time.Duration }

func (l *later) Error() string {
	return fmt.Sprintf("the server asks to connect again after %v", l.after)
}

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

// ride answers until the stream ends.
func (r *rider) ride() {
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

func (r *rider) send(m *lockv1.ConnectRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.Epoch = r.epoch
	return r.stream.Send(m)
}

func (r *rider) beat() error {
	return r.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Heartbeat{Heartbeat: &lockv1.Heartbeat{Clock: timestamppb.Now()}}})
}

func (r *rider) close() error {
	r.stop()
	<-r.ended
	return r.conn.Close()
}

// herd is many riders, with one heartbeat for all.
type herd struct {
	mu     sync.Mutex
	riders []*rider
	stop   context.CancelFunc
	beats  sync.WaitGroup
}

// beatEvery is the product's own interval.
const beatEvery = 15 * time.Second

func newHerd() *herd {
	ctx, stop := context.WithCancel(context.Background())
	h := &herd{stop: stop}
	h.beats.Go(func() { h.beatAll(ctx) })
	return h
}

// beatAll beats each rider every interval, spread over it.
func (h *herd) beatAll(ctx context.Context) {
	const steps = 150
	t := time.NewTicker(beatEvery / steps)
	defer t.Stop()
	for step := 0; ; step = (step + 1) % steps {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		h.mu.Lock()
		riders := h.riders
		h.mu.Unlock()
		for n := step; n < len(riders); n += steps {
			_ = riders[n].beat() // an act on a stream that is gone fails, and that is told
		}
	}
}

// join connects riders, so many at once.
func (h *herd) join(ctx context.Context, tickets []ticket) error {
	got := make([]*rider, len(tickets))
	err := atOnce(ctx, len(tickets), func(ctx context.Context, n int) (err error) {
		got[n], err = connect(ctx, tickets[n])
		return err
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range got {
		if r != nil {
			h.riders = append(h.riders, r)
		}
	}
	return err
}

func (h *herd) close() (err error) {
	h.stop()
	h.beats.Wait()
	return atOnce(context.Background(), len(h.riders), func(_ context.Context, n int) error { return h.riders[n].close() })
}

// parallel is how many set-up calls run at once.
const parallel = 32

// atOnce does something many times, some at once, until one fails.
func atOnce(ctx context.Context, times int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(parallel, times) {
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
