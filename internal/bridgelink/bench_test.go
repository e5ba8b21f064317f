package bridgelink

import (
	"context"
	"crypto/x509"
	"runtime"
	"testing"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
)

// quiet is a stream whose bridge sends Hello and then nothing.
type quiet struct {
	ctx     context.Context
	hello   chan *lockv1.ConnectRequest
	welcome chan struct{}
}

func (q *quiet) Context() context.Context { return q.ctx }

func (q *quiet) Send(*lockv1.ConnectResponse) error {
	q.welcome <- struct{}{}
	return nil
}

func (q *quiet) Recv() (*lockv1.ConnectRequest, error) {
	select {
	case m := <-q.hello:
		return m, nil
	case <-q.ctx.Done():
		return nil, q.ctx.Err()
	}
}

// BenchmarkIdleSession measures the memory of a session of a bridge with two locks, without gRPC's own stream.
func BenchmarkIdleSession(b *testing.B) {
	s := newSite(b, "sqlite")
	n := New(Config{DB: s.db, Keys: s.keys, CA: s.ca, Bus: s.bus, timings: s.pace})
	const many = 200
	bridges := make([]*device, many)
	shown := make([][]byte, many)
	for i := range bridges {
		bridges[i] = s.enrol("front", "back")
		shown[i] = keyOf(b, bridges[i])
	}
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		before := inUse()
		ended := make(chan cause, many)
		for i, br := range bridges {
			q := &quiet{ctx: ctx, hello: make(chan *lockv1.ConnectRequest, 1), welcome: make(chan struct{})}
			q.hello <- br.hello()
			go func() {
				ended <- newSession(n, q).run(bridge.Identity{PropertyID: s.propertyID, BridgeID: br.id}, shown[i])
			}()
			<-q.welcome
		}
		b.ReportMetric(float64(inUse()-before)/many, "B/session")
		cancel()
		for range many {
			<-ended
		}
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func keyOf(t testing.TB, b *device) []byte {
	t.Helper()
	cert, err := x509.ParseCertificate(b.cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return bridge.PublicKeyHash(cert)
}
