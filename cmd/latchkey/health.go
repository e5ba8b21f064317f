package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"latchkey.dev/internal/config"
)

// healthCommand asks a server on this machine whether it is ready.
type healthCommand struct {
	DataDir string        `default:"${data_dir}" type:"path" env:"LATCHKEY_DATA_DIR" help:"Data directory of the server; the command uses the Unix socket in it."`
	Timeout time.Duration `default:"5s" help:"How long to wait for an answer."`
}

// Help returns what --help adds: what the exit codes mean.
func (*healthCommand) Help() string {
	return "Exit code 0: the server is ready, or degraded but answering calls. Exit code 1: the server is unready, or does not answer. The output says why."
}

// Run prints the server's answer to /readyz. It fails if the server is unready or does not answer. A degraded server that answers calls is
// no failure.
func (c *healthCommand) Run(ctx context.Context, to *streams) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	socket := config.Config{DataDir: c.DataDir}.SocketPath()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return healthUnanswered(c.DataDir, socket, err)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("read the answer of the server at %s: %w", socket, err)
	}
	state := strings.TrimSpace(string(text))
	if res.StatusCode != http.StatusOK {
		return errors.New(state)
	}
	fmt.Fprintln(to.out, state)
	return nil
}

// healthUnanswered returns the error of a request over the socket that got no answer because of err, an error of the HTTP client. It says
// that no server answers there or, if the socket belongs to another user, only that, because then it is unknown whether a server runs.
func healthUnanswered(dataDir, socket string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return noSocket(dataDir, errors.Unwrap(err))
	}
	return fmt.Errorf("no server answers at %s: %w", socket, errors.Unwrap(err))
}
