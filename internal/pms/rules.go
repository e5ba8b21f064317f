package pms

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"

	"latchkey.dev/internal/fault"
)

// RulesOptions are the operator's settings for the destinations of calls to partners. The zero value allows only public
// addresses over HTTPS on ports 443 and 8443.
type RulesOptions struct {
	// Hosts lists host or host:port entries for which plain HTTP, every port (or the given
	// one) and private or loopback addresses are allowed. A listed name does not allow
	// link-local, metadata or reserved addresses: these must be listed as an address.
	Hosts []string
	// Ports lists further allowed ports, in addition to 443 and 8443.
	Ports []uint16
	// OwnRanges lists public address ranges that are refused: the operator's own networks.
	OwnRanges []netip.Prefix
	// Flag is the operator's flag for Hosts, named in errors; empty: --partner-allow.
	Flag string
}

// Rules decide where calls to partners may go: [Rules.CheckURL] when an endpoint is registered and before every call,
// addressCheck for each address that is dialled.
type Rules struct {
	listed  map[string]ports
	ports   []uint16
	public  *ssrf.Guardian
	private *ssrf.Guardian // private checks the addresses of listed hosts: these may be in privateV4 and privateV6
	never   []netip.Prefix // never are ranges to which even a listed name must not resolve
}

// ports are the allowed ports of a listed host; nil means all of them.
type ports []uint16

// maxURL is the maximum length of an endpoint's URL in bytes.
const maxURL = 2048

var defaultPorts = []uint16{443, 8443}

// privateNames are the last labels of names that do not exist on the public internet. Only listed hosts may have them.
var privateNames = []string{"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "test", "invalid", "onion"}

var (
	// privateV4 and privateV6 are the private addresses that a listed name may resolve to.
	privateV4 = parsePrefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10")
	privateV6 = parsePrefixes("::1/128", "fc00::/7")
	// metadata lists addresses of cloud metadata services that are not link-local: Azure, Alibaba, Oracle, AWS over IPv6. No listed name
	// may resolve to them.
	metadata = parsePrefixes("168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128")
)

// parsePrefixes parses constant address ranges. It panics if one is invalid.
func parsePrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// NewRules validates the operator's settings and creates the rules.
func NewRules(o RulesOptions) (*Rules, error) {
	r := &Rules{listed: make(map[string]ports, len(o.Hosts)), ports: slices.Concat(defaultPorts, o.Ports)}
	for _, entry := range o.Hosts {
		if err := r.addListed(entry); err != nil {
			return nil, fmt.Errorf("%s %q: %w; want HOST or HOST:PORT, such as pms.internal:8443, without http:// and path", cmp.Or(o.Flag, "--partner-allow"), entry, err)
		}
	}
	r.never = append(slices.Clone(metadata), o.OwnRanges...)
	v4, v6 := byFamily(r.never)
	common := []ssrf.Option{ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(slices.Clip(v4)...), ssrf.WithDeniedV6Prefixes(slices.Clip(v6)...)}
	r.public = ssrf.New(common...)
	r.private = ssrf.New(append(common, ssrf.WithAllowedV4Prefixes(privateV4...), ssrf.WithAllowedV6Prefixes(privateV6...))...)
	return r, nil
}

// addListed adds an entry of [RulesOptions].Hosts to the listed hosts, those with fewer restrictions. It returns an error for an entry that
// is not host or host:port.
func (r *Rules) addListed(entry string) error {
	host, port := entry, ""
	if strings.Contains(entry, "/") {
		return errors.New("it is a URL")
	}
	if ap, err := netip.ParseAddrPort(entry); err == nil {
		host, port = ap.Addr().String(), strconv.Itoa(int(ap.Port()))
	} else if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		host = addr.String()
	} else {
		host, port, _ = strings.Cut(strings.ToLower(entry), ":")
	}
	if problem := hostProblem(host); problem != "" {
		return fmt.Errorf("%s", problem)
	}
	if port == "" {
		r.listed[host] = nil
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	if known, ok := r.listed[host]; !ok || known != nil {
		r.listed[host] = append(known, uint16(n))
	}
	return nil
}

// byFamily splits address ranges into those of IPv4 and of IPv6.
func byFamily(list []netip.Prefix) (v4, v6 []netip.Prefix) {
	for _, p := range list {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return v4, v6
}

// Lists reports whether the operator has listed the host in [RulesOptions].Hosts, with this port or for all ports.
func (r *Rules) Lists(host string, port int) bool {
	return port > 0 && port <= math.MaxUint16 && r.isListed(strings.ToLower(host), uint16(port))
}

// isListed reports whether the operator has listed the host, which is in lower case, with this port or for all ports.
func (r *Rules) isListed(host string, port uint16) bool {
	known, ok := r.listed[host]
	return ok && (known == nil || slices.Contains(known, port))
}

// CheckURL returns why a URL cannot be registered or called, or nil. It does not resolve names; addresses are checked
// when they are dialled. The path of the fields is "url".
func (r *Rules) CheckURL(raw string) []fault.Field {
	_, fields := r.parseURL(raw)
	return fields
}

// parseURL parses the URL of an endpoint and checks it by the rules, without resolving its host name. It returns the URL or the errors of
// the field url.
func (r *Rules) parseURL(raw string) (*url.URL, []fault.Field) {
	if raw == "" {
		return nil, urlField(fault.Required, "is required: the https address of your endpoint")
	}
	if len(raw) > maxURL {
		return nil, urlField(fault.TooLong, fmt.Sprintf("must have at most %d bytes", maxURL))
	}
	if strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }) {
		return nil, urlField(fault.BadFormat, "must not contain spaces, control characters or backslashes")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return nil, urlField(fault.BadFormat, "must be an absolute address such as https://pms.example.com/spaces")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, urlField(fault.Unsupported, "must begin with https://")
	case u.User != nil:
		return nil, urlField(fault.Unsupported, "must not contain a user name or password; send the token in its own field")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, urlField(fault.Unsupported, "must not contain a fragment (#)")
	}
	return r.checkHost(u)
}

