// Package z2mtest simulates Zigbee2MQTT with virtual locks behind a real Mosquitto broker. Like Zigbee2MQTT, it does not answer some
// commands.
package z2mtest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/test/porttest"
)

const brokerWait = 20 * time.Second

// Broker is a Mosquitto process on a loopback port, which stays reserved while it does not run.
type Broker struct {
	t      testing.TB
	config string
	cmd    *exec.Cmd
	// Addr is the broker's host:port, also after a restart.
	Addr string
}

// StartBroker starts a Mosquitto until the test ends. lines replace the default configuration, which allows anonymous clients. It fails
// the test if Mosquitto is not installed.
func StartBroker(t testing.TB, lines ...string) *Broker {
	t.Helper()
	address := porttest.Reserve(t)
	_, port, _ := strings.Cut(address, ":")
	b := &Broker{t: t, Addr: address, config: filepath.Join(t.TempDir(), "mosquitto.conf")}
	if len(lines) == 0 {
		lines = []string{"allow_anonymous true"}
	}
	all := append([]string{"listener " + port + " 127.0.0.1", "persistence false", "log_dest stderr"}, lines...)
	if os.Getuid() == 0 {
		all = append(all, "user root") // otherwise it drops its rights and cannot read the test's files
	}
	if err := os.WriteFile(b.config, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Start()
	t.Cleanup(b.Stop)
	return b
}

// mosquitto returns the path of the program, or fails the test.
func mosquitto(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"mosquitto", "/usr/sbin/mosquitto"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no mosquitto on this machine: apt-get install mosquitto, or make test, which does it")
	return ""
}

// Start starts the broker, also again after Stop.
func (b *Broker) Start() {
	b.t.Helper()
	b.cmd = exec.CommandContext(context.WithoutCancel(b.t.Context()), mosquitto(b.t), "-c", b.config)
	stderr, err := b.cmd.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	running := make(chan string, 1)
	go func() {
		last := ""
		for lines := bufio.NewScanner(stderr); lines.Scan(); last = lines.Text() {
			if strings.HasSuffix(lines.Text(), " running") {
				running <- ""
			}
		}
		select {
		case running <- "mosquitto ended: " + last:
		default:
		}
	}()
	select {
	case failure := <-running:
		if failure != "" {
			b.t.Fatal(failure)
		}
	case <-time.After(brokerWait):
		b.t.Fatal("mosquitto does not start")
	}
}

// Stop kills the broker.
func (b *Broker) Stop() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	b.cmd = nil
}
