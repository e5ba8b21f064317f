package agent

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/smartkey"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// enrollTimeout is how long an enrolment waits for the server's answer.
const enrollTimeout = 30 * time.Second

// Enrolment is the input of Enroll, which makes this machine a bridge of a property.
type Enrolment struct {
	Dir      string // Dir is the directory of the store, which Enroll creates if it is missing
	Address  string // Address is the host:port of the server's public gRPC listener
	JoinCode string // JoinCode is the secret that staff got from the server; it works once
	Software string // Software is the name and version that the server shows, at most 128 characters
	// Trusted are the certificates to trust for Address; nil: those of the machine. The listener for bridges has a CA of its own.
	Trusted *x509.CertPool
	// Plaintext disables TLS. It is allowed for loopback addresses only.
	Plaintext bool
	// Connect, if set, replaces the address that the server returns for its listener for bridges.
	Connect string
	// Replace allows a join code of another bridge than the enrolled one. Without it, Enroll refuses such a code.
	Replace     bool
	DialOptions []grpc.DialOption
}

// Enroll exchanges a join code for a certificate and stores it. On success it deletes the rest of the store, except the driver's settings.
// Both private keys never leave this machine. It returns the id that the server gave the bridge. It fails with [ErrInUse] if a bridge runs,
// and, unless Replace is set, if the store belongs to another bridge than the join code. An error keeps an earlier enrolment in the store,
// but the server may already have used up the join code, which makes an earlier certificate of the same bridge invalid.
func Enroll(ctx context.Context, e Enrolment) (bridgeID string, err error) {
	fingerprint, err := fingerprintOf(e.JoinCode)
	if err != nil {
		return "", err
	}
	st, err := openStore(e.Dir)
	if errors.Is(err, ErrInUse) {
		return "", fmt.Errorf("%w. Stop it first: %s. The join code is not used up", err, stopCommand)
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	key, request, err := newCertificateRequest()
	if err != nil {
		return "", err
	}
	private, public, err := pinseal.GenerateKey()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, enrollTimeout)
	defer cancel()
	answer, err := e.exchangeJoinCode(ctx, &lockv1.EnrollRequest{
		JoinCode: strings.TrimSpace(e.JoinCode), CertificateRequest: request, HpkePublicKey: public, Software: e.Software,
	})
	if err != nil {
		return "", err
	}
	if err := verifyEnrolment(answer, fingerprint, &key.PublicKey); err != nil {
		return "", err
	}
	// Only the server knows whose join code it is, so that the code is already used up here.
	if former, err := st.identity(); err == nil && !e.Replace {
		if err := checkSameBridge(former.BridgeID, answer.GetBridgeId()); err != nil {
			return "", err
		}
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	id := identity{
		BridgeID: answer.GetBridgeId(), PropertyID: answer.GetPropertyId(), Certificate: answer.GetCertificate(), Key: raw,
		CA: answer.GetCaCertificate(), SealKey: private, ConnectAddress: answer.GetConnectAddress(), ServerName: answer.GetServerName(),
		Site: answer.GetSmartkeySite(), KeySet: answer.GetSmartkeyKeySet(), List: answer.GetSmartkeyStatusList(),
	}
	if e.Connect != "" {
		id.ConnectAddress = e.Connect
	}
	return id.BridgeID, st.resetTo(id)
}

// checkSameBridge refuses a join code of the bridge next on a machine that is the bridge former.
func checkSameBridge(former, next string) error {
	if former == next {
		return nil
	}
	return fmt.Errorf("this machine is bridge %[1]s, but the join code is one of bridge %[2]s. The code is now used up, and this machine is still %[1]s. "+
		"If another machine was %[2]s, it can no longer connect until it is enrolled with a new code. "+
		"To enrol %[1]s again, get a code of `latchkey bridge join-code %[1]s`. To make this machine %[2]s, which leaves the locks of %[1]s "+
		"without a bridge, get a code of `latchkey bridge join-code %[2]s` and add --replace", former, next)
}

// Enrolled reads from the store directory dir what status shows of a bridge that does not run: its id, the address of the server, and the
// end of its certificate. It fails if no bridge is enrolled there, or with [ErrInUse] if one runs.
func Enrolled(dir string) (bridgeID, connect string, until time.Time, err error) {
	if err := CheckStored(dir); err != nil {
		return "", "", time.Time{}, err
	}
	st, err := openStore(dir)
	if err != nil {
		return "", "", time.Time{}, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	id, err := st.identity()
	if err != nil {
		return "", "", time.Time{}, err
	}
	leaf, err := x509.ParseCertificate(id.Certificate)
	if err != nil {
		return "", "", time.Time{}, fmt.Errorf("the stored certificate: %w", err)
	}
	return id.BridgeID, id.ConnectAddress, leaf.NotAfter, nil
}

// exchangeJoinCode sends an enrolment request to the server, over TLS or, with Plaintext, unencrypted to loopback only, and returns the
// answer without checking it. Its errors are texts for the person at the bridge.
func (e Enrolment) exchangeJoinCode(ctx context.Context, r *lockv1.EnrollRequest) (*lockv1.EnrollResponse, error) {
	if scheme, rest, ok := strings.Cut(e.Address, "://"); ok && strings.HasPrefix(strings.ToLower(scheme), "http") {
		return nil, fmt.Errorf("%s: enroll takes HOST:PORT of %s; write it without %s://: %s", e.Address, grpcListener, scheme, strings.TrimRight(rest, "/"))
	}
	creds := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.Trusted})
	if e.Plaintext {
		host, _, err := net.SplitHostPort(e.Address)
		if err != nil {
			return nil, fmt.Errorf("%s names no port: give HOST:PORT of %s", e.Address, grpcListener)
		}
		if !config.IsLoopback(host) {
			return nil, fmt.Errorf("%s is not this machine: a join code is a secret and is sent over TLS only", e.Address)
		}
		creds = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(e.Address, append([]grpc.DialOption{grpc.WithTransportCredentials(creds)}, e.DialOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", e.Address, err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := lockv1.NewEnrolmentServiceClient(conn).Enroll(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("enrol at %s: %s", e.Address, explainFailure(e.Address, rpcMessage(err)))
	}
	return answer, nil
}

// grpcListener says where to enrol, for advice.
const grpcListener = "the server's gRPC listener, --listen-grpc there (port 7070 unless it says otherwise)"

// explainFailure returns what is wrong at address, HOST:PORT, and what to check, for why, the text of an enrolment's error. It returns why
// itself if the text says enough.
func explainFailure(address, why string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	switch {
	case strings.Contains(why, "produced zero addresses") || strings.Contains(why, "no such host"):
		return fmt.Sprintf("the name %s is not known: check it and this machine's DNS", host)
	case strings.Contains(why, "connection refused"):
		return fmt.Sprintf("nothing listens at %s (connection refused): check that the server runs, and that this is the address of %s", address, grpcListener)
	case strings.Contains(why, "deadline exceeded"):
		return fmt.Sprintf("no answer within %v: check the address, this machine's network, and whether a firewall blocks it", enrollTimeout)
	case strings.Contains(why, "first record does not look like a TLS handshake"):
		return "the server speaks no TLS there; if it runs on this machine, --plaintext allows that"
	case strings.Contains(why, "unexpected HTTP status code") || strings.Contains(why, "looked like an HTTP/1.1 header"):
		return "this is an HTTP listener; enrol at " + grpcListener
	case strings.Contains(why, "certificate signed by unknown authority"):
		return "this machine does not trust the server's certificate: name the CA that signed it with --ca FILE"
	case endsAtOnce(why):
		return "what answers there is not " + grpcListener + ". Enrol at that one, with --plaintext only if it uses no TLS"
	}
	return why
}

// endsAtOnce reports whether why, the text of a connection error, says that the other side closed the connection at the first bytes of
// gRPC, as a listener of another protocol does.
func endsAtOnce(why string) bool {
	return strings.Contains(why, "error reading server preface") || strings.Contains(why, "broken pipe") || strings.Contains(why, "connection reset by peer")
}

// fingerprintOf returns the second part of a join code: the SHA-256 hash of the CA certificate that the server must show. It fails with
// advice for the user if the code is incomplete.
func fingerprintOf(code string) (out [32]byte, err error) {
	_, encoded, ok := strings.Cut(strings.TrimSpace(code), ".")
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if !ok || err != nil || len(raw) != len(out) {
		return out, errors.New("the join code is incomplete: copy all of it, from lkj_ to the last character. Staff create one with: latchkey bridge join-code")
	}
	return [32]byte(raw), nil
}

// newCertificateRequest generates a private key and a PKCS #10 request in DER that the key signs. The request names no bridge: the server
// decides which bridge the certificate names.
func newCertificateRequest() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return key, der, err
}

// verifyEnrolment checks the server's answer: its CA must have the fingerprint in the join code, and must have signed the certificate for
// public, the bridge's key. The bridge's id, the address and the server's name are required. Issuer keys of SmartKeys may be missing, but
// must be valid.
func verifyEnrolment(a *lockv1.EnrollResponse, fingerprint [32]byte, public *ecdsa.PublicKey) error {
	if sum := sha256.Sum256(a.GetCaCertificate()); !bytes.Equal(sum[:], fingerprint[:]) {
		return errors.New("the server's CA does not match the join code: someone may be intercepting the connection. Nothing was stored on this machine; ask for a new join code")
	}
	ca, err := x509.ParseCertificate(a.GetCaCertificate())
	if err != nil {
		return fmt.Errorf("the server's CA certificate: %w", err)
	}
	if err := verifyCertificate(a.GetCertificate(), ca, public); err != nil {
		return err
	}
	if set := a.GetSmartkeyKeySet(); set != nil {
		if _, err := smartkey.PinKeySet(set, a.GetPropertyId()); err != nil {
			return fmt.Errorf("the server's issuer keys: %w", err)
		}
	}
	if a.GetBridgeId() == "" || a.GetConnectAddress() == "" || a.GetServerName() == "" {
		return errors.New("the server's answer names no bridge, address or server name")
	}
	return nil
}

// verifyCertificate checks that ca signed the certificate der, and that the certificate is for the bridge's key public. It does not check
// the dates and names in the certificate.
func verifyCertificate(der []byte, ca *x509.Certificate, public *ecdsa.PublicKey) error {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("the server's certificate for this bridge: %w", err)
	}
	if err := cert.CheckSignatureFrom(ca); err != nil {
		return fmt.Errorf("the server's certificate for this bridge: %w", err)
	}
	if !public.Equal(cert.PublicKey) {
		return errors.New("the server's certificate for this bridge is for another key")
	}
	return nil
}
