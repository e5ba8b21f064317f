// Package config holds all settings of the server with their defaults and explanations. Flags take precedence over environment variables
// (LATCHKEY_ and the flag's name), and these over the file given with --config. The text next to a flag is its --help.
package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// Config is the configuration of a server.
type Config struct {
	DataDir string `group:"serve-data" default:"latchkey-data" type:"path" help:"Directory of the embedded database and the operators' socket. It is created if it does not exist."`

	Database      string   `group:"serve-data" placeholder:"URL" help:"The database: sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME. Default: the embedded database in the data directory."`
	DatabaseConns int      `group:"serve-data" default:"16" help:"Maximum number of connections to PostgreSQL of this process, 4 to 1000. All nodes together must stay below the database server's limit. The node that runs background jobs uses one more."`
	KeyFile       string   `group:"serve-data" type:"path" placeholder:"PATH" help:"File with the key-encryption key. It is created with mode 0600 at the first start. Keep a copy: without it, encrypted data is lost. Default: DATA-DIR.key, next to the data directory."`
	Key           string   `group:"serve-data" placeholder:"KEYS" help:"The key-encryption key itself, instead of a file. Prefer the environment variable to the flag."`
	KeyCommand    []string `group:"serve-data" placeholder:"ARG" help:"A program with its arguments that prints the key-encryption key, such as a client of your KMS."`
	Listen        Listen   `group:"serve-listen" embed:"" prefix:"listen-"`
	TLS           TLS      `group:"serve-listen" embed:"" prefix:"tls-"`
	OpsTokenFile  string   `group:"serve-listen" type:"path" placeholder:"PATH" help:"File with the bearer token that scrapers and health checks send to --listen-ops. Default: no token is needed, and the listener must be on loopback."`
	Profiles      bool     `group:"serve-listen" help:"Serve /debug/pprof at --listen-ops."`
	Insecure      bool     `group:"serve-listen" help:"Serve without TLS on addresses other than loopback. Use it if a proxy in front terminates TLS."`
	BridgeAddress string   `group:"serve-listen" placeholder:"HOST:PORT" help:"The address that the server gives to bridges. Bridges store it, so use a permanent name; with several nodes, a name that resolves to all of them. Default: the address of --listen-bridge."`

	PublicURL string `group:"serve-listen" placeholder:"URL" help:"The address of the HTTP listener as guests reach it, such as https://checkin.example.com. Links in mails begin with it. Default: the address of --listen-http."`

	ClockOffsetLimit time.Duration `group:"serve-nodes" default:"2s" help:"Maximum difference between this machine's clock and the database's. A node above it is not ready as long as another node is within it. Minimum 100ms."`

	NATS    NATS    `group:"serve-nodes" embed:"" prefix:"nats-"`
	Partner Partner `group:"serve-partners" embed:"" prefix:"partner-"`
	Mail    Mail    `group:"serve-partners" embed:"" prefix:"mail-"`
	Rate    Rate    `group:"serve-partners" embed:"" prefix:"rate-"`
	OIDC    OIDC    `group:"serve-staff" embed:"" prefix:"oidc-"`

	TrustedProxies []netip.Prefix `group:"serve-listen" placeholder:"CIDR" help:"Proxies whose X-Forwarded-For is trusted."`
	// ConnectionsPerAddress applies to each listener except the operators' socket.
	ConnectionsPerAddress int `group:"serve-listen" default:"512" help:"Maximum number of connections of one IPv4 address or IPv6 /64 to each listener. Connections of trusted proxies are not counted: list proxies of many bridges or callers in --trusted-proxies."`

	KeepEvents   time.Duration  `group:"serve-running" default:"365d" help:"How long events (used by explain), notices and closed conflicts are kept. A problem that is still open after that is reported again. Minimum 30d."`
	KeepAudit    time.Duration  `group:"serve-running" default:"1095d" help:"How long the audit log, who changed or saw what, is kept. Minimum 365d."`
	KeepStays    time.Duration  `group:"serve-running" default:"400d" help:"How long reservations, their access, phones and events are kept after the end of the stay. After that they are removed, and late changes of the PMS to them are answered with stale. Minimum 30d."`
	SpacesEvery  time.Duration  `group:"serve-partners" default:"15m" help:"How often the server calls getSpaces of each partner, plus or minus a tenth."`
	DrainGrace   *time.Duration `group:"serve-running" placeholder:"DURATION" help:"How long a stopping server still answers while it reports that it is not ready, so that load balancers notice. Default: 5s, or 0 if every listener is on loopback."`
	Drain        time.Duration  `group:"serve-running" default:"20s" help:"How long a stopping server takes to disconnect its bridges, one after the other."`
	CallDeadline time.Duration  `group:"serve-running" default:"30s" help:"Maximum duration of a call."`

	Log       Log       `group:"serve-running" embed:"" prefix:"log-"`
	Telemetry Telemetry `group:"serve-running" embed:"" prefix:"otlp-"`
}

