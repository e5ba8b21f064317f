package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/keyring/pinseal"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

const (
	serverName = "bridges.test"
	patience   = 20 * time.Second
)

// service is a fake of the server with real TLS on loopback. It passes every session to the test.
type service struct {
	lockv1.UnimplementedBridgeServiceServer
	lockv1.UnimplementedEnrolmentServiceServer
	t        *testing.T
	ca       *x509.Certificate
	key      *ecdsa.PrivateKey
	life     atomic.Int64 // of the certificates it signs, in nanoseconds
	connect  string       // address of the listener for bridges
	public   string       // address of the listener for enrolment
	sessions chan *talk
	renewals chan struct{}
	enrolled chan []byte // HPKE public keys
	spoil    func(*lockv1.EnrollResponse)
}

// talk is the server's side of one session.
type talk struct {
	t        *testing.T
	hello    *lockv1.Hello
	stream   grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]
	received chan *lockv1.ConnectRequest // closed when the bridge is gone
	end      chan error                  // the error that ends the stream
}

func newService(t *testing.T) *service {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, key: key, sessions: make(chan *talk, 16), renewals: make(chan struct{}, 16), enrolled: make(chan []byte, 1)}
	s.life.Store(int64(24 * time.Hour))
	s.ca = s.certify(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key.Public())
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := s.certify(&x509.Certificate{DNSNames: []string{serverName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, own.Public())
	bridges := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: own}},
	})))
	lockv1.RegisterBridgeServiceServer(bridges, s)
	s.connect = s.serve(bridges)
	open := grpc.NewServer()
	lockv1.RegisterEnrolmentServiceServer(open, s)
	s.public = s.serve(open)
	return s
}

func (s *service) serve(g *grpc.Server) string {
	lis, err := new(net.ListenConfig).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = g.Serve(lis) }()
	s.t.Cleanup(g.Stop)
	return lis.Addr().String()
}

func (s *service) certify(template *x509.Certificate, public any) *x509.Certificate {
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: "test"}
	life := time.Duration(s.life.Load())
	template.NotBefore, template.NotAfter = time.Now().Add(-24*time.Hour), time.Now().Add(life)
	parent := s.ca
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, s.key)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Error(err)
	}
	return cert
}

func (s *service) joinCode() string {
	sum := sha256.Sum256(s.ca.Raw)
	return "lkj_secret." + base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *service) sign(request []byte) ([]byte, error) {
	csr, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, err
	}
	return s.certify(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, csr.PublicKey).Raw, nil
}

func (s *service) Enroll(_ context.Context, r *lockv1.EnrollRequest) (*lockv1.EnrollResponse, error) {
	der, err := s.sign(r.GetCertificateRequest())
	if err != nil {
		return nil, err
	}
	if r.GetJoinCode() != s.joinCode() {
		return nil, status.Error(codes.Unauthenticated, "no such join code")
	}
	out := &lockv1.EnrollResponse{BridgeId: "brg_1", PropertyId: "prp_1", Certificate: der, CaCertificate: s.ca.Raw, ConnectAddress: s.connect, ServerName: serverName}
	if s.spoil != nil {
		s.spoil(out)
	}
	s.enrolled <- r.GetHpkePublicKey()
	return out, nil
}

func (s *service) RenewCertificate(_ context.Context, r *lockv1.RenewCertificateRequest) (*lockv1.RenewCertificateResponse, error) {
	der, err := s.sign(r.GetCertificateRequest())
	if err != nil {
		return nil, err
	}
	s.renewals <- struct{}{}
	return &lockv1.RenewCertificateResponse{Certificate: der}, nil
}

func (s *service) Connect(stream grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	k := &talk{t: s.t, hello: first.GetHello(), stream: stream, received: make(chan *lockv1.ConnectRequest, 1024), end: make(chan error, 1)}
	go func() {
		defer close(k.received)
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			k.received <- m
		}
	}()
	s.sessions <- k
	select {
	case err := <-k.end:
		return err
	case <-stream.Context().Done():
		return nil
	}
}

// next is the next session of the bridge.
func (s *service) next() *talk {
	s.t.Helper()
	select {
	case k := <-s.sessions:
		return k
	case <-time.After(patience):
		s.t.Fatal("the bridge did not connect")
	}
	return nil
}

