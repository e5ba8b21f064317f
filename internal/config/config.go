// Package config holds every setting of the server with its default and its explanation, in one place. Flags win over the
// environment (LATCHKEY_ and the flag's name), and that over the file given with --config. What is written beside a flag here
// is what --help shows.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
)

// Config is what a server is started with.
type Config struct {
	DataDir string `group:"serve-data" default:"latchkey-data" type:"path" help:"Directory of the embedded database, its key and the operators' socket. Made if it is not there."`

	Database      string   `group:"serve-data" placeholder:"URL" help:"Where the data is: sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME. Left out: the embedded database in the data directory."`
	DatabaseConns int      `group:"serve-data" default:"16" help:"Connections to PostgreSQL that this process holds at most, 4 to 1000; all nodes together must stay below what the server allows. The node that runs background jobs uses one more."`
	KeyFile       string   `group:"serve-data" type:"path" placeholder:"PATH" help:"The key-encryption key, made with mode 0600 at the first start. Keep a copy: without it nothing sealed can be read again. Left out: DATA-DIR.key beside the data directory."`
	Key           string   `group:"serve-data" placeholder:"KEYS" help:"The key-encryption key itself, instead of a file. Better given by the environment than as a flag."`
	KeyCommand    []string `group:"serve-data" placeholder:"ARG" help:"A program, and its arguments, that prints the key-encryption key, such as a client of your KMS."`
	Listen        Listen   `group:"serve-listen" embed:"" prefix:"listen-"`
	TLS           TLS      `group:"serve-listen" embed:"" prefix:"tls-"`
	OpsTokenFile  string   `group:"serve-listen" type:"path" placeholder:"PATH" help:"A file with the token that scrapers and health checks show to --listen-ops as a bearer token. Left out: none is needed, and the listener must be on loopback."`
	Profiles      bool     `group:"serve-listen" help:"Serve /debug/pprof at --listen-ops."`
	Insecure      bool     `group:"serve-listen" help:"Serve without TLS on addresses other than loopback, because something in front ends TLS."`
	BridgeAddress string   `group:"serve-listen" placeholder:"HOST:PORT" help:"The address that bridges are told to connect to. They keep it, so give a name that stays: with several nodes one that leads to all of them. Left out: what the bridges' listener listens on."`

	ClockOffsetLimit time.Duration `group:"serve-nodes" default:"2s" help:"How far this machine's clock may be off the database's. A node beyond that is unready while another node is within it. At least 100ms."`

	NATS    NATS    `group:"serve-nodes" embed:"" prefix:"nats-"`
	Partner Partner `group:"serve-partners" embed:"" prefix:"partner-"`
	Rate    Rate    `group:"serve-partners" embed:"" prefix:"rate-"`

	TrustedProxies []netip.Prefix `group:"serve-listen" placeholder:"CIDR" help:"Proxies whose X-Forwarded-For is believed."`
	// ConnectionsPerAddress bounds each listener but the operators' socket.
	ConnectionsPerAddress int `group:"serve-listen" default:"512" help:"Connections that one address, of IPv6 one /64, may hold at each listener. Those of trusted proxies are not counted: name with --trusted-proxies what many bridges or callers come through."`

	KeepEvents   time.Duration  `group:"serve-running" default:"365d" help:"How long events (used by explain), notices and closed conflicts are kept. A problem still open after that is reported again. At least 30d."`
	SpacesEvery  time.Duration  `group:"serve-partners" default:"15m" help:"How often getSpaces of each partner is read, give or take a tenth."`
	DrainGrace   *time.Duration `group:"serve-running" placeholder:"DURATION" help:"At a stop, how long the server still answers while it says that it is not ready, so that load balancers notice. Left out: 5s, or 0 where every listener is on loopback."`
	Drain        time.Duration  `group:"serve-running" default:"20s" help:"At a stop, bridges are asked to leave spread over this time."`
	CallDeadline time.Duration  `group:"serve-running" default:"30s" help:"The longest a call may take."`

	Log       Log       `group:"serve-running" embed:"" prefix:"log-"`
	Telemetry Telemetry `group:"serve-running" embed:"" prefix:"otlp-"`
}

