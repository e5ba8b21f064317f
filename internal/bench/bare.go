package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridgelink"
)

// bareServer is the baseline of the fleet benchmark: a gRPC server with the TLS, options and messages of the product's listener for
// bridges. It makes no decisions and stores nothing.
type bareServer struct {
	lockv1.UnimplementedBridgeServiceServer
	grpc    *grpc.Server
	listen  net.Listener
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey
	serving sync.WaitGroup

	mu      sync.Mutex
	streams map[string]*bareStream // streams by the boot id of their bridge
}

// bareStream is the stream of one simulated bridge. done gets the id of each reported unlock command.
type bareStream struct {
	stream grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]
	mu     sync.Mutex // mutex for sending
	done   chan string
}

// bareName is the DNS name in the server's certificate.
const bareName = "bare.bench"

// newBareServer starts a bareServer on a free port, with a CA of its own.
func newBareServer() (*bareServer, error) {
	s := &bareServer{streams: map[string]*bareStream{}}
	var err error
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key)
	if err != nil {
		return nil, err
	}
	if s.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	own, err := s.certificate(bareName, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.roots(),
		SessionTicketsDisabled: true,
	}
	s.grpc = grpc.NewServer(bridgelink.ServerOptions(config)...)
	lockv1.RegisterBridgeServiceServer(s.grpc, s)
	if s.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.serving.Go(func() { _ = s.grpc.Serve(s.listen) })
	return s, nil
}

// roots returns the CA that clients of the server trust.
func (s *bareServer) roots() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(s.ca)
	return p
}

// certificate returns a certificate for a use, client or server, that the server's CA signed. name is the common name. All certificates
// have the key of the CA.
func (s *bareServer) certificate(name string, use x509.ExtKeyUsage) (tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{bareName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use}, BasicConstraintsValid: true,
	}, s.ca, s.key.Public(), s.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: s.key}, err
}

// newTicket creates the address and credentials of the simulated bridge with number n.
func (s *bareServer) newTicket(n int) (ticket, error) {
	boot := fmt.Sprintf("bare-%d", n)
	cert, err := s.certificate(boot, x509.ExtKeyUsageClientAuth)
	return ticket{
		Address: s.listen.Addr().String(), Boot: boot, ServerName: bareName,
		tls: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: s.roots(), ServerName: bareName, Certificates: []tls.Certificate{cert}},
	}, err
}

// Connect serves the stream of one simulated bridge: it welcomes the bridge and answers heartbeats. It passes reports to sendUnlock. It
// returns nil when the bridge ends the stream.
func (s *bareServer) Connect(st grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]) error {
	first, err := st.Recv()
	if err != nil {
		return err
	}
	b := &bareStream{stream: st, done: make(chan string, 1)}
	s.mu.Lock()
	s.streams[first.GetHello().GetBootId()] = b
	s.mu.Unlock()
	err = b.send(&lockv1.ConnectResponse{Epoch: 1, Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{Epoch: 1, ServerTime: timestamppb.Now(), HeartbeatSeconds: 15}}})
	for err == nil {
		var m *lockv1.ConnectRequest
		if m, err = st.Recv(); err != nil {
			return nil
		}
		switch k := m.GetKind().(type) {
		case *lockv1.ConnectRequest_ActReport:
			b.done <- k.ActReport.GetId()
		case *lockv1.ConnectRequest_Heartbeat:
			err = b.send(&lockv1.ConnectResponse{Epoch: 1, Kind: &lockv1.ConnectResponse_Heartbeat{Heartbeat: &lockv1.Heartbeat{Clock: timestamppb.Now()}}})
		}
	}
	return err
}

// send sends a message to the bridge. It is safe for concurrent use.
func (b *bareStream) send(m *lockv1.ConnectResponse) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stream.Send(m)
}

// sendUnlock sends an unlock command to the bridge with the boot id boot, and waits for its report. It fails if the bridge is not
// connected. A bridge can have one command at a time.
func (s *bareServer) sendUnlock(ctx context.Context, boot string) error {
	s.mu.Lock()
	b := s.streams[boot]
	s.mu.Unlock()
	if b == nil {
		return fmt.Errorf("%s is not connected", boot)
	}
	command := &lockv1.Act{Id: "act_" + boot, Address: "front", Operation: "unlock", DeadlineMs: 10_000, Deadline: timestamppb.New(time.Now().Add(10 * time.Second))}
	if err := b.send(&lockv1.ConnectResponse{Epoch: 1, Kind: &lockv1.ConnectResponse_Act{Act: command}}); err != nil {
		return err
	}
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all streams. It does nothing for nil.
func (s *bareServer) Close() error {
	if s == nil {
		return nil
	}
	s.grpc.Stop()
	s.serving.Wait()
	return nil
}

// barePart runs a bareServer in its own process. Like the product, it also has a listener on which clients send unlock commands.
type barePart struct {
	process
	server *bareServer
	front  *grpc.Server
}

// unlockMethod is the RPC that sends an unlock command through the bareServer.
const unlockMethod = "/latchkey.bench/Act"

// Bare has what other processes need of a bareServer: the address for unlock commands, and a ticket (address and credentials) per bridge.
type Bare struct {
	Front   string
	Tickets []ticket
}

// methods implements role: it returns the calls that the coordinating process can make to this process.
func (p *barePart) methods() methods {
	return p.process.methods().with(methods{"Start": decodeArgs(p.Start)})
}

// Start starts the bareServer and the listener for unlock commands, and creates credentials for streams bridges. Its result has the
// addresses and the credentials.
func (p *barePart) Start(streams int, out *Bare) (err error) {
	if p.server, err = newBareServer(); err != nil {
		return err
	}
	for n := range streams {
		t, err := p.server.newTicket(n)
		if err != nil {
			return err
		}
		if err := t.encodeTLS(p.server.ca); err != nil {
			return err
		}
		out.Tickets = append(out.Tickets, t)
	}
	p.front = grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
		var boot wrapperspb.StringValue
		if err := st.RecvMsg(&boot); err != nil {
			return err
		}
		if err := p.server.sendUnlock(st.Context(), boot.GetValue()); err != nil {
			return err
		}
		return st.SendMsg(&boot)
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.server.serving.Go(func() { _ = p.front.Serve(l) })
	out.Front = l.Addr().String()
	return nil
}

// Close implements role: it stops the servers. It fails if they were not started.
func (p *barePart) Close() error {
	if p.front == nil {
		return errors.New("the bare server was not started")
	}
	p.front.Stop()
	return p.server.Close()
}
