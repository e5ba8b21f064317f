package pms

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a name server that lives in a pipe. Each name has a list of answers; the last
// one stays, so that a name can change its mind between two lookups.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string // addresses, or one "cname:other."
	asked   map[string]int
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: false, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go n.serve(there)
		return here, nil
	}}
}

func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		out := n.answer(query)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

func (n *names) answer(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		panic(err)
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true},
		Questions: m.Questions[:1],
	}
	for _, text := range n.pick(q.Name.String(), q.Type) {
		header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
		if target, ok := cutCNAME(text); ok {
			name := dnsmessage.MustNewName(target)
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.CNAMEResource{CNAME: name}})
			header.Name = name
			text = n.pick(target, q.Type)[0]
		}
		addr := netip.MustParseAddr(text)
		switch {
		case q.Type == dnsmessage.TypeA && addr.Is4():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case q.Type == dnsmessage.TypeAAAA && addr.Is6():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	out, err := reply.Pack()
	if err != nil {
		panic(err)
	}
	return out
}

func cutCNAME(text string) (string, bool) {
	if len(text) > 6 && text[:6] == "cname:" {
		return text[6:], true
	}
	return "", false
}

// pick returns the addresses for this lookup of a name; A and AAAA of one lookup agree.
func (n *names) pick(name string, kind dnsmessage.Type) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == nil {
		n.asked = make(map[string]int)
	}
	key := name + kind.String()
	turn := min(n.asked[key], len(n.answers[name])-1)
	n.asked[key]++
	if turn < 0 {
		return nil
	}
	return n.answers[name][turn]
}

// recorder notes each address a connection is about to be made to.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) note(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, address)
}

func (r *recorder) connects() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func recorded(t *testing.T, n *names, hosts ...string) (*dialer, *recorder) {
	t.Helper()
	rules, err := NewRules(RulesOptions{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	return &dialer{rules: rules, resolver: n.resolver(), timeout: quick().Connect, observe: rec.note}, rec
}

// TestRefusedURLsAreNeverDialled drives the battery past registration, into the call and
// then into the dialer itself.
func TestRefusedURLsAreNeverDialled(t *testing.T) {
	d, rec := recorded(t, &names{})
	c, err := New(Options{Rules: d.rules, Limits: quick()})
	if err != nil {
		t.Fatal(err)
	}
	c.dial = d.DialContext
	for _, raw := range refusedURLs {
		_, err := c.Spaces(t.Context(), Target{IntegrationID: "int_1", Action: GetSpaces, URL: raw, Token: testToken, SigningSecrets: []string{testSecret}})
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseAddress {
			t.Errorf("%q: got %v, want cause address", raw, err)
		}
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		if conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(u.Hostname(), port)); err == nil {
			conn.Close()
			t.Errorf("%q: connected", raw)
		}
	}
	if got := rec.connects(); len(got) != 0 {
		t.Errorf("connected to %v", got)
	}
}

func TestNamesWithRefusedAddressesAreNeverDialled(t *testing.T) {
	const public, public6 = "93.184.215.14", "2606:4700::1111"
	n := &names{answers: map[string][][]string{
		"private.example.com.":  {{"10.0.0.1"}},
		"metadata.example.com.": {{"169.254.169.254"}},
		"azure.example.com.":    {{"168.63.129.16"}},
		"mapped.example.com.":   {{"::ffff:127.0.0.1"}},
		"nat64.example.com.":    {{"64:ff9b::a9fe:a9fe"}},
		"flip.example.com.":     {{public}, {"127.0.0.1"}},
		"flip6.example.com.":    {{public6}, {"::1"}},
		"mixed.example.com.":    {{public, "192.168.0.1"}},
		"v6private.example.com.": {{
			public, "fd00::1",
		}},
		"alias.example.com.":      {{"cname:inner.example.com."}},
		"inner.example.com.":      {{"127.0.0.1"}},
		"2130706433.example.com.": {{"0.0.0.0"}},
	}}
	d, rec := recorded(t, n)
	for name := range n.answers {
		conn, err := d.DialContext(t.Context(), "tcp", name[:len(name)-1]+":443")
		if err == nil {
			conn.Close()
			t.Errorf("%s: connected", name)
			continue
		}
		if !errors.Is(err, errAddress) {
			t.Errorf("%s: refused with %v, want the address rule", name, err)
		}
	}
	if got := rec.connects(); len(got) != 0 {
		t.Errorf("connected to %v", got)
	}
}

func TestPortsAreCheckedWhenDialling(t *testing.T) {
	n := &names{answers: map[string][][]string{"pms.example.com.": {{"93.184.215.14"}}}}
	d, rec := recorded(t, n)
	for _, port := range []string{"22", "25", "80", "6379", "0", "65536", "https"} {
		if _, err := d.DialContext(t.Context(), "tcp", "pms.example.com:"+port); !errors.Is(err, errAddress) {
			t.Errorf("port %s: %v", port, err)
		}
	}
	if got := rec.connects(); len(got) != 0 {
		t.Errorf("connected to %v", got)
	}
}

func TestAListedNameReachesPrivateButNotMetadataAddresses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	n := &names{answers: map[string][][]string{
		"pms.internal.":   {{"127.0.0.1"}},
		"link.internal.":  {{"169.254.169.254"}},
		"azure.internal.": {{"168.63.129.16"}},
		"aws6.internal.":  {{"fd00:ec2::254"}},
		"flip.internal.":  {{"127.0.0.1"}, {"169.254.169.254"}},
	}}
	d, rec := recorded(t, n, "pms.internal", "link.internal", "azure.internal", "aws6.internal", "flip.internal")
	for name := range n.answers {
		conn, err := d.DialContext(t.Context(), "tcp", name[:len(name)-1]+":"+port)
		if ok := name == "pms.internal."; (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	if got, want := rec.connects(), []string{ln.Addr().String()}; !slices.Equal(got, want) {
		t.Errorf("connected to %v, want %v", got, want)
	}
}
