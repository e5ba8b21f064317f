package smartkey

import "unicode/utf8"

// Greeting is the first message of a bridge to a phone, directly or through a relay. It is not signed: the phone signs the id of the bridge
// and the door that its user chose.
type Greeting struct {
	Bridge        string `cbor:"1,keyasint"` // Bridge is the id of the bridge that sends the greeting
	Nonce         []byte `cbor:"2,keyasint"` // Nonce must be in the phone's proof
	KeySetVersion uint64 `cbor:"3,keyasint"` // KeySetVersion is the version of the bridge's key set, so that a phone can bring newer ones
	ListNumber    uint64 `cbor:"4,keyasint"` // ListNumber is that of the bridge's status list, so that a phone can bring a newer one; 0: none
}

// maxGreetingSize, in bytes, has room for a name, a nonce and two numbers.
const maxGreetingSize = 256

// Encode returns the greeting as CBOR, without a check.
func (g Greeting) Encode() []byte { return mustEncode(g) }

// DecodeGreeting parses and checks a greeting.
func DecodeGreeting(raw []byte) (Greeting, error) {
	g, err := decodeMessage[Greeting](raw, maxGreetingSize)
	if err != nil {
		return Greeting{}, err
	}
	if !isName(g.Bridge) || len(g.Nonce) < minNonce || len(g.Nonce) > maxNonce || !inRange(g.KeySetVersion, g.ListNumber) {
		return Greeting{}, refuse(Malformed, "not a greeting")
	}
	return g, nil
}

// Presentation is the phone's message to a bridge, sent directly, through the server or through a kiosk. A phone with internet access can
// bring newer key sets and a newer status list to a bridge without.
type Presentation struct {
	Token   []byte   `cbor:"1,keyasint"`           // Token is the signed token
	Proof   []byte   `cbor:"2,keyasint"`           // Proof is the signed proof for the token
	List    []byte   `cbor:"3,keyasint,omitempty"` // List is a signed status list; empty: the phone brings none
	KeySets [][]byte `cbor:"4,keyasint,omitempty"` // KeySets are in ascending order of version
}

// Encode returns the presentation as CBOR. It fails for a presentation that a bridge would refuse to parse.
func (p Presentation) Encode() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return mustEncode(p), nil
}

// DecodePresentation parses and checks a presentation. It verifies no signature.
func DecodePresentation(raw []byte) (Presentation, error) {
	p, err := decodeMessage[Presentation](raw, MaxPresentationSize)
	if err != nil {
		return Presentation{}, err
	}
	return p, p.check()
}

// check validates the lengths of the parts of a presentation.
func (p Presentation) check() error {
	if len(p.Token) == 0 || len(p.Token) > MaxTokenSize || len(p.Proof) == 0 || len(p.Proof) > MaxProofSize {
		return refuse(Malformed, "a presentation has a token and a proof")
	}
	if len(p.List) > MaxListSize || len(p.KeySets) > maxCarriedKeySets {
		return refuse(Malformed, "a presentation brings one list and 8 key sets at most")
	}
	for _, set := range p.KeySets {
		if len(set) == 0 || len(set) > MaxKeySetSize {
			return refuse(Malformed, "a key set is larger than allowed")
		}
	}
	return nil
}

// Refresh returns t with the newer key sets and the newer list of a presentation, applied in this order. It ignores the documents that
// Advance and AdvanceList refuse, so that an untrusted phone can only bring what the issuer signed.
func (t Trust) Refresh(p Presentation) Trust {
	for _, raw := range p.KeySets {
		t.Keys, _ = t.Keys.Advance(raw)
	}
	t.List, _ = t.Keys.AdvanceList(t.List, p.List)
	return t
}

// Answer is a bridge's answer to a presentation: [OK], or the reason of the refusal.
type Answer struct {
	Reason Reason `cbor:"1,keyasint"`
	Detail string `cbor:"2,keyasint,omitempty"`
}

// Limits of an [Answer] and of its Detail, in bytes.
const (
	maxAnswerSize = 256
	maxDetail     = 128
)

// Encode returns the answer as CBOR. It drops a detail that is too long or is not valid UTF-8.
func (a Answer) Encode() []byte {
	if len(a.Detail) > maxDetail || !utf8.ValidString(a.Detail) {
		a.Detail = ""
	}
	return mustEncode(a)
}

// DecodeAnswer parses and checks an answer. It accepts unknown reasons: every reason except "ok" is a refusal.
func DecodeAnswer(raw []byte) (Answer, error) {
	a, err := decodeMessage[Answer](raw, maxAnswerSize)
	if err != nil {
		return Answer{}, err
	}
	if !isName(string(a.Reason)) || len(a.Detail) > maxDetail {
		return Answer{}, refuse(Malformed, "not an answer")
	}
	return a, nil
}