// checkHost checks the host, port and scheme of a parsed URL. It returns the URL with its host in lower case, or the errors of the field
// url.
func (r *Rules) checkHost(u *url.URL) (*url.URL, []fault.Field) {
	u.Host = strings.ToLower(u.Host)
	host := u.Hostname()
	if problem := hostProblem(host); problem != "" {
		return nil, urlField(fault.BadFormat, problem)
	}
	port, ok := portOf(u)
	if !ok {
		return nil, urlField(fault.OutOfRange, "must have a port from 1 to 65535")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String()
	}
	if r.isListed(host, port) {
		return u, nil
	}
	var fields []fault.Field
	if u.Scheme != "https" {
		fields = urlField(fault.Unsupported, "must begin with https://. Plain http is only for hosts that the operator of this service allows: --partner-allow HOST:PORT")
	}
	if !slices.Contains(r.ports, port) && (u.Scheme == "https" || u.Port() != "") {
		fields = append(fields, urlField(fault.OutOfRange, fmt.Sprintf("must have one of the ports %s, not %d. The operator of this service can allow others: --partner-allow HOST:PORT", joinPorts(r.ports), port))...)
	}
	if problem := r.destinationProblem(host); problem != "" {
		fields = append(fields, urlField(fault.WrongValue, problem)...)
	}
	if fields != nil {
		return nil, fields
	}
	return u, nil
}

// destinationProblem returns why a host that is not listed must not be called, or "". It checks only the name or address in the URL.
func (r *Rules) destinationProblem(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		if r.public.SafeAddr(addr) != nil {
			return "must lead to a public address; this one is private, local or reserved. The operator of this service can allow it: --partner-allow HOST:PORT"
		}
		return ""
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == host || slices.Contains(privateNames, last) {
		return "must name a host of the public internet, such as pms.example.com. The operator of this service can allow others: --partner-allow HOST:PORT"
	}
	return ""
}

// hostProblem returns what is wrong with the spelling of a host in lower case, or "". It accepts an IPv4 address only as four decimal
// numbers, so that another spelling is not taken for a name.
func hostProblem(host string) string {
	if strings.ContainsAny(host, ":%") {
		if addr, err := netip.ParseAddr(host); err != nil || addr.Zone() != "" || addr.Is4In6() {
			return "must have an IPv6 address in its usual form, without zone and without an IPv4 address in it"
		}
		return ""
	}
	if len(host) == 0 || len(host) > 253 {
		return "must have a host name of 1 to 253 characters"
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if !isValidLabel(label) {
			return "must have a host name of letters, digits, hyphens and single dots, without a dot at its end; write other scripts in their xn-- form"
		}
	}
	if isNumericLabel(labels[len(labels)-1]) {
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			return "must have an IPv4 address as four decimal numbers without leading zeros"
		}
	}
	return ""
}

// isValidLabel reports whether a text, in lower case, can be one label of a host name.
func isValidLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// isNumericLabel reports whether the last label of a host makes it an address: C resolvers parse decimal, octal and
// hexadecimal numbers there as IPv4.
func isNumericLabel(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// portOf returns the port of a URL, or the default of its scheme. It returns false if the port is invalid.
func portOf(u *url.URL) (uint16, bool) {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, false
		}
		if u.Scheme == "http" {
			return 80, true
		}
		return 443, true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && n != 0 && text[0] != '0'
}

// joinPorts formats ports for an error message.
func joinPorts(list []uint16) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = strconv.Itoa(int(p))
	}
	return strings.Join(words, ", ")
}

// urlField returns an error of the field url.
func urlField(reason fault.Reason, message string) []fault.Field {
	return []fault.Field{{Path: "url", Reason: reason, Message: message}}
}
