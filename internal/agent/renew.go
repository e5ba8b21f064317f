package agent

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"google.golang.org/grpc"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// renewTimeout is the longest wait for the server's answer to a renewal.
const renewTimeout = 30 * time.Second

// renewAt returns when the session must renew the bridge's certificate: after two thirds of its lifetime.
func (s *session) renewAt() time.Time {
	return s.leaf.NotAfter.Add(-s.leaf.NotAfter.Sub(s.leaf.NotBefore) / 3)
}

// renewInBackground renews the certificate, at most once per session. If it fails, the next session tries again: a third of the
// certificate's lifetime remains for that, and ninety days after its end.
func (s *session) renewInBackground(ctx context.Context) {
	if s.renewing {
		return
	}
	s.renewing = true
	s.background.Go(func() {
		if err := s.bridge.renew(ctx, s.conn); err != nil {
			s.bridge.log.Warn("the certificate was not renewed", "ends", s.leaf.NotAfter, "error", err)
		}
	})
}

// renew generates a new key, requests a certificate for it over conn, and stores both. Later connections use them. An error leaves the old
// ones in use; the server still accepts the old key then.
func (b *Bridge) renew(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	key, request, err := newCertificateRequest()
	if err != nil {
		return err
	}
	answer, err := lockv1.NewBridgeServiceClient(conn).RenewCertificate(ctx, &lockv1.RenewCertificateRequest{CertificateRequest: request})
	if err != nil {
		return err
	}
	id := b.identity()
	ca, err := x509.ParseCertificate(id.CA)
	if err != nil {
		return fmt.Errorf("the stored CA certificate: %w", err)
	}
	if err := verifyCertificate(answer.GetCertificate(), ca, &key.PublicKey); err != nil {
		return err
	}
	if id.Key, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return err
	}
	id.Certificate = answer.GetCertificate()
	if err := b.store.setIdentity(id); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.id = id
	b.log.Info("certificate renewed")
	return nil
}
