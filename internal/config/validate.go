package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Validate returns all errors that it finds in the configuration, joined, or nil. It opens no file and no connection, and does not check
// settings that other packages parse, such as the URL of the database.
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
			fail("--listen-%s %q: must be HOST:PORT", flag, addr)
		case flag == "ops" && !IsLoopback(host) && c.OpsTokenFile == "":
			fail("--listen-ops %q: needs --ops-token-file on an address other than loopback", addr)
		case flag != "bridge" && !IsLoopback(host) && !c.Insecure && !c.TLS.On():
			fail("--listen-%s %q: needs --tls-cert and --tls-key (or --tls-domains), or --insecure if a proxy terminates TLS", flag, addr)
		}
	}
	wrong = append(wrong, c.validateAddresses()...)
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		fail("--tls-cert and --tls-key must be used together")
	}
	if c.KeepEvents < 30*24*time.Hour {
		fail("--keep-events must be at least 30d")
	}
	if c.KeepAudit < 365*24*time.Hour {
		fail("--keep-audit must be at least 365d")
	}
	// Whatever needs a stay ends within these 30 days after it: access, tokens, PINs, jobs, and stored answers of an Idempotency-Key.
	if c.KeepStays < 30*24*time.Hour {
		fail("--keep-stays must be at least 30d")
	}
	if (c.NATS.Cert == "") != (c.NATS.Key == "") {
		fail("--nats-cert and --nats-key must be used together")
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
	wrong = append(wrong, c.OIDC.validate()...)
	if c.TLS.ACME != "" && len(c.TLS.Domains) == 0 {
		fail("--tls-acme needs --tls-domains")
	}
	if c.TLS.Cert != "" && len(c.TLS.Domains) > 0 {
		fail("--tls-domains and --tls-cert cannot be used together")
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

// validateAddresses returns all errors of the addresses that the server gives to bridges, guests and staff, and of those that it calls.
func (c Config) validateAddresses() (wrong []error) {
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if c.BridgeAddress != "" {
		host, port, err := net.SplitHostPort(c.BridgeAddress)
		n, portErr := strconv.ParseUint(port, 10, 16)
		switch {
		case err != nil || portErr != nil || n == 0 || host == "":
			fail("--bridge-address %q: must be HOST:PORT, such as bridges.example.com:7090", c.BridgeAddress)
		case isWildcard(host):
			fail("--bridge-address %q: is not an address that bridges can reach; name this machine as they reach it", c.BridgeAddress)
		}
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		switch {
		case err != nil || !isWeb(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "":
			fail("--public-url %q: must be an address such as https://checkin.example.com, without user, query and fragment", c.PublicURL)
		case isWildcard(u.Hostname()):
			fail("--public-url %q: is not an address that guests can reach; name this machine as they reach it", c.PublicURL)
		}
	}
	if u, err := url.Parse(c.Telemetry.URL); c.Telemetry.URL != "" && (err != nil || u.Host == "") {
		fail("--otlp-url %q: must be an address such as http://localhost:4317", c.Telemetry.URL)
	}
	if slices.Contains(c.Partner.Ports, 0) {
		fail("--partner-ports must be from 1 to 65535")
	}
	return wrong
}

// Warnings returns a text for each setting that is valid but is probably a mistake.
func (c Config) Warnings() (texts []string) {
	if host := hostOf(c.Listen.Bridge); c.BridgeAddress == "" && isWildcard(host) {
		texts = append(texts, "--bridge-address is not set and --listen-bridge names no single address: bridges that enrol get an address that they cannot reach, unless they enrol with --connect")
	}
	if host := hostOf(c.Listen.HTTP); c.PublicURL == "" && isWildcard(host) {
		texts = append(texts, "--public-url is not set and --listen-http names no single address: links in mails and for staff do not work on other machines")
	}
	if len(c.TLS.Domains) > 0 && c.TLS.ACME == "" && IsLoopback(hostOf(c.Listen.HTTP)) {
		texts = append(texts, "--tls-domains is set, but --listen-http is on loopback: Let's Encrypt issues no certificate, unless a proxy passes port 443 on to it without ending TLS")
	}
	if c.NATS.URL == "" && c.NATS != (NATS{}) {
		texts = append(texts, "--nats-credentials, --nats-ca, --nats-cert and --nats-key have no effect without --nats-url")
	}
	return texts
}

// hostOf returns the host of a HOST:PORT, or "" if the address is not valid.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// isWildcard reports whether a host means every address of the machine: it is empty, 0.0.0.0 or ::. No other machine can connect to such an
// address.
func isWildcard(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.IsUnspecified()
}

// isWeb reports whether a URL is http or https with a host and, if it has a port, one from 1 to 65535.
func isWeb(u *url.URL) bool {
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
