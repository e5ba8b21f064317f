package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/test/bustest"
)

func TestMain(m *testing.M) {
	bustest.Main()
	goleak.VerifyTestMain(m)
}

// each runs f on the embedded bus and on two connections to a server by URL.
func each(t *testing.T, f func(t *testing.T, here, there *bus.Bus)) {
	t.Run("embedded", func(t *testing.T) {
		b := open(t, bus.Config{})
		f(t, b, b)
	})
	t.Run("url", func(t *testing.T) {
		url := startServer(t)
		f(t, open(t, bus.Config{URL: url, Name: "here"}), open(t, bus.Config{URL: url, Name: "there"}))
	})
}

func open(t *testing.T, cfg bus.Config) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func startServer(t *testing.T) string {
	t.Helper()
	return startServerWith(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
}

func startServerWith(t *testing.T, o *server.Options) string {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS did not start")
	}
	return s.ClientURL()
}

func TestSubscribersReceiveMessagesInOrder(t *testing.T) {
	each(t, func(t *testing.T, here, there *bus.Bus) {
		got := make(chan bus.Message, 100)
		stop, err := there.Subscribe("lock.*.changed", func(m bus.Message) { got <- m })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		for i := range 100 {
			if err := here.Publish(fmt.Sprintf("lock.l%d.changed", i), []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			if m := <-got; m.Subject != fmt.Sprintf("lock.l%d.changed", i) || !bytes.Equal(m.Payload, []byte{byte(i)}) {
				t.Fatalf("message %d: %+v", i, m)
			}
		}
	})
}

func TestRequests(t *testing.T) {
	each(t, func(t *testing.T, here, there *bus.Bus) {
		if _, err := here.Request(t.Context(), "bridge.b1", nil); !errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("before: %v, want no responder", err)
		}
		stop, err := there.Respond("bridge.b1", func(_ context.Context, m bus.Message) ([]byte, error) {
			if string(m.Payload) == "fail" {
				return nil, errors.New("line one\nline two")
			}
			return append([]byte("re: "), m.Payload...), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := here.Request(t.Context(), "bridge.b1", []byte("act_1")); err != nil || string(got) != "re: act_1" {
			t.Errorf("answer %q, %v", got, err)
		}
		var remote *bus.RemoteError
		if _, err := here.Request(t.Context(), "bridge.b1", []byte("fail")); !errors.As(err, &remote) || remote.Text != "line one line two" {
			t.Errorf("error %v, want the responder's in one line", err)
		}
		stop()
		if err := there.Publish("sync", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Request(t.Context(), "bridge.b1", nil); !errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("after stop: %v, want no responder", err)
		}
	})
}

func TestSlowAnswerDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, here, there *bus.Bus) {
		free := make(chan struct{})
		_, err := there.Respond("bridge.b1", func(ctx context.Context, m bus.Message) ([]byte, error) {
			if string(m.Payload) == "slow" {
				<-free
			}
			return m.Payload, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := here.Request(context.Background(), "bridge.b1", []byte("slow")); err != nil {
				t.Error(err)
			}
		})
		for range 10 {
			if _, err := here.Request(t.Context(), "bridge.b1", []byte("quick")); err != nil {
				t.Error(err)
			}
		}
		close(free)
		wg.Wait()
	})
}

// A responder that ends only because its bus closes still answers, and the requester does not wait for its time limit.
func TestCloseSendsTheLastAnswers(t *testing.T) {
	url := startServer(t)
	here, there := open(t, bus.Config{URL: url, Name: "here"}), open(t, bus.Config{URL: url, Name: "there"})
	asked, others := make(chan struct{}), make(chan struct{})
	_, err := there.Respond("bridge.b1", func(ctx context.Context, m bus.Message) ([]byte, error) {
		if len(m.Payload) == 0 {
			return nil, nil
		}
		close(asked)
		<-ctx.Done()
		<-others
		_, err := there.Subscribe("x", func(bus.Message) {}) // a connection that ends refuses this
		return m.Payload, err
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-asked
		go func() { _ = there.Close() }()
		// A request during the shutdown is refused at once, or finds no responder.
		_, err := here.Request(context.Background(), "bridge.b1", nil)
		for err == nil {
			_, err = here.Request(context.Background(), "bridge.b1", nil)
		}
		close(others)
	}()
	if got, err := here.Request(t.Context(), "bridge.b1", []byte("last")); err != nil || string(got) != "last" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRequestEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, here, there *bus.Bus) {
		_, err := there.Respond("bridge.b1", func(ctx context.Context, _ bus.Message) ([]byte, error) {
			<-ctx.Done() // until the bus closes
			return nil, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := here.Request(ctx, "bridge.b1", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestBadMessagesAreRefused(t *testing.T) {
	b := open(t, bus.Config{})
	for _, subject := range []string{"", "a b", "a.*", "a.>", ".a", "a.", "a..b", "a\n", strings.Repeat("a", 257)} {
		if b.Publish(subject, nil) == nil {
			t.Errorf("subject %q was accepted", subject)
		}
		if _, err := b.Request(t.Context(), subject, nil); err == nil || errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("request on %q: %v", subject, err)
		}
	}
	if b.Publish("a", make([]byte, bus.MaxPayload+1)) == nil {
		t.Error("an oversized message was accepted")
	}
}

func BenchmarkRequest(b *testing.B) {
	bb, err := bus.Open(b.Context(), bus.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer bb.Close()
	if _, err := bb.Respond("echo", func(_ context.Context, m bus.Message) ([]byte, error) { return m.Payload, nil }); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := bb.Request(b.Context(), "echo", []byte("x")); err != nil {
			b.Fatal(err)
		}
	}
}
