package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Fleet measures the memory and the unlock time of a server with many bridges.
type Fleet struct {
	Bridges  int
	Commands int // Commands is the number of unlock commands in each round
	Rounds   int
}

// warmUpBridges connect before memory is measured, so that one-time allocations do not count.
const warmUpBridges = 50

// fleet is a server with simulated bridges. The server is the product's or the bareServer.
type fleet struct {
	*part
	simFleet           *simFleet
	unlock             func(context.Context) error // sends an unlock command to a random bridge or lock
	conn               *grpc.ClientConn
	kilobytesPerStream float64   // resident memory of the server per stream, in units of 1000 bytes
	took               []float64 // duration of each unlock command in milliseconds
	p99                []float64 // p99 of each round, in milliseconds
}

// Run measures the server's memory per idle bridge, and the round trip of an unlock command while all bridges are connected.
func (b Fleet) Run(ctx context.Context, l Launch) (_ *Result, err error) {
	if b.Bridges <= warmUpBridges || b.Commands < 1 || b.Rounds < 1 {
		return nil, fmt.Errorf("fleet: want more than %d bridges, and at least one unlock command and one round", warmUpBridges)
	}
	if err := checkOpenFileLimit(b.Bridges); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	commit, err := newCommits(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, commit.close()) }()
	baseline, err := b.startBaseline(ctx, l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, baseline.close()) }()
	product, err := b.startProduct(ctx, l, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, product.close()) }()
	var commits []float64
	for n := range b.Rounds + 1 {
		for _, f := range []*fleet{baseline, product} {
			if err := f.measure(ctx, b.Commands, n > 0); err != nil {
				return nil, err
			}
		}
		c, err := commit.measure(ctx, b.Commands)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			commits = append(commits, quantile(c.parts["server"], 0.99))
		}
	}
	return b.result(baseline, product, median(commits)), nil
}

// result summarizes what was measured. commit is the p99 of a durable commit in milliseconds, as the median of the rounds.
func (b Fleet) result(baseline, product *fleet, commit float64) *Result {
	r := &Result{Name: "fleet", Unit: "kB/bridge", Rounds: b.Rounds, Value: product.kilobytesPerStream, Baseline: baseline.kilobytesPerStream}
	r.P50, r.P99 = quantile(product.took, 0.5), median(product.p99)
	r.BaselineP50, r.BaselineP99 = quantile(baseline.took, 0.5), median(baseline.p99)
	r.note("bridges", float64(b.Bridges), "")
	r.note("p99 of a durable commit", commit, "ms")
	r.atMost("memory, times the floor", r.Value/r.Baseline, 1.6)
	r.atMost("p99 of an unlock command, ms: 3 times the floor and a commit", r.P99, 3*r.BaselineP99+commit)
	return r.finish()
}

// connectBridges connects the bridges, which stay connected, and stores the server's memory per bridge in kilobytesPerStream. It does not
// count the first warmUpBridges, so there must be more. It takes at least two heartbeat intervals.
func (f *fleet) connectBridges(ctx context.Context, tickets []ticket) error {
	f.simFleet = newSimFleet()
	if err := f.simFleet.connectAll(ctx, tickets[:warmUpBridges]); err != nil {
		return err
	}
	before, err := f.residentMemory(ctx)
	if err != nil {
		return err
	}
	if err := f.simFleet.connectAll(ctx, tickets[warmUpBridges:]); err != nil {
		return err
	}
	after, err := f.residentMemory(ctx)
	f.kilobytesPerStream = float64(after-before) / 1000 / float64(len(tickets)-warmUpBridges)
	return err
}

