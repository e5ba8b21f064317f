package agent

import (
	"crypto/ecdsa"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"latchkey.dev/internal/smartkey"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

const keyProperty = "prp_1"

// mint is a property's issuer of SmartKeys. Its private key is not on any server of these tests.
type mint struct {
	t       testing.TB
	key     *ecdsa.PrivateKey
	raw     []byte // the key set
	set     smartkey.KeySet
	number  uint64
	sets    uint64
	uri     string
	revoked []uint32
	floors  []smartkey.Floor
}

func draw(t testing.TB) (*ecdsa.PrivateKey, smartkey.IssuerKey) {
	t.Helper()
	key, err := smartkey.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := smartkey.PublicKeyOf(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, smartkey.IssuerKey{Key: public, NotBefore: time.Now().Add(-24 * 365 * time.Hour), NotAfter: time.Now().Add(24 * 365 * time.Hour)}
}

func newMint(t testing.TB, property string) *mint {
	t.Helper()
	m := &mint{t: t, uri: "latchkey:status:" + property}
	key, public := draw(t)
	m.key = key
	m.publish(property, key, public)
	return m
}

// publish signs the next key set.
func (m *mint) publish(property string, signer *ecdsa.PrivateKey, keys ...smartkey.IssuerKey) []byte {
	m.t.Helper()
	m.sets++
	raw, err := smartkey.SignKeySet(signer, smartkey.KeySetSpec{Property: property, Version: m.sets, IssuedAt: time.Now(), Keys: keys})
	if err != nil {
		m.t.Fatal(err)
	}
	if m.set, err = smartkey.PinKeySet(raw, property); err != nil {
		m.t.Fatal(err)
	}
	m.raw = raw
	return raw
}

// list signs the next status list, made some time ago.
func (m *mint) list(ago time.Duration) []byte {
	m.t.Helper()
	m.number++
	at := time.Now().Add(-ago)
	raw, err := smartkey.SignList(m.key, smartkey.ListSpec{
		Property: m.set.Property(), URI: m.uri, Number: m.number, IssuedAt: at, Expires: at.Add(smartkey.DefaultMaxListAge), Size: 64,
		Revoked: m.revoked, Floors: m.floors,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return raw
}

// grant describes a token for the method token to sign.
type grant struct {
	bridge string
	door   smartkey.Door
	index  uint32
	start  time.Duration // start of the validity, after now
	end    time.Duration
	made   time.Duration // age of the token
}

func (m *mint) token(p *smartkey.Phone, g grant) []byte {
	m.t.Helper()
	issuer, err := smartkey.NewIssuer(m.key, m.set, m.uri, rand.Reader)
	if err != nil {
		m.t.Fatal(err)
	}
	public, err := p.Key()
	if err != nil {
		m.t.Fatal(err)
	}
	at := time.Now().Add(-g.made)
	token, err := issuer.Mint(smartkey.Grant{
		Subject: "stay", Audience: g.bridge, Doors: []smartkey.Door{g.door}, Operations: []smartkey.Operation{smartkey.Unlock, smartkey.Check},
		Start: at.Add(g.start), End: at.Add(g.end), Generation: 1, StatusIndex: g.index, Phone: public,
	}, at)
	if err != nil {
		m.t.Fatal(err)
	}
	return token.Raw
}

func keyPhone(t testing.TB) *smartkey.Phone {
	t.Helper()
	p, err := smartkey.NewPhone(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// courier is a service that delivers SmartKey messages, also forged ones. It has no key of the property.
type courier struct {
	*talk
	acts int
}

func (c *courier) greeting() smartkey.Greeting {
	c.t.Helper()
	c.acts++
	id := fmt.Sprintf("req_%d", c.acts)
	c.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_GreetingWanted{GreetingWanted: &lockv1.GreetingWanted{Id: id}}})
	raw := until(c.talk, func(m *lockv1.ConnectRequest) ([]byte, bool) {
		return m.GetGreeting().GetGreeting(), m.GetGreeting().GetId() == id
	})
	g, err := smartkey.DecodeGreeting(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	return g
}

// carry sends a presentation to the bridge and returns its answer.
func (c *courier) carry(address, operation string, raw []byte) *lockv1.ActReport {
	c.t.Helper()
	c.acts++
	id := fmt.Sprintf("act_%d", c.acts)
	c.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Act{Act: &lockv1.Act{
		Id: id, Address: address, Operation: operation, DeadlineMs: 5000, SmartkeyPresentation: raw}}})
	return until(c.talk, func(m *lockv1.ConnectRequest) (*lockv1.ActReport, bool) {
		return m.GetActReport(), m.GetActReport().GetId() == id
	})
}

func (c *courier) sets(raw ...[]byte) *lockv1.SmartKeyState {
	c.t.Helper()
	c.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_IssuerKeySets{IssuerKeySets: &lockv1.IssuerKeySets{KeySets: raw}}})
	return c.state()
}

func (c *courier) list(raw []byte) *lockv1.SmartKeyState {
	c.t.Helper()
	c.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_StatusList{StatusList: &lockv1.StatusList{List: raw}}})
	return c.state()
}

func (c *courier) state() *lockv1.SmartKeyState {
	c.t.Helper()
	return until(c.talk, func(m *lockv1.ConnectRequest) (*lockv1.SmartKeyState, bool) {
		return m.GetSmartkeyState(), m.GetSmartkeyState() != nil
	})
}

func encoded(t testing.TB, p smartkey.Presentation) []byte {
	t.Helper()
	raw, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// keyed is a bridge that was enrolled with the keys of a mint and has a session with a courier.
func keyed(t *testing.T, m *mint) (*rig, *courier) {
	t.Helper()
	s := newService(t)
	s.spoil = func(a *lockv1.EnrollResponse) {
		a.SmartkeyKeySet, a.SmartkeySite, a.SmartkeyStatusList = m.raw, keyProperty, m.list(0)
	}
	r := enrolledRig(t, s)
	r.start()
	return r, meets(s)
}

func meets(s *service) *courier {
	k := s.next()
	k.welcome(1, 0)
	return &courier{talk: k}
}
