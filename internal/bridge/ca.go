package bridge

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/keyring/pinseal"
)

// ServerName is the DNS name in the certificate of the listener for bridges. Bridges check it, whatever address they dial.
const ServerName = "bridges.latchkey.internal"

const (
	caSecret        = "bridge-ca"
	caLife          = 25 * 365 * 24 * time.Hour
	certificateLife = 30 * 24 * time.Hour
	backdate        = time.Hour // backdate moves the start of a certificate's validity into the past, for bridges whose clock is behind
	// RenewGrace is how long after its expiry a certificate can still be renewed.
	RenewGrace = 90 * 24 * time.Hour
)

// CA is the installation's own certificate authority. It signs only the certificates of bridges and of the listener for bridges.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// storedCA is the JSON form of the CA in the database, which stores it encrypted.
type storedCA struct {
	Key  []byte `json:"key"`  // private key of the CA, PKCS #8
	Cert []byte `json:"cert"` // certificate of the CA itself, X.509 in DER
}

// LoadOrCreateCA loads the CA of this installation from the database, or creates and stores it at the first start. keys encrypts its key.
func LoadOrCreateCA(tx *db.Tx, keys *keyring.Ring) (*CA, error) {
	ctx := tx.Context()
	row, err := tx.Secret.Get(ctx, caSecret)
	if err == nil {
		raw, err := keys.Open(ctx, keyring.System, "secret "+caSecret, row.Sealed)
		if err != nil {
			return nil, fmt.Errorf("open the bridge CA's key: %w", err)
		}
		return parseCA(raw)
	}
	if !ent.IsNotFound(err) {
		return nil, err
	}
	ca, raw, err := newCA(tx.Now())
	if err != nil {
		return nil, err
	}
	sealed, err := keys.Seal(ctx, keyring.System, "secret "+caSecret, raw)
	if err != nil {
		return nil, fmt.Errorf("seal the bridge CA's key: %w", err)
	}
	return ca, tx.Secret.Create().SetID(caSecret).SetSealed(sealed).SetCreatedAt(tx.Now()).Exec(ctx)
}

// newCA creates a CA with a new key. It also returns the encoded CA, unencrypted, for parseCA.
func newCA(now time.Time) (*CA, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "Latchkey bridges"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(caLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(storedCA{Key: private, Cert: der})
	if err != nil {
		return nil, nil, err
	}
	ca, err := parseCA(raw)
	return ca, raw, err
}

// parseCA decodes a CA that newCA encoded.
func parseCA(raw []byte) (*CA, error) {
	var s storedCA
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, errors.New("the bridge CA's secret is damaged")
	}
	private, err := x509.ParsePKCS8PrivateKey(s.Key)
	if err != nil {
		return nil, errors.New("the bridge CA's secret holds no key")
	}
	key, ok := private.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the bridge CA's key is a %T, want ECDSA", private)
	}
	cert, err := x509.ParseCertificate(s.Cert)
	if err != nil {
		return nil, fmt.Errorf("the bridge CA's certificate: %w", err)
	}
	return &CA{cert: cert, key: key}, nil
}

// newSerial returns a random serial number for a certificate.
func newSerial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}

// Certificate returns the CA's certificate, X.509 in DER.
func (ca *CA) Certificate() []byte { return ca.cert.Raw }

// Fingerprint returns the SHA-256 hash of the CA's certificate. Join codes contain it, so that a bridge recognizes the server.
func (ca *CA) Fingerprint() [32]byte { return sha256.Sum256(ca.cert.Raw) }

// ServerCertificate creates a key and a certificate for the listener for bridges, valid for 30 days from now.
func (ca *CA) ServerCertificate(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := ca.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: ServerName}, DNSNames: []string{ServerName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key.Public(), now)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der, ca.cert.Raw}, PrivateKey: key, Leaf: leaf}, err
}

// bridgeCertificate signs the certificate, in DER and valid for 30 days from now, with which a bridge with the public key authenticates.
func (ca *CA) bridgeCertificate(propertyID, bridgeID string, public crypto.PublicKey, now time.Time) ([]byte, error) {
	return ca.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: bridgeID}, URIs: []*url.URL{Identity{propertyID, bridgeID}.url()},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, public, now)
}

// sign adds a serial number and the validity to the template, and returns the certificate for a public key in DER.
func (ca *CA) sign(template *x509.Certificate, public crypto.PublicKey, now time.Time) ([]byte, error) {
	template.SerialNumber = newSerial()
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(certificateLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	return x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
}

// Identity is the bridge and its property that a certificate names.
type Identity struct {
	PropertyID string
	BridgeID   string
}

// url returns the identity as the URL that a bridge's certificate contains.
func (i Identity) url() *url.URL {
	return &url.URL{Scheme: "latchkey", Host: "property", Path: "/" + i.PropertyID + "/bridge/" + i.BridgeID}
}

// Verify checks that this CA signed the certificate of a bridge, and returns which bridge it is. For a certificate that expired at most
// RenewGrace ago, expired is true and err is nil: the caller may then only renew it. It does not check whether the bridge is revoked.
func (ca *CA) Verify(cert *x509.Certificate, now time.Time) (who Identity, expired bool, err error) {
	at := now
	if now.After(cert.NotAfter) {
		if now.After(cert.NotAfter.Add(RenewGrace)) {
			return who, true, errors.New("the certificate ended too long ago to be renewed; enrol the bridge again")
		}
		at, expired = cert.NotAfter, true
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return who, expired, fmt.Errorf("the certificate was not signed by the bridge CA of this installation: %w", err)
	}
	who, err = ParseIdentity(cert)
	return who, expired, err
}

// ParseIdentity returns the bridge that a certificate names. It does not verify the certificate.
func ParseIdentity(cert *x509.Certificate) (Identity, error) {
	if len(cert.URIs) == 1 && cert.URIs[0].Scheme == "latchkey" && cert.URIs[0].Host == "property" {
		part := strings.Split(cert.URIs[0].Path, "/")
		if len(part) == 4 && part[0] == "" && part[1] != "" && part[2] == "bridge" && part[3] != "" {
			return Identity{PropertyID: part[1], BridgeID: part[3]}, nil
		}
	}
	return Identity{}, errors.New("the certificate names no bridge")
}

// PublicKeyHash returns the SHA-256 hash of a certificate's public key, which the bridge's row stores.
func PublicKeyHash(cert *x509.Certificate) []byte { return keyHash(cert.RawSubjectPublicKeyInfo) }

// parseRequest parses a certificate request. It checks the request's signature and that its key is on P-256 or Ed25519. Every error is a
// fault about the field certificateRequest.
func parseRequest(der []byte) (*x509.CertificateRequest, error) {
	bad := func(message string) error {
		return fault.Fields(fault.Field{Path: "certificateRequest", Reason: fault.BadFormat, Message: message})
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, bad("want a PKCS #10 request in DER")
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, bad("the request is not signed by its own key")
	}
	switch key := csr.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return csr, nil
		}
	case ed25519.PublicKey:
		return csr, nil
	}
	return nil, bad("want a key on P-256 or Ed25519")
}

// checkHPKEKey checks the public key with which PINs are encrypted for a bridge. The error names the request's field.
func checkHPKEKey(key []byte) error {
	if err := pinseal.CheckPublicKey(key); err != nil {
		return fault.Fields(fault.Field{Path: "hpkePublicKey", Reason: fault.BadFormat, Message: "want a usable X25519 public key of 32 bytes"})
	}
	return nil
}
