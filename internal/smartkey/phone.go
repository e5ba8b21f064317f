package smartkey

import (
	"crypto/ecdsa"
	"errors"
	"io"
	"log/slog"
	"time"
)

// Phone is the phone's side in Go: a key that stays inside and the token it was
// given. Real phones keep the key in WebCrypto or in their secure element; this
// one serves tests, the sandbox and kiosks of one's own.
type Phone struct {
	key   *ecdsa.PrivateKey
	token []byte
}

// NewPhone draws a phone's key.
func NewPhone(random io.Reader) (*Phone, error) {
	key, err := GenerateKey(random)
	if err != nil {
		return nil, err
	}
	return &Phone{key: key}, nil
}

// Key returns the public part.
func (p *Phone) Key() (PublicKey, error) { return PublicKeyOf(p.key.Public()) }

// Possess answers the server's question, to be enrolled or to get the next token.
func (p *Phone) Possess(q Question, now time.Time) ([]byte, error) { return Possess(p.key, q, now) }

// Keep stores the token that the server answered with.
func (p *Phone) Keep(token []byte) { p.token = token }

// Token returns the token kept.
func (p *Phone) Token() []byte { return p.token }

// Present answers a bridge's greeting with a presentation for one door.
func (p *Phone) Present(g Greeting, door Door, op Operation, now time.Time) (Presentation, error) {
	if len(p.token) == 0 {
		return Presentation{}, errors.New("smartkey: the phone has no token")
	}
	proof, err := Prove(p.key, p.token, Wish{Bridge: g.Bridge, Nonce: g.Nonce, Door: door, Operation: op}, now)
	if err != nil {
		return Presentation{}, err
	}
	return Presentation{Token: p.token, Proof: proof}, nil
}

// String tells nothing of the key.
func (p *Phone) String() string { return "phone" }

// GoString is String.
func (p *Phone) GoString() string { return p.String() }

// LogValue is String.
func (p *Phone) LogValue() slog.Value { return slog.StringValue(p.String()) }
