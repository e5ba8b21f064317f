package simulation

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
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock/slot"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

const serverName = "bridges.test"

// service plays the service for one real bridge, in memory: its slots are moved by the functions that
// the real one runs. Its network can be cut.
type service struct {
	lockv1.UnimplementedBridgeServiceServer
	lockv1.UnimplementedEnrolmentServiceServer
	t          *testing.T
	ca         *x509.Certificate
	key        *ecdsa.PrivateKey
	hpke       []byte
	lis, doors *bufconn.Listener

	mu     sync.Mutex
	cut    bool
	wires  []net.Conn
	slots  map[string]map[uint32]*slot.ServerSlot
	epoch  uint64
	live   grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]
	events []*lockv1.Event
	forget bool // the next acknowledgement of events is lost with the session, and so is that of Welcome
	silent bool // so Welcome does
	twice  int  // events that came again
	acts   map[string]string
}

func newService(t *testing.T) *service {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, key: key, lis: bufconn.Listen(1 << 16), doors: bufconn.Listen(1 << 16),
		slots: map[string]map[uint32]*slot.ServerSlot{}, acts: map[string]string{}}
	s.ca = s.certify(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key.Public())
	cert := s.certify(&x509.Certificate{DNSNames: []string{serverName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, key.Public())
	bridges := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
	})))
	lockv1.RegisterBridgeServiceServer(bridges, s)
	open := grpc.NewServer()
	lockv1.RegisterEnrolmentServiceServer(open, s)
	go func() { _ = bridges.Serve(s.lis) }()
	go func() { _ = open.Serve(s.doors) }()
	t.Cleanup(func() { bridges.Stop(); open.Stop() })
	return s
}

func (s *service) certify(template *x509.Certificate, public any) *x509.Certificate {
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(1000*time.Hour)
	parent := s.ca
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	return cert
}

func (s *service) joinCode() string {
	sum := sha256.Sum256(s.ca.Raw)
	return "lkj_secret." + base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *service) Enroll(_ context.Context, r *lockv1.EnrollRequest) (*lockv1.EnrollResponse, error) {
	csr, err := x509.ParseCertificateRequest(r.GetCertificateRequest())
	if err != nil {
		return nil, err
	}
	cert := s.certify(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, csr.PublicKey)
	s.hpke = r.GetHpkePublicKey()
	return &lockv1.EnrollResponse{BridgeId: "brg_1", PropertyId: "prp_1", Certificate: cert.Raw, CaCertificate: s.ca.Raw,
		ConnectAddress: "passthrough:///bridges", ServerName: serverName}, nil
}

var errCut = errors.New("the network is cut")

// dial is the bridge's way to the service.
func (s *service) dial(ctx context.Context, _ string) (net.Conn, error) {
	s.mu.Lock()
	down := s.cut
	s.mu.Unlock()
	if down { // packets vanish
		<-ctx.Done()
		return nil, errCut
	}
	c, err := s.lis.DialContext(ctx)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wires = append(s.wires, c)
	}
	return c, err
}

// setCut takes the network away, or brings it back.
func (s *service) setCut(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
	if cut {
		for _, c := range s.wires {
			_ = c.Close()
		}
		s.wires, s.live = nil, nil
	}
}

// Connect is one session.
func (s *service) Connect(stream grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	epoch, err := s.begin(stream, first.GetHello())
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.GetEpoch() == epoch {
			if err := s.take(m); err != nil {
				return err
			}
		}
	}
}

func (s *service) begin(stream grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse], h *lockv1.Hello) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.live = stream
	welcome := &lockv1.Welcome{Epoch: s.epoch, ServerTime: timestamppb.Now(), HeartbeatSeconds: 15}
	if !s.silent {
		welcome.EventAck = &lockv1.EventAck{Sequence: uint64(len(s.events))}
	}
	s.silent = false
	if err := s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: welcome}}); err != nil {
		return 0, err
	}
	for _, l := range h.GetLocks() {
		var rows []slot.DigestRow
		for n, srv := range s.slots[l.GetAddress()] {
			rows = append(rows, srv.DigestRow(n))
		}
		if digest := slot.LockDigest(rows); string(digest[:]) == string(l.GetDigest()) {
			continue
		}
		snapshot := &lockv1.LockSnapshot{Address: l.GetAddress()}
		for n := range s.slots[l.GetAddress()] {
			snapshot.Slots = append(snapshot.Slots, s.desired(l.GetAddress(), n))
		}
		if err := s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockSnapshot{LockSnapshot: snapshot}}); err != nil {
			return 0, err
		}
	}
	return s.epoch, nil
}