// Listen holds the addresses of the listeners, each HOST:PORT and required. Port 0 selects a free port.
type Listen struct {
	HTTP   string `default:"127.0.0.1:7080" help:"REST, Connect, gRPC-Web and the documentation."`
	GRPC   string `default:"127.0.0.1:7070" help:"gRPC, and the enrolment of bridges."`
	Bridge string `default:"127.0.0.1:7090" help:"Control streams of bridges. Always mutual TLS, with certificates of the server's own authority."`
	Ops    string `default:"127.0.0.1:7099" help:"Metrics and health. An address other than loopback needs --ops-token-file."`
}

// TLS configures the HTTP and gRPC listeners.
type TLS struct {
	Cert    string   `type:"path" placeholder:"PATH" help:"Certificate chain of the HTTP and gRPC listeners, PEM. It is reloaded when it changes."`
	Key     string   `type:"path" placeholder:"PATH" help:"Its key, PEM."`
	Domains []string `placeholder:"NAME" help:"Get certificates for these names from Let's Encrypt (ACME), instead of files. The HTTP listener must be reachable at port 443."`
	ACME    string   `name:"acme" placeholder:"URL" help:"ACME directory of an authority other than Let's Encrypt."`
}

// NATS configures the cluster that carries wake-ups between nodes.
type NATS struct {
	URL         string `name:"url" placeholder:"URL" help:"The cluster that carries wake-ups between nodes. Default: an embedded server, for one node."`
	Credentials string `type:"path" placeholder:"PATH" help:"Credentials file for the cluster."`
	CA          string `type:"path" placeholder:"PATH" help:"Certificates to trust for the cluster, PEM."`
	Cert        string `type:"path" placeholder:"PATH" help:"Client certificate for the cluster, PEM."`
	Key         string `type:"path" placeholder:"PATH" help:"Its key, PEM."`
}

// Partner has the rules for the addresses that the endpoints of partners may have.
type Partner struct {
	Allow []string `placeholder:"HOST[:PORT]" help:"Hosts that partners' endpoints may use even with private addresses or plain HTTP. None by default."`
	Ports []uint16 `placeholder:"PORT" help:"Ports that partners' endpoints may use in addition to 443 and 8443."`
	Deny  []string `placeholder:"CIDR" help:"Your own address ranges, which partners' endpoints must not use."`
}

// Mail limits which mail servers properties may use: by default only those with a public address and a usual port.
type Mail struct {
	Allow []string `placeholder:"HOST[:PORT]" help:"Mail servers that properties may use although they have private addresses or unusual ports. Others must have a public address and port 25, 465, 587 or 2525. None by default."`
}

// OIDC names the identity provider with which staff can sign in. The zero OIDC means that there is none.
type OIDC struct {
	Issuer           string `placeholder:"URL" help:"Let staff sign in at this identity provider (OpenID Connect): its issuer, such as https://accounts.google.com, exactly as the provider writes it. Give the provider the redirect address PUBLIC-URL/app/login/oidc/callback. Default: none."`
	ClientID         string `name:"client-id" placeholder:"ID" help:"The client's id at the identity provider."`
	ClientSecretFile string `type:"path" placeholder:"PATH" help:"File with the client's secret. It is read at each start."`
	ClientSecret     string `placeholder:"SECRET" help:"The client's secret itself, instead of a file. Prefer the environment variable to the flag."`
	Label            string `placeholder:"NAME" help:"The provider's name on the sign-in page, such as Google. Default: the host of the issuer."`
}

// Rate limits calls per integration, and per token of staff, a script or an operator.
type Rate struct {
	PerMinute      int `default:"600" help:"Calls per minute, except batches."`
	Burst          int `default:"100" help:"Burst of calls."`
	BatchPerMinute int `default:"30" help:"Batch calls per minute."`
	StaffPerMinute int `default:"6000" help:"Calls per minute with one token of staff, a script or an operator."`
	StaffBurst     int `default:"1000" help:"Burst of calls with one such token."`
}

// Log configures logging.
type Log struct {
	Level  string `default:"info" enum:"debug,info,warn,error" help:"Minimum level of log entries: debug, info, warn or error."`
	Format string `default:"text" enum:"text,json" help:"text or json."`
}

