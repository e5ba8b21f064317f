// Package proxytest is a TCP proxy between a bridge and the service, for tests of network faults.
package proxytest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is the direction of data on a connection.
type Direction int

const (
	Up   Direction = iota // data from the bridge to the service
	Down                  // data from the service to the bridge
)

// Cut ends a connection after a number of TLS records in one direction. Every message ends with a record, so counting records reaches every
// boundary between messages.
type Cut struct {
	Way   Direction
	After int
}

// Proxy is a TCP proxy between a bridge and the service that simulates network faults.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu          sync.Mutex
	target      string
	connections map[*connection]bool
	cuts        []Cut // cuts for the next connections, in order, one for each
	refuse      bool
	dropping    [2]bool       // whether TLS records are dropped, by direction
	delay       time.Duration // delay of each TLS record
	dropped     int           // number of records dropped since Drop
	cutCount    int           // number of connections that were cut
}

// connection is a bridge's connection through the proxy.
type connection struct {
	bridge, service net.Conn
	cut             *Cut
	passed          [2]int // number of records forwarded, by direction; Cut resets it
	halfClosed      bool
}

// New starts a proxy that ends with the test. Its method SetTarget can be used as sandbox.Config.RouteBridge.
func New(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, connections: map[*connection]bool{}}
	p.running.Go(p.acceptConnections)
	t.Cleanup(func() {
		_ = l.Close()
		p.Reset()
		p.running.Wait()
	})
	return p
}

// SetTarget sets the service's address, to which the proxy connects, and returns the proxy's own address. The error is always nil.
func (p *Proxy) SetTarget(service string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = service
	return p.listener.Addr().String(), nil
}

// Cut applies the first cut to the present connection, counting records from now, and each further cut to the next new connection. Without
// a present connection, the first one is for a new connection, too. It replaces the cuts of an earlier call. On the present connection, at
// least one more record passes before the cut.
func (p *Proxy) Cut(cuts ...Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append([]Cut(nil), cuts...)
	for l := range p.connections {
		l.passed = [2]int{}
		p.assignCut(l)
	}
}

// CutCount returns how many connections Cut has ended.
func (p *Proxy) CutCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cutCount
}

// Refuse ends all connections and refuses new ones, until EndFaults.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Reset()
}

// Drop drops all records in the given directions, or in both if none is given, until EndFaults. Connections stay open.
func (p *Proxy) Drop(ways ...Direction) {
	if len(ways) == 0 {
		ways = []Direction{Up, Down}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped = 0
	for _, way := range ways {
		p.dropping[way] = true
	}
}

// Delay makes the proxy delay each record, until EndFaults.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// DroppedRecords returns how many records were dropped since the last call of Drop or EndFaults.
func (p *Proxy) DroppedRecords() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// EndFaults ends all faults except a half-closed connection, and a cut that a connection already waits for. If records were dropped, it
// also closes the connections, because TLS detects the gap.
func (p *Proxy) EndFaults() {
	p.mu.Lock()
	lost := p.dropped > 0
	p.refuse, p.dropping, p.dropped, p.delay, p.cuts = false, [2]bool{}, 0, 0, nil
	p.mu.Unlock()
	if lost {
		p.Reset()
	}
}

// HalfClose closes one direction of the current connections and leaves the other open.
func (p *Proxy) HalfClose(way Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.connections {
		to := l.service
		if way == Down {
			to = l.bridge
		}
		if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		l.halfClosed = true
	}
}

// Reset closes the current connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.connections {
		l.close()
	}
}

// close closes both sides of the connection.
func (l *connection) close() {
	_ = l.bridge.Close()
	_ = l.service.Close()
}

// acceptConnections accepts connections of bridges until the listener is closed.
func (p *Proxy) acceptConnections() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.forwardConnection(c) })
	}
}

// forwardConnection connects a bridge's connection to the service and forwards in both directions until one side closes.
func (p *Proxy) forwardConnection(c net.Conn) {
	l, err := p.openConnection(c)
	if err != nil {
		_ = c.Close()
		return
	}
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.connections, l)
		p.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() { p.forwardRecords(l, Up, l.bridge, l.service) })
	both.Go(func() { p.forwardRecords(l, Down, l.service, l.bridge) })
	both.Wait()
}

var errRefused = errors.New("refused")

// openConnection connects to the service for a bridge's connection and registers the pair. It fails while the proxy refuses connections.
func (p *Proxy) openConnection(c net.Conn) (*connection, error) {
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
	l := &connection{bridge: c, service: s}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		_ = s.Close()
		return nil, errRefused
	}
	p.assignCut(l)
	p.connections[l] = true
	return l, nil
}

// assignCut gives a connection the next cut, if there is one. The caller holds p.mu.
func (p *Proxy) assignCut(l *connection) {
	l.cut = nil
	if len(p.cuts) > 0 {
		c := p.cuts[0]
		p.cuts, l.cut = p.cuts[1:], &c
	}
}

// forwardRecords forwards TLS records in one direction until one side closes or the connection is cut. Then it closes both sides; if
// HalfClose was called for the connection, only after a cut.
func (p *Proxy) forwardRecords(l *connection, way Direction, from, to net.Conn) {
	var head [5]byte // header of a TLS record: kind, version and length
	for {
		if p.countDueCut(l, way) {
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
		if p.countDrop(way) {
			continue
		}
		p.waitDelay()
		if _, err := to.Write(record); err != nil {
			break
		}
		p.mu.Lock()
		l.passed[way]++
		p.mu.Unlock()
	}
	p.mu.Lock()
	half := l.halfClosed
	p.mu.Unlock()
	if !half {
		l.close()
	}
}

// countDueCut reports whether the connection must be cut now, because as many records have passed in a direction as its cut allows. It
// counts the cut.
func (p *Proxy) countDueCut(l *connection, way Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.cut == nil || l.cut.Way != way || l.passed[way] < l.cut.After {
		return false
	}
	p.cutCount++
	return true
}

// countDrop reports whether the next record in a direction must be dropped, and counts it then.
func (p *Proxy) countDrop(way Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropping[way] {
		p.dropped++
	}
	return p.dropping[way]
}

// waitDelay waits for the duration that Delay has set.
func (p *Proxy) waitDelay() {
	p.mu.Lock()
	d := p.delay
	p.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
}
