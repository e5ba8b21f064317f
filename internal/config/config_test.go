package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"latchkey.dev/internal/clock"
)

// durations are read as the command line reads them.
var durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := clock.ParseDuration(text)
	target.SetInt(int64(d))
	return err
}))

func TestDefaultsAreTheFlags(t *testing.T) {
	var c Config
	p, err := kong.New(&c, kong.DefaultEnvars("LATCHKEY_TEST"), durations)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(c.DataDir, "/latchkey-data") {
		t.Errorf("data directory %q", c.DataDir)
	}
	c.DataDir = Default().DataDir
	if d := cmp.Diff(Default(), c, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("Default() and the flags differ (-Default +flags):\n%s", d)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestEveryFlagHasHelp(t *testing.T) {
	var c Config
	p, err := kong.New(&c, durations)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Model.Flags {
		if len(f.Help) < 5 {
			t.Errorf("--%s has no help", f.Name)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"open without TLS":     {func(c *Config) { c.Listen.HTTP = "0.0.0.0:80" }, "--listen-http"},
		"open ops":             {func(c *Config) { c.Listen.Ops = "0.0.0.0:80" }, "--ops-token-file"},
		"open ops in plain":    {func(c *Config) { c.Listen.Ops, c.OpsTokenFile = "0.0.0.0:80", "token" }, "--tls-cert"},
		"half a certificate":   {func(c *Config) { c.TLS.Cert = "a" }, "must be used together"},
		"no port":              {func(c *Config) { c.Listen.GRPC = "localhost" }, "HOST:PORT"},
		"two kinds of TLS":     {func(c *Config) { c.TLS = TLS{Cert: "a", Key: "b", Domains: []string{"c"}} }, "--tls-domains"},
		"no rate":              {func(c *Config) { c.Rate.Burst = 0 }, "--rate"},
		"no names for ACME":    {func(c *Config) { c.TLS.ACME = "https://ca.example/directory" }, "--tls-domains"},
		"half a NATS pair":     {func(c *Config) { c.NATS.Key = "a" }, "--nats-cert"},
		"endless grace":        {func(c *Config) { d := time.Hour; c.DrainGrace = &d }, "--drain-grace"},
		"no connection":        {func(c *Config) { c.DatabaseConns = 3 }, "--database-conns"},
		"short memory":         {func(c *Config) { c.KeepEvents = time.Hour }, "--keep-events"},
		"a forgetful audit":    {func(c *Config) { c.KeepAudit = 300 * 24 * time.Hour }, "--keep-audit"},
		"stays kept for a day": {func(c *Config) { c.KeepStays = 24 * time.Hour }, "--keep-stays"},
		"restless":             {func(c *Config) { c.SpacesEvery = 1 }, "--spaces-every"},
		"a port of 0":          {func(c *Config) { c.Partner.Ports = []uint16{9443, 0} }, "--partner-ports"},
		"a bad collector":      {func(c *Config) { c.Telemetry.URL = "foo" }, "--otlp-url"},

		"a provider over HTTP":      {func(c *Config) { c.OIDC = OIDC{Issuer: "http://sso.example", ClientID: "a", ClientSecret: "b"} }, "--oidc-issuer"},
		"a provider with a query":   {func(c *Config) { c.OIDC = OIDC{Issuer: "https://sso.example?a=b", ClientID: "a", ClientSecret: "b"} }, "--oidc-issuer"},
		"a provider with a user":    {func(c *Config) { c.OIDC = OIDC{Issuer: "https://a@sso.example", ClientID: "a", ClientSecret: "b"} }, "--oidc-issuer"},
		"a provider without client": {func(c *Config) { c.OIDC = OIDC{Issuer: "https://sso.example", ClientSecret: "b"} }, "--oidc-client-id"},
		"a provider without secret": {func(c *Config) { c.OIDC = OIDC{Issuer: "https://sso.example", ClientID: "a"} }, "--oidc-client-secret"},
		"a provider with two secrets": {func(c *Config) {
			c.OIDC = OIDC{Issuer: "https://sso.example", ClientID: "a", ClientSecret: "b", ClientSecretFile: "c"}
		}, "--oidc-client-secret"},
		"a provider with a long label": {func(c *Config) {
			c.OIDC = OIDC{Issuer: "https://sso.example", ClientID: "a", ClientSecret: "b", Label: strings.Repeat("x", 41)}
		}, "--oidc-label"},
		"a client without provider": {func(c *Config) { c.OIDC.ClientID = "a" }, "--oidc-issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Default()
			c.change(&cfg)
			if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to name %s", err, c.want)
			}
		})
	}
	open := Default()
	open.Listen.HTTP, open.Insecure = "0.0.0.0:80", true
	if err := open.Validate(); err != nil {
		t.Errorf("--insecure is refused: %v", err)
	}
	for _, issuer := range []string{"https://sso.example/realms/hotel", "http://127.0.0.1:8080"} {
		open.OIDC = OIDC{Issuer: issuer, ClientID: "a", ClientSecretFile: "b"}
		if err := open.Validate(); err != nil {
			t.Errorf("the provider %s is refused: %v", issuer, err)
		}
	}
}

func TestAddressesGivenToOthers(t *testing.T) {
	for _, tt := range []struct {
		bridge, public string
		want           string // "": valid
	}{
		{bridge: "bridges.example.com:7090"}, {bridge: "192.0.2.1:443"}, {bridge: "[2001:db8::1]:7090"}, {bridge: "localhost:7090"},
		{bridge: "foo", want: "--bridge-address"}, {bridge: "example.com:", want: "--bridge-address"}, {bridge: "example.com:99999", want: "--bridge-address"},
		{bridge: "example.com:0", want: "--bridge-address"}, {bridge: "http://x:1", want: "--bridge-address"}, {bridge: ":21252", want: "--bridge-address"},
		{bridge: "0.0.0.0:7090", want: "--bridge-address"}, {bridge: "[::]:7090", want: "--bridge-address"},
		{public: "https://checkin.example.com"}, {public: "http://192.0.2.1:7080/"}, {public: "https://example.com/checkin"},
		{public: "foo", want: "--public-url"}, {public: "ftp://x", want: "--public-url"}, {public: "https://", want: "--public-url"},
		{public: "https://x:99999", want: "--public-url"}, {public: "https://a@x", want: "--public-url"}, {public: "https://x?a=b", want: "--public-url"},
		{public: "http://0.0.0.0:7080", want: "--public-url"}, {public: "http://[::]:7080", want: "--public-url"},
	} {
		c := Default()
		c.BridgeAddress, c.PublicURL = tt.bridge, tt.public
		if err := c.Validate(); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q %q: got %v, want %q", tt.bridge, tt.public, err, tt.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string // "": no warning
	}{
		"defaults":              {func(*Config) {}, ""},
		"bridges everywhere":    {func(c *Config) { c.Listen.Bridge = "0.0.0.0:7090" }, "--bridge-address"},
		"bridges at any":        {func(c *Config) { c.Listen.Bridge = ":7090" }, "--bridge-address"},
		"bridges by name":       {func(c *Config) { c.Listen.Bridge, c.BridgeAddress = "[::]:7090", "bridges.example.com:7090" }, ""},
		"bridges at one":        {func(c *Config) { c.Listen.Bridge = "192.0.2.1:7090" }, ""},
		"links everywhere":      {func(c *Config) { c.Listen.HTTP = "0.0.0.0:80" }, "--public-url"},
		"links by name":         {func(c *Config) { c.Listen.HTTP, c.PublicURL = "0.0.0.0:80", "https://example.com" }, ""},
		"NATS without a server": {func(c *Config) { c.NATS.Credentials = "nofile" }, "--nats-url"},
		"ACME on loopback":      {func(c *Config) { c.TLS.Domains = []string{"example.com"} }, "--tls-domains"},
		"another authority":     {func(c *Config) { c.TLS = TLS{Domains: []string{"a"}, ACME: "https://ca.example"} }, ""},
		"ACME for every caller": {func(c *Config) { c.TLS.Domains, c.Listen.HTTP, c.PublicURL = []string{"a"}, ":443", "https://a" }, ""},
	} {
		c := Default()
		tt.change(&c)
		if got := strings.Join(c.Warnings(), " "); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want one about %q", name, got, tt.want)
		}
	}
}

func TestGraceIsZeroOnLoopback(t *testing.T) {
	chosen := 7 * time.Second
	for name, tt := range map[string]struct {
		change func(*Config)
		want   time.Duration
	}{
		"all on loopback":    {func(*Config) {}, 0},
		"ops for others":     {func(c *Config) { c.Listen.Ops = "192.0.2.1:7099" }, 5 * time.Second},
		"HTTP for others":    {func(c *Config) { c.Listen.HTTP = ":7080" }, 5 * time.Second},
		"gRPC for others":    {func(c *Config) { c.Listen.GRPC = "192.0.2.1:7070" }, 5 * time.Second},
		"bridges for others": {func(c *Config) { c.Listen.Bridge = "[::]:7090" }, 5 * time.Second},
		"chosen":             {func(c *Config) { c.Listen.HTTP, c.DrainGrace = ":7080", &chosen }, chosen},
	} {
		c := Default()
		tt.change(&c)
		if got := c.Grace(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