func (k *talk) send(epoch uint64, m *lockv1.ConnectResponse) {
	k.t.Helper()
	m.Epoch = epoch
	if err := k.stream.Send(m); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talk) welcome(epoch, stored uint64) {
	k.t.Helper()
	k.send(epoch, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{
		Epoch: epoch, ServerTime: timestamppb.Now(), HeartbeatSeconds: 15, EventAck: &lockv1.EventAck{Sequence: stored}}}})
}

func (k *talk) snapshot(epoch uint64, address string, slots ...*lockv1.DesiredSlot) {
	k.t.Helper()
	k.send(epoch, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockSnapshot{LockSnapshot: &lockv1.LockSnapshot{Address: address, Slots: slots}}})
}

// until returns the first message from the bridge that pick accepts.
func until[T any](k *talk, pick func(*lockv1.ConnectRequest) (T, bool)) T {
	k.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m, ok := <-k.received:
			if !ok {
				k.t.Fatal("the bridge left")
			}
			if v, ok := pick(m); ok {
				return v
			}
		case <-deadline:
			k.t.Fatal("the bridge did not say what was waited for")
		}
	}
}

// observedAs waits until a slot is reported with some evidence.
func (k *talk) observedAs(number uint32, generation uint64, evidence string) *lockv1.ObservedSlot {
	k.t.Helper()
	return until(k, func(m *lockv1.ConnectRequest) (*lockv1.ObservedSlot, bool) {
		for _, o := range m.GetSlotReport().GetSlots() {
			if o.GetSlot() == number && o.GetGeneration() == generation && o.GetEvidence() == evidence {
				return o, true
			}
		}
		return nil, false
	})
}

func (k *talk) gone() {
	k.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case _, ok := <-k.received:
			if !ok {
				return
			}
		case <-deadline:
			k.t.Fatal("the bridge did not leave")
		}
	}
}

// rig is an enrolled bridge with simulated locks, linked to a played service.
type rig struct {
	t       *testing.T
	service *service
	locks   *sim.Site
	dir     string
	hpke    []byte
	pace    linkTimings
	bridge  *Bridge
	stop    func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := enrolledRig(t, newService(t))
	r.start()
	return r
}

// enrolledRig has yet to be started.
func enrolledRig(t *testing.T, s *service) *rig {
	t.Helper()
	spec := sim.Spec{Address: "front", Profile: sim.ZWave, Lifetime: 20 * time.Millisecond}
	locks, err := sim.NewSite(sim.Config{Locks: []sim.Spec{spec}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, service: s, locks: locks, dir: filepath.Join(t.TempDir(), "bridge"), stop: func() {}}
	r.pace = linkTimings{firstRetry: time.Millisecond, maxRetry: 20 * time.Millisecond, revokedRetry: 40 * time.Millisecond, healthy: time.Minute, silence: defaultTimings.silence}
	if _, err := Enroll(t.Context(), Enrolment{Dir: r.dir, Address: s.public, JoinCode: s.joinCode(), Plaintext: true}); err != nil {
		t.Fatal(err)
	}
	r.hpke = <-s.enrolled
	t.Cleanup(func() { r.stop(); _ = locks.Close() })
	return r
}

func (r *rig) start() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b, err := New(ctx, Config{Dir: r.dir, Driver: r.locks.Driver(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Software: "test/1"})
	if err != nil {
		r.t.Fatal(err)
	}
	b.timings = r.pace
	r.bridge = b
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, b.Close()); err != nil {
			r.t.Error(err)
		}
	})
}

// desired seals a PIN for a slot, for an hour from now; an empty PIN asks for absence.
func (r *rig) desired(address string, number uint32, generation uint64, pin string) *lockv1.DesiredSlot {
	r.t.Helper()
	d := &lockv1.DesiredSlot{Slot: number, Generation: generation}
	if pin == "" {
		return d
	}
	sealer, err := pinseal.NewSealer(r.hpke)
	if err != nil {
		r.t.Fatal(err)
	}
	sealed, err := sealer.Seal(pinseal.Target{Address: address, Slot: int(number), Generation: int64(generation)}, pin)
	if err != nil {
		r.t.Fatal(err)
	}
	d.Present, d.SealedPin = true, sealed
	d.NotBefore, d.NotAfter = timestamppb.New(time.Now().Add(-time.Hour)), timestamppb.New(time.Now().Add(time.Hour))
	return d
}