// Telemetry configures tracing.
type Telemetry struct {
	URL string `name:"url" placeholder:"URL" help:"Address for traces, such as http://localhost:4317 (OTLP over gRPC). Default: no traces are sent."`
}

// Default returns the configuration of a server without any flag. Its defaults are the same as those of the flags.
func Default() Config {
	return Config{
		DataDir: "latchkey-data", DatabaseConns: 16,
		Listen:                Listen{HTTP: "127.0.0.1:7080", GRPC: "127.0.0.1:7070", Bridge: "127.0.0.1:7090", Ops: "127.0.0.1:7099"},
		Rate:                  Rate{PerMinute: 600, Burst: 100, BatchPerMinute: 30, StaffPerMinute: 6000, StaffBurst: 1000},
		ConnectionsPerAddress: 512,

		KeepEvents:   365 * 24 * time.Hour,
		KeepStays:    400 * 24 * time.Hour,
		KeepAudit:    1095 * 24 * time.Hour,
		SpacesEvery:  15 * time.Minute,
		Drain:        20 * time.Second,
		CallDeadline: 30 * time.Second, ClockOffsetLimit: 2 * time.Second,
		Log: Log{Level: "info", Format: "text"},
	}
}

// DatabaseURL returns the URL of the database, by default that of the embedded one in the data directory.
func (c Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return "sqlite:" + filepath.Join(c.DataDir, "latchkey.db")
}

// defaultGrace is how long a stopping server still answers calls if DrainGrace is not set and a listener is not on loopback. It is longer
// than the interval of load balancers that check every second or two.
const defaultGrace = 5 * time.Second

// Grace returns how long a stopping server still answers calls while it reports that it is not ready, so that load balancers send no new
// ones. It is DrainGrace if that is set. Otherwise it is 0 if every listener is on loopback, else defaultGrace (5 s): load balancers ask
// the operations listener.
func (c Config) Grace() time.Duration {
	if c.DrainGrace != nil {
		return *c.DrainGrace
	}
	for _, address := range []string{c.Listen.HTTP, c.Listen.GRPC, c.Listen.Bridge, c.Listen.Ops} {
		if host, _, err := net.SplitHostPort(address); err != nil || !IsLoopback(host) {
			return defaultGrace
		}
	}
	return 0
}

// KeyPath returns the path of the key file, also if the key comes from elsewhere. By default the file is next to the data directory, so
// that a copy of the data does not contain it.
func (c Config) KeyPath() string {
	if c.KeyFile != "" {
		return c.KeyFile
	}
	return filepath.Clean(c.DataDir) + ".key"
}

// SocketPath returns the path of the operators' Unix socket.
func (c Config) SocketPath() string { return filepath.Join(c.DataDir, "operator.sock") }

// On reports whether the HTTP and gRPC listeners use TLS.
func (t TLS) On() bool { return t.Cert != "" || len(t.Domains) > 0 }

// On reports whether staff can sign in at an identity provider.
func (o OIDC) On() bool { return o.Issuer != "" }

// Name returns the identity provider's name on the button for signing in: the label or, without one, the host of the issuer.
func (o OIDC) Name() string {
	if o.Label != "" {
		return o.Label
	}
	u, err := url.Parse(o.Issuer)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// maxLabel is the maximum length of the provider's name in characters: it is on a button.
const maxLabel = 40

// maxIssuer is the maximum length of the issuer in bytes: it is stored with each linked person.
const maxIssuer = 255

// validate returns all errors of the settings of the identity provider. Other settings without an issuer are an error; no setting at all is
// none.
func (o OIDC) validate() (wrong []error) {
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !o.On() {
		if o != (OIDC{}) {
			fail("--oidc-client-id, --oidc-client-secret, --oidc-client-secret-file and --oidc-label need --oidc-issuer")
		}
		return wrong
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(o.Issuer) > maxIssuer || u.Scheme != "https" && (u.Scheme != "http" || !IsLoopback(u.Hostname())) {
		fail("--oidc-issuer %q: must be an https:// address without query and fragment, at most %d characters; http:// only on loopback", o.Issuer, maxIssuer)
	}
	if o.ClientID == "" {
		fail("--oidc-issuer needs --oidc-client-id")
	}
	if (o.ClientSecret == "") == (o.ClientSecretFile == "") {
		fail("--oidc-issuer needs either --oidc-client-secret-file or --oidc-client-secret")
	}
	if utf8.RuneCountInString(o.Label) > maxLabel {
		fail("--oidc-label must have at most %d characters", maxLabel)
	}
	return wrong
}

// IsLoopback reports whether a host is "localhost" or a loopback address. It resolves no names.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
