package e2etest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is one of the two of a connection.
type Direction int

// The directions, as the bridge sees them.
const (
	Up   Direction = iota // from the bridge to the service
	Down                  // from the service to the bridge
)

// Cut ends a connection after some TLS records have passed in a direction. Whatever a message is split into, its last
// record is one, so that every boundary between messages is reached; a record cut short is as good as none.
type Cut struct {
	Way   Direction
	After int
}

// Proxy stands between a bridge and the service, and fails on demand.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	target  string
	lines   map[*line]bool
	cuts    []Cut // of the connections to come, and first of the present one
	refuse  bool
	swallow [2]bool       // by direction
	delay   time.Duration // of each record
	eaten   int           // records, while swallowing
	cut     int           // connections
}

// line is one connection through the proxy.
type line struct {
	bridge, service net.Conn
	cut             *Cut
	passed          [2]int
	half            bool
}

// NewProxy listens until t ends. Link is what a world wants.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, lines: map[*line]bool{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Reset()
		p.running.Wait()
	})
	return p
}

// Link sends what comes to the proxy on to the service.
func (p *Proxy) Link(service string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = service
	return p.listener.Addr().String(), nil
}

// Cut has the present connection end after some more records, and those that follow it likewise, one for each cut.
func (p *Proxy) Cut(cuts ...Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append([]Cut(nil), cuts...)
	for l := range p.lines {
		l.passed = [2]int{}
		p.arm(l)
	}
}

// Cuts counts the connections that were cut so far.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// Refuse ends every connection and takes no other, until Heal.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Reset()
}

// Swallow drops everything that goes one of these ways, both if none is named, while connections stay, until Heal.
func (p *Proxy) Swallow(ways ...Direction) {
	if len(ways) == 0 {
		ways = []Direction{Up, Down}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eaten = 0
	for _, way := range ways {
		p.swallow[way] = true
	}
}

// Delay holds back each record for a time, until Heal.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Eaten counts the records that vanished since Swallow.
func (p *Proxy) Eaten() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.eaten
}

// Heal passes on what comes from now. Connections that lost something are ended, since TLS would end them.
func (p *Proxy) Heal() {
	p.mu.Lock()
	lost := p.eaten > 0
	p.refuse, p.swallow, p.eaten, p.delay, p.cuts = false, [2]bool{}, 0, 0, nil
	p.mu.Unlock()
	if lost {
		p.Reset()
	}
}

// HalfClose ends one direction of the present connections and leaves the other.
func (p *Proxy) HalfClose(way Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		to := l.service
		if way == Down {
			to = l.bridge
		}
		if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		l.half = true
	}
}

// Reset ends the present connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		l.close()
	}
}

func (l *line) close() {
	_ = l.bridge.Close()
	_ = l.service.Close()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(c) })
	}
}

func (p *Proxy) serve(c net.Conn) {
	l, err := p.open(c)
	if err != nil {
		_ = c.Close()
		return
	}
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.lines, l)
		p.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() { p.pump(l, Up, l.bridge, l.service) })
	both.Go(func() { p.pump(l, Down, l.service, l.bridge) })
	both.Wait()
}

var errRefused = errors.New("refused")

func (p *Proxy) open(c net.Conn) (*line, error) {
	p.mu.Lock()
	target, refuse := p.target, p.refuse
	p.mu.Unlock()
	if refuse {
		return nil, errRefused
	}
	s, err := net.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	l := &line{bridge: c, service: s}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		_ = s.Close()
		return nil, errRefused
	}
	p.arm(l)
	p.lines[l] = true
	return l, nil
}

// arm needs p.mu.
func (p *Proxy) arm(l *line) {
	l.cut = nil
	if len(p.cuts) > 0 {
		c := p.cuts[0]
		p.cuts, l.cut = p.cuts[1:], &c
	}
}

// pump passes records on, one at a time, until either end is gone.
func (p *Proxy) pump(l *line, way Direction, from, to net.Conn) {
	var head [5]byte // of a TLS record: kind, version, length
	for {
		if p.severed(l, way) {
			l.close()
			return
		}
		if _, err := io.ReadFull(from, head[:]); err != nil {
			break
		}
		record := make([]byte, len(head)+int(binary.BigEndian.Uint16(head[3:])))
		copy(record, head[:])
		if _, err := io.ReadFull(from, record[len(head):]); err != nil {
			break
		}
		if p.eats(way) {
			continue
		}
		p.hold()
		if _, err := to.Write(record); err != nil {
			break
		}
		p.mu.Lock()
		l.passed[way]++
		p.mu.Unlock()
	}
	p.mu.Lock()
	half := l.half
	p.mu.Unlock()
	if !half {
		l.close()
	}
}

func (p *Proxy) severed(l *line, way Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.cut == nil || l.cut.Way != way || l.passed[way] < l.cut.After {
		return false
	}
	p.cut++
	return true
}

func (p *Proxy) eats(way Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.swallow[way] {
		p.eaten++
	}
	return p.swallow[way]
}

// hold waits for as long as records are delayed now.
func (p *Proxy) hold() {
	p.mu.Lock()
	d := p.delay
	p.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
}