// say needs s.mu.
func (s *service) say(m *lockv1.ConnectResponse) error {
	if s.live == nil {
		return nil
	}
	m.Epoch = s.epoch
	return s.live.Send(m)
}

// desired needs s.mu.
func (s *service) desired(address string, n uint32) *lockv1.DesiredSlot {
	var d slot.Desired
	*s.slots[address][n], d = slot.MarkSent(*s.slots[address][n], "brg_1/1")
	out := &lockv1.DesiredSlot{Slot: n, Generation: d.Generation, Present: d.Intent == slot.Present, Claimed: d.MayHoldOwn}
	if !out.Present {
		return out
	}
	sealer, err := pinseal.NewSealer(s.hpke)
	if err != nil {
		s.t.Fatal(err)
	}
	sealed, err := sealer.Seal(pinseal.Target{Address: address, Slot: int(n), Generation: int64(d.Generation)}, string(d.PIN))
	if err != nil {
		s.t.Error(err)
	}
	for _, w := range d.LaterWindows.All() {
		out.Later = append(out.Later, &lockv1.SlotWindow{NotBefore: timestamppb.New(w.From), NotAfter: timestamppb.New(w.To)})
	}
	out.Once = d.OneTimeID
	out.SealedPin, out.NotBefore, out.NotAfter = sealed, timestamppb.New(d.NotBefore), timestamppb.New(d.NotAfter)
	return out
}

func (s *service) take(m *lockv1.ConnectRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range m.GetSlotReport().GetSlots() {
		if srv := s.slots[m.GetSlotReport().GetAddress()][o.GetSlot()]; srv != nil {
			seen := slot.Observed{Generation: o.GetGeneration(), Present: o.GetPresent(), Evidence: slot.Evidence(o.GetEvidence()),
				Window: int(o.GetWindow()), Used: o.GetUsed()}
			if r := slot.Result(o.GetResult()); r != slot.OK {
				seen.Result = r
			}
			*srv, _ = slot.ApplyReport(*srv, s.epoch, slot.Report{Epoch: m.GetEpoch(), Observed: seen})
		}
	}
	if a := m.GetActReport(); a != nil {
		s.acts[a.GetId()] = a.GetOutcome()
	}
	if b := m.GetEvents(); b != nil {
		return s.enter(b)
	}
	if m.GetHeartbeat() != nil {
		return s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Heartbeat{Heartbeat: &lockv1.Heartbeat{Clock: timestamppb.Now()}}})
	}
	return nil
}

// enter stores events by their sequence, as the service does. It needs s.mu.
func (s *service) enter(b *lockv1.EventBatch) error {
	for _, e := range b.GetEvents() {
		switch stored := uint64(len(s.events)); {
		case e.GetSequence() <= stored:
			s.twice++
		case e.GetSequence() == stored+1:
			s.events = append(s.events, e)
		default:
			s.t.Errorf("event %d came after %d", e.GetSequence(), stored)
		}
	}
	if s.forget {
		s.forget, s.silent, s.live = false, true, nil
		return errCut
	}
	return s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_EventAck{EventAck: &lockv1.EventAck{Sequence: uint64(len(s.events))}}})
}

// want changes the desired state of a slot and sends it to the bridge, if it is connected.
func (s *service) want(address string, n uint32, grant string, d slot.Desired) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[address] == nil {
		s.slots[address] = map[uint32]*slot.ServerSlot{}
	}
	if s.slots[address][n] == nil {
		s.slots[address][n] = &slot.ServerSlot{}
	}
	next, ok := slot.Assign(*s.slots[address][n], grant, d)
	if !ok {
		s.t.Fatalf("%s: slot %d is not to be had for %s", address, n, grant)
	}
	*s.slots[address][n] = next
	if s.live != nil {
		delta := &lockv1.LockDelta{Address: address, Slots: []*lockv1.DesiredSlot{s.desired(address, n)}}
		if err := s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockDelta{LockDelta: delta}}); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *service) status(address string, n uint32) slot.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[address][n].EvidenceAt(time.Now())
}
