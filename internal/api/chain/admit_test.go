package chain_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/api/chain"
)

// TestUnknownMethodsCostLittle has a stranger make up long names without end.
func TestUnknownMethodsCostLittle(t *testing.T) {
	var log bytes.Buffer
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(), Limits: chain.Limits{PerMinute: 1, Burst: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}})
	call := func(method string) error {
		_, err := c.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, nil)
		return err
	}
	long := "/" + strings.Repeat("é", 2000)
	err = call(long)
	if code, _, _, _ := told(err); code != codes.Unimplemented || len(err.Error()) > 400 || !strings.Contains(err.Error(), long[:100]) {
		t.Errorf("a long name: %d bytes, %.500v", len(err.Error()), err)
	}
	if code, _, _, _ := told(call("/short.Service/Nothing")); code != codes.Unimplemented {
		t.Errorf("a short one: %v", code)
	}
	if code, reason, _, _ := told(call("/short.Service/Nothing")); code != codes.ResourceExhausted || reason != "rateLimited" {
		t.Errorf("one too many: %v %v", code, reason)
	}
	if lines := log.String(); strings.Count(lines, "msg=call") != 3 || len(lines) > 1500 {
		t.Errorf("logged: %.1600s", lines)
	}
}