// Listen are the addresses. Port 0 is a free one.
type Listen struct {
	HTTP   string `default:"127.0.0.1:7080" help:"REST, Connect, gRPC-Web and the documentation."`
	GRPC   string `default:"127.0.0.1:7070" help:"gRPC, and the enrolment of bridges."`
	Bridge string `default:"127.0.0.1:7090" help:"The bridges' streams. Always mutual TLS, with certificates of our own."`
	Ops    string `default:"127.0.0.1:7099" help:"Metrics and health. On another address than loopback it needs --ops-token-file."`
}

// TLS of the HTTP and gRPC listeners.
type TLS struct {
	Cert    string   `type:"path" placeholder:"PATH" help:"Certificate chain of the HTTP and gRPC listeners, PEM. Read anew when it changes."`
	Key     string   `type:"path" placeholder:"PATH" help:"Its key, PEM."`
	Domains []string `placeholder:"NAME" help:"Get certificates for these names from Let's Encrypt (ACME), instead of files. The HTTP listener must be reachable at port 443."`
	ACME    string   `name:"acme" placeholder:"URL" help:"Directory of another ACME authority than Let's Encrypt."`
}

// NATS carries wake-ups between nodes.
type NATS struct {
	URL         string `name:"url" placeholder:"URL" help:"The cluster that carries wake-ups between nodes. Left out: embedded, for one node."`
	Credentials string `type:"path" placeholder:"PATH" help:"Credentials file for the cluster."`
	CA          string `type:"path" placeholder:"PATH" help:"Certificates to trust for the cluster, PEM."`
	Cert        string `type:"path" placeholder:"PATH" help:"Client certificate for the cluster, PEM."`
	Key         string `type:"path" placeholder:"PATH" help:"Its key, PEM."`
}

// Partner bounds the calls to partners.
type Partner struct {
	Allow []string `placeholder:"HOST[:PORT]" help:"Hosts that partners' endpoints may be at although they are private addresses or plain HTTP. None by default."`
	Ports []uint16 `placeholder:"PORT" help:"Ports beside 443 and 8443 that partners' endpoints may use."`
	Deny  []string `placeholder:"CIDR" help:"Ranges of your own that partners' endpoints must not be at."`
}

// Rate bounds calls: of one integration, and of one token of staff, a script or an operator.
type Rate struct {
	PerMinute      int `default:"600" help:"Calls a minute, batches aside."`
	Burst          int `default:"100" help:"Calls at once."`
	BatchPerMinute int `default:"30" help:"Batch calls a minute."`
	StaffPerMinute int `default:"6000" help:"Calls a minute with one token of staff, a script or an operator."`
	StaffBurst     int `default:"1000" help:"Calls at once with one such token."`
}

// Log says how much and how.
type Log struct {
	Level  string `default:"info" enum:"debug,info,warn,error" help:"The least level that is written: debug, info, warn or error."`
	Format string `default:"text" enum:"text,json" help:"text or json."`
}

// Telemetry says where traces go.
type Telemetry struct {
	URL string `name:"url" placeholder:"URL" help:"Where traces go, such as http://localhost:4317 (OTLP over gRPC). Left out: nowhere."`
}

// Default is what a server runs with when nothing is said, as the flags' own defaults are.
func Default() Config {
	return Config{
		DataDir: "latchkey-data", DatabaseConns: 16,
		Listen:                Listen{HTTP: "127.0.0.1:7080", GRPC: "127.0.0.1:7070", Bridge: "127.0.0.1:7090", Ops: "127.0.0.1:7099"},
		Rate:                  Rate{PerMinute: 600, Burst: 100, BatchPerMinute: 30, StaffPerMinute: 6000, StaffBurst: 1000},
		ConnectionsPerAddress: 512,

		KeepEvents:   365 * 24 * time.Hour,
		SpacesEvery:  15 * time.Minute,
		Drain:        20 * time.Second,
		CallDeadline: 30 * time.Second, ClockOffsetLimit: 2 * time.Second,
		Log: Log{Level: "info", Format: "text"},
	}
}