// residentMemory returns the server's resident memory in bytes. Before that it waits for a heartbeat on every stream and lets the server
// collect garbage.
func (f *fleet) residentMemory(ctx context.Context) (int64, error) {
	select {
	case <-time.After(heartbeatInterval + time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err := f.call(ctx, "FreeMemory", None{}, &None{}); err != nil {
		return 0, err
	}
	var u Use
	err := f.call(ctx, "Usage", None{}, &u)
	return u.Resident, err
}

// measure sends unlock commands one after the other, and stops at the first that fails. It records their times if keep is set; keep is
// false for a warm-up.
func (f *fleet) measure(ctx context.Context, commands int, keep bool) error {
	var took []float64
	for range commands {
		began := time.Now()
		if err := f.unlock(ctx); err != nil {
			return err
		}
		took = append(took, milliseconds(time.Since(began)))
	}
	if keep {
		f.took = append(f.took, took...)
		f.p99 = append(f.p99, quantile(took, 0.99))
	}
	return nil
}

// close disconnects the bridges and stops the server. It returns only an error of the server.
func (f *fleet) close() error {
	if f.simFleet != nil {
		_ = f.simFleet.close() // broken streams have already made their calls fail
	}
	if f.conn != nil {
		_ = f.conn.Close()
	}
	return f.part.stop()
}

// dial returns a gRPC client for a server on loopback without TLS.
func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// startBaseline starts a bareServer in its own process, and connects its bridges. The caller closes the fleet.
func (b Fleet) startBaseline(ctx context.Context, l Launch) (_ *fleet, err error) {
	f := &fleet{}
	if f.part, err = l.start(ctx, "bare"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	var at Bare
	if err := f.call(ctx, "Start", b.Bridges, &at); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for i := range at.Tickets {
		t := &at.Tickets[i]
		if i == 0 {
			ca, err := x509.ParseCertificate(t.CA)
			if err != nil {
				return nil, err
			}
			pool.AddCert(ca)
		}
		if err := t.decodeTLS(pool); err != nil {
			return nil, err
		}
	}
	if f.conn, err = dial(at.Front); err != nil {
		return nil, err
	}
	f.unlock = func(ctx context.Context) error {
		boot := wrapperspb.String(at.Tickets[mathrand.IntN(len(at.Tickets))].Boot)
		return f.conn.Invoke(ctx, unlockMethod, boot, &wrapperspb.StringValue{})
	}
	return f, f.connectBridges(ctx, at.Tickets)
}

// startProduct creates a property with enrolled bridges in the new directory dir/fleet, starts a product server on it, and connects the
// bridges. It enrols them on an earlier server process, which it stops, so that the memory for enrolment does not count. The caller closes
// the fleet.
func (b Fleet) startProduct(ctx context.Context, l Launch, dir string) (_ *fleet, err error) {
	dir = filepath.Join(dir, "fleet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	o := &owner{}
	if err := o.setUp(ctx, l, dir, b.Bridges); err != nil {
		return nil, err
	}
	f := &fleet{}
	if f.part, err = l.start(ctx, "server"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	var at Addresses
	if err := f.call(ctx, "Start", dir, &at); err != nil {
		return nil, err
	}
	for i := range o.tickets {
		o.tickets[i].Address = at.Bridge
	}
	if f.conn, err = dial(at.GRPC); err != nil {
		return nil, err
	}
	locks := propertyv1.NewLockServiceClient(f.conn)
	f.unlock = func(ctx context.Context) error {
		a, err := locks.UnlockLock(o.withToken(ctx), &propertyv1.UnlockLockRequest{Id: o.locks[mathrand.IntN(len(o.locks))]})
		if err == nil && a.GetData().GetResult() != "opened" {
			err = fmt.Errorf("an unlock command ended %q", a.GetData().GetResult())
		}
		return err
	}
	return f, f.connectBridges(ctx, o.tickets)
}

// owner is the owner of the benchmark's property: the staff token, and the bridges and locks that belong to it.
type owner struct {
	token   string
	tickets []ticket
	locks   []string // ids of the locks
}

// withToken returns a context for gRPC calls with the owner's token.
func (o *owner) withToken(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+o.token)
}

// setUp starts a server on the data in dir, creates a property with enrolled bridges, and stops the server: see setUpOn. The addresses in
// the tickets are then out of date.
func (o *owner) setUp(ctx context.Context, l Launch, dir string, bridges int) (err error) {
	p, err := l.start(ctx, "server")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var at Addresses
	if err := p.call(ctx, "Start", dir, &at); err != nil {
		return err
	}
	return o.setUpOn(ctx, at, bridges)
}

// setUpOn creates a property with enrolled bridges on a running server through the public API, and keeps the token, the tickets and the ids
// of the locks in o. The bridges have zero, one or two locks in turn. Each bridge connects once, so that the server stores its locks, and
// disconnects.
func (o *owner) setUpOn(ctx context.Context, at Addresses, bridges int) (err error) {
	if err := o.createProperty(ctx, at.Socket); err != nil {
		return err
	}
	conn, err := dial(at.GRPC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := o.enrolBridges(ctx, conn, bridges); err != nil {
		return err
	}
	h := newSimFleet()
	for i := range o.tickets {
		o.tickets[i].Address = at.Bridge
	}
	err = h.connectAll(ctx, o.tickets)
	if err == nil {
		err = o.listLocks(ctx, conn)
	}
	_ = h.close()
	return err
}

// createProperty creates a property over the operators' socket, and keeps a staff token of its owner in o. The token is valid for a day.
func (o *owner) createProperty(ctx context.Context, socket string) error {
	admin, err := dial("unix:" + socket)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	name, zone := "Fleet", "Europe/Lisbon"
	made, err := adminv1.NewPropertyServiceClient(admin).CreateProperty(ctx, &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	if err != nil {
		return err
	}
	t, err := adminv1.NewTokenServiceClient(admin).CreateStaffToken(ctx, &adminv1.CreateStaffTokenRequest{
		PropertyId: made.GetData().GetId(), Name: "bench", Role: "owner", TtlMinutes: 24 * 60,
	})
	o.token = t.GetToken()
	return err
}

// enrolBridges enrols a number of bridges and keeps their credentials in o, in tickets that have no Address yet. All use one private key,
// because only the server is measured.
func (o *owner) enrolBridges(ctx context.Context, conn *grpc.ClientConn, bridges int) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	seal := make([]byte, 32)
	_, _ = rand.Read(seal)
	o.tickets = make([]ticket, bridges)
	err = inParallel(ctx, bridges, func(ctx context.Context, n int) error {
		b, err := propertyv1.NewBridgeServiceClient(conn).CreateBridge(o.withToken(ctx), &propertyv1.CreateBridgeRequest{Name: fmt.Sprintf("Bridge %d", n)})
		if err != nil {
			return err
		}
		e, err := lockv1.NewEnrolmentServiceClient(conn).Enroll(ctx, &lockv1.EnrollRequest{
			JoinCode: b.GetJoinCode(), CertificateRequest: request, HpkePublicKey: seal, Software: "latchkey-bench",
		})
		o.tickets[n] = ticket{
			Boot: fmt.Sprintf("boot-%d", n), ServerName: e.GetServerName(), Cert: e.GetCertificate(), Key: private, CA: e.GetCaCertificate(), Locks: n % 3,
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("enrol a bridge: %w", err)
	}
	ca, err := x509.ParseCertificate(o.tickets[0].CA)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	for i := range o.tickets {
		if err := o.tickets[i].decodeTLS(pool); err != nil {
			return err
		}
	}
	return nil
}

// listLocks loads the ids of all locks into o.
func (o *owner) listLocks(ctx context.Context, conn *grpc.ClientConn) error {
	page := ""
	for {
		l, err := propertyv1.NewLockServiceClient(conn).ListLocks(o.withToken(ctx), &propertyv1.ListLocksRequest{PageSize: 200, PageToken: page})
		if err != nil {
			return fmt.Errorf("list the locks: %w", err)
		}
		for _, lk := range l.GetData().GetList() {
			o.locks = append(o.locks, lk.GetId())
		}
		if page = l.GetData().GetNextPageToken(); page == "" {
			return nil
		}
	}
}
