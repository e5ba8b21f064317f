package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/keyring/pinseal"
)

// agent is what a bridge holds after its enrolment.
type agent struct {
	id     string
	key    *ecdsa.PrivateKey
	answer *lockv1.EnrollResponse
}

func newKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return key, request
}

// enrol makes a bridge of a property as its staff and its machine would.
func enrol(t *testing.T, w *e2etest.World, name string) agent {
	t.Helper()
	b, err := propertyv1.NewBridgeServiceClient(w.Public).CreateBridge(w.Staff(t.Context()), &propertyv1.CreateBridgeRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	key, request := newKey(t)
	_, public, err := pinseal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	enrolment := lockv1.NewEnrolmentServiceClient(w.Public)
	in := &lockv1.EnrollRequest{JoinCode: b.GetJoinCode(), CertificateRequest: request, HpkePublicKey: public}
	answer, err := enrolment.Enroll(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enrolment.Enroll(t.Context(), in); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a join code serves twice: %v", err)
	}
	return agent{id: b.GetData().GetId(), key: key, answer: answer}
}

func (a agent) certificate() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{a.answer.GetCertificate()}, PrivateKey: a.key}
}

// dial connects to the bridges' listener under certificates.
func dial(t *testing.T, w *e2etest.World, a agent, shown ...tls.Certificate) *grpc.ClientConn {
	t.Helper()
	ca, err := x509.ParseCertificate(a.answer.GetCaCertificate())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	conn, err := grpc.NewClient(w.Server.BridgeAddr(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: a.answer.GetServerName(), Certificates: shown,
	})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// foreign makes a certificate that another CA signed.
func foreign(t *testing.T, a agent) tls.Certificate {
	t.Helper()
	own, err := x509.ParseCertificate(a.answer.GetCertificate())
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other"}, IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	key, _ := newKey(t)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: own.Subject, URIs: own.URIs, DNSNames: own.DNSNames, NotAfter: time.Now().Add(time.Hour),
	}, ca, a.key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: a.key}
}

func TestBridgesHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	a := enrol(t, w, "Attic")
	ctx := t.Context()
	own := dial(t, w, a, a.certificate())

	t.Run("serves bridges", func(t *testing.T) {
		_, request := newKey(t)
		answer, err := lockv1.NewBridgeServiceClient(own).RenewCertificate(ctx, &lockv1.RenewCertificateRequest{CertificateRequest: request})
		if err != nil || len(answer.GetCertificate()) == 0 {
			t.Errorf("renewal: %v", err)
		}
		if err := session(ctx, own); status.Code(err) != codes.OK {
			t.Errorf("session: %v", err)
		}
	})
	t.Run("serves nothing else", func(t *testing.T) {
		for _, r := range e2etest.RPCs() {
			if r.ProtoPackage() == "latchkey.lock.v1" && r.Desc.Parent().Name() == "BridgeService" {
				continue
			}
			if err := own.Invoke(ctx, "/"+r.Name, r.Request(), r.Reply()); status.Code(err) != codes.Unimplemented {
				t.Errorf("%s on the bridges' listener: %v", r.Name, err)
			}
		}
	})
	t.Run("accepts only bridges", func(t *testing.T) {
		for name, conn := range map[string]*grpc.ClientConn{"no certificate": dial(t, w, a), "certificate of another CA": dial(t, w, a, foreign(t, a))} {
			_, err := lockv1.NewBridgeServiceClient(conn).RenewCertificate(ctx, &lockv1.RenewCertificateRequest{CertificateRequest: []byte("x")})
			if status.Code(err) != codes.Unavailable {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("nowhere else", func(t *testing.T) {
		if err := session(ctx, w.Public); status.Code(err) != codes.Unimplemented {
			t.Errorf("a session on the public listener: %v", err)
		}
		if err := session(ctx, w.Socket); status.Code(err) != codes.Unimplemented {
			t.Errorf("a session over the socket: %v", err)
		}
		for _, path := range []string{"/latchkey.lock.v1.BridgeService/Connect", "/latchkey.lock.v1.EnrolmentService/Enroll"} {
			for _, kind := range []string{"application/connect+json", "application/json", "application/grpc-web", "application/grpc"} {
				res, err := w.HTTP.Post(w.Base+path, kind, bytes.NewReader([]byte("{}")))
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if res.StatusCode != http.StatusNotFound {
					t.Errorf("%s as %s: status %d", path, kind, res.StatusCode)
				}
			}
		}
	})
	t.Run("revoked", func(t *testing.T) {
		if _, err := propertyv1.NewBridgeServiceClient(w.Public).RevokeBridge(w.Staff(ctx), &propertyv1.RevokeBridgeRequest{Id: a.id}); err != nil {
			t.Fatal(err)
		}
		_, request := newKey(t)
		_, err := lockv1.NewBridgeServiceClient(own).RenewCertificate(ctx, &lockv1.RenewCertificateRequest{CertificateRequest: request})
		if c := status.Code(err); c != codes.PermissionDenied && c != codes.Unauthenticated {
			t.Errorf("a revoked bridge renews: %v", err)
		}
		if err := session(ctx, own); err == nil || err.Error() != "goodbye: revoked" {
			t.Errorf("a revoked bridge opens a session: %v", err)
		}
	})
}

// session opens one without any lock, until it is welcomed.
func session(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := lockv1.NewBridgeServiceClient(conn).Connect(ctx)
	if err != nil {
		return err
	}
	hello := &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{ProtocolVersion: 1, BootId: "test"}}}
	if err := st.Send(hello); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	first, err := st.Recv()
	if err != nil {
		return err
	}
	switch kind := first.GetKind().(type) {
	case *lockv1.ConnectResponse_Welcome:
		return nil
	case *lockv1.ConnectResponse_Goodbye:
		return errors.New("goodbye: " + kind.Goodbye.GetCause())
	}
	return errors.New("the first message is no Welcome")
}