// DatabaseURL is the database, by default the embedded one in the data directory.
func (c Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return "sqlite:" + filepath.Join(c.DataDir, "latchkey.db")
}

// defaultGrace is longer than a load balancer takes that asks each second or two.
const defaultGrace = 5 * time.Second

// Grace is how long a server that stops still answers while it says that it is not ready.
func (c Config) Grace() time.Duration {
	if c.DrainGrace != nil {
		return *c.DrainGrace
	}
	for _, address := range []string{c.Listen.HTTP, c.Listen.GRPC, c.Listen.Bridge} {
		if host, _, err := net.SplitHostPort(address); err != nil || !Loopback(host) {
			return defaultGrace
		}
	}
	return 0
}

// KeyPath is the key file, by default beside the data directory and so outside of what a copy of the data holds.
func (c Config) KeyPath() string {
	if c.KeyFile != "" {
		return c.KeyFile
	}
	return filepath.Clean(c.DataDir) + ".key"
}

// SocketPath is the operators' Unix socket.
func (c Config) SocketPath() string { return filepath.Join(c.DataDir, "operator.sock") }

// Validate says everything that is wrong.
func (c Config) Validate() error {
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if c.DataDir == "" {
		fail("--data-dir is empty")
	}
	for flag, addr := range map[string]string{"http": c.Listen.HTTP, "grpc": c.Listen.GRPC, "bridge": c.Listen.Bridge, "ops": c.Listen.Ops} {
		host, _, err := net.SplitHostPort(addr)
		switch {
		case err != nil:
			fail("--listen-%s %q: want HOST:PORT", flag, addr)
		case flag == "ops" && !Loopback(host) && c.OpsTokenFile == "":
			fail("--listen-ops %q: needs --ops-token-file on an address other than loopback", addr)
		case flag != "bridge" && !Loopback(host) && !c.Insecure && !c.TLS.On():
			fail("--listen-%s %q: needs --tls-cert and --tls-key (or --tls-domains), or --insecure if TLS ends in front of it", flag, addr)
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		fail("--tls-cert and --tls-key go together")
	}
	if c.KeepEvents < 30*24*time.Hour {
		fail("--keep-events must be at least 30d")
	}
	if (c.NATS.Cert == "") != (c.NATS.Key == "") {
		fail("--nats-cert and --nats-key go together")
	}
	if c.DatabaseConns < 4 || c.DatabaseConns > 1000 {
		fail("--database-conns must be from 4 to 1000")
	}
	if c.ConnectionsPerAddress < 8 {
		fail("--connections-per-address must be at least 8")
	}
	if c.ClockOffsetLimit < 100*time.Millisecond {
		fail("--clock-offset-limit must be at least 100ms")
	}
	if c.TLS.ACME != "" && len(c.TLS.Domains) == 0 {
		fail("--tls-acme goes with --tls-domains")
	}
	if c.TLS.Cert != "" && len(c.TLS.Domains) > 0 {
		fail("--tls-domains goes without --tls-cert")
	}
	if g := c.Grace(); g < 0 || g > 5*time.Minute {
		fail("--drain-grace must be from 0 to 5m")
	}
	for flag, d := range map[string]time.Duration{"spaces-every": c.SpacesEvery, "call-deadline": c.CallDeadline} {
		if d < time.Second {
			fail("--%s must be at least 1s", flag)
		}
	}
	for flag, n := range map[string]int{
		"per-minute": c.Rate.PerMinute, "burst": c.Rate.Burst, "batch-per-minute": c.Rate.BatchPerMinute,
		"staff-per-minute": c.Rate.StaffPerMinute, "staff-burst": c.Rate.StaffBurst,
	} {
		if n < 1 {
			fail("--rate-%s must be at least 1", flag)
		}
	}
	return errors.Join(wrong...)
}

// On says whether the HTTP and gRPC listeners have TLS.
func (t TLS) On() bool { return t.Cert != "" || len(t.Domains) > 0 }

// Loopback reports whether a host is this machine, by its name or its address.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
