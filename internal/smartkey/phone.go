package smartkey

import (
	"crypto/ecdsa"
	"errors"
	"io"
	"log/slog"
	"time"
)

// Phone is an implementation of the phone's side: a private key and a token. Real phones keep the key in WebCrypto or in their secure
// element. Tests, the sandbox and kiosks use this type.
type Phone struct {
	key   *ecdsa.PrivateKey
	token []byte
}

// NewPhone returns a phone with a new private key and no token.
func NewPhone(random io.Reader) (*Phone, error) {
	key, err := GenerateKey(random)
	if err != nil {
		return nil, err
	}
	return &Phone{key: key}, nil
}

// Key returns the public key of the phone, to which its tokens are bound.
func (p *Phone) Key() (PublicKey, error) { return PublicKeyOf(p.key.Public()) }

// SignPossession answers the server's challenge to prove possession of the phone's key.
func (p *Phone) SignPossession(q PossessionSpec, now time.Time) ([]byte, error) {
	return SignPossession(p.key, q, now)
}

// SetToken replaces the token that the phone presents.
func (p *Phone) SetToken(token []byte) { p.token = token }

// Token returns the token that the phone presents, or nil if it has none.
func (p *Phone) Token() []byte { return p.token }

// Present answers a bridge's greeting with a presentation for one door, without key sets and a list. It fails if the phone has no token.
func (p *Phone) Present(g Greeting, door Door, op Operation, now time.Time) (Presentation, error) {
	if len(p.token) == 0 {
		return Presentation{}, errors.New("smartkey: the phone has no token")
	}
	proof, err := SignProof(p.key, p.token, ProofSpec{Bridge: g.Bridge, Nonce: g.Nonce, Door: door, Operation: op}, now)
	if err != nil {
		return Presentation{}, err
	}
	return Presentation{Token: p.token, Proof: proof}, nil
}

// String omits the key.
func (p *Phone) String() string { return "phone" }

// GoString omits the key.
func (p *Phone) GoString() string { return p.String() }

// LogValue omits the key.
func (p *Phone) LogValue() slog.Value { return slog.StringValue(p.String()) }
