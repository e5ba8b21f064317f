package pms

import (
	"net/netip"
	"net/url"
	"testing"
)

// refusedURLs must be refused at registration and never be dialled: every spelling of an
// address that is not public, and every way to name something else than an HTTPS endpoint.
var refusedURLs = []string{
	// plain spellings
	"https://127.0.0.1/", "https://127.1.2.3/", "https://0.0.0.0/", "https://10.0.0.1/", "https://10.255.255.255/", "https://172.16.0.1/",
	"https://172.31.255.255/", "https://192.168.0.1/", "https://169.254.169.254/latest/meta-data/", "https://169.254.170.2/",
	"https://100.64.0.1/", "https://100.100.100.200/", "https://168.63.129.16/", "https://192.0.0.192/", "https://192.0.2.1/",
	"https://198.18.0.1/", "https://198.51.100.1/", "https://203.0.113.1/", "https://224.0.0.1/", "https://240.0.0.1/",
	"https://255.255.255.255/", "https://192.31.196.1/", "https://192.52.193.1/", "https://192.88.99.1/", "https://192.175.48.1/",
	// decimal, octal, hexadecimal, short
	"https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0X7F.0.0.1/", "https://0177.0.0.1/", "https://017700000001/",
	"https://127.1/", "https://127.0.1/", "https://127.0.0.01/", "https://0300.0250.0.1/", "https://4294967295/", "https://99999999999/",
	"https://127.0.0.0x1/", "https://0/", "https://0x/", "https://1.2.3.4.5/", "https://256.1.1.1/",
	// IPv6
	"https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:169.254.169.254]/",
	"https://[::ffff:7f00:1]/", "https://[::ffff:8.8.8.8]/", "https://[::127.0.0.1]/", "https://[64:ff9b::a9fe:a9fe]/",
	"https://[64:ff9b:1::a9fe:a9fe]/", "https://[2002:a9fe:a9fe::]/", "https://[2001:0:a9fe:a9fe::1]/", "https://[fd00:ec2::254]/",
	"https://[fd20:ce::254]/", "https://[fc00::1]/", "https://[fe80::1]/", "https://[fe80::1%25lo]/", "https://[fe80::1%25eth0]/",
	"https://[2606:4700::1%25lo]/", "https://[100::1]/", "https://[3fff::1]/", "https://[5f00::1]/", "https://[2001:db8::1]/",
	"https://[ff02::1]/", "https://[::1/", "https://::1/", "https://[127.0.0.1]/",
	// names that are local, and writing that could pass for another name
	"https://localhost/", "https://LOCALHOST/", "https://a.localhost/", "https://localhost./", "https://127.0.0.1./", "https://pms.example.com./",
	"https://metadata.google.internal/", "https://metadata/", "https://pms.local/", "https://router.lan/", "https://ip6-localhost/", "https://db.corp/",
	"https://127。0。0。1/", "https://127.0.0.1/", "https://①②⑦.0.0.1/", "https://ⓛocalhost/", "https://pms.exämple.com/",
	"https://127%2e0%2e0%2e1/", "https://%31%32%37.0.0.1/", "https://pms..example.com/", "https://-pms.example.com/", "https://.example.com/",
	// user names, separators
	"https://a@127.0.0.1/", "https://a:b@pms.example.com/", "https://pms.example.com@127.0.0.1/", "https://127.0.0.1#@pms.example.com/",
	"https://pms.example.com#x", "https://pms.example.com#", "https://pms.example.com\\@127.0.0.1/", "https://pms.example.com /",
	"https://pms.example.com\t/", "https://pms.example.com/\r\nHost: x", "https://pms.example.com\x00/", "https:///etc/passwd", "https:127.0.0.1",
	"//127.0.0.1/", "/etc/passwd", "", "https://", "pms.example.com/spaces",
	// ports
	"https://pms.example.com:22/", "https://pms.example.com:25/", "https://pms.example.com:6379/", "https://pms.example.com:80/", "https://pms.example.com:0/",
	"https://pms.example.com:65536/", "https://pms.example.com:-1/", "https://pms.example.com:/", "https://pms.example.com:0443/", "https://pms.example.com:443443/",
	// schemes
	"http://pms.example.com/", "http://pms.example.com:443/", "file:///etc/passwd", "gopher://pms.example.com/", "ftp://pms.example.com/",
	"unix:///var/run/docker.sock", "ws://pms.example.com/", "javascript:alert(1)", "data:text/plain,x", "https+unix://x/", "dict://pms.example.com:11211/",
}

func TestRefusedURLs(t *testing.T) {
	rules, err := NewRules(RulesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range refusedURLs {
		fields := rules.CheckURL(raw)
		if len(fields) == 0 {
			t.Errorf("%q may be registered", raw)
		}
		for _, f := range fields {
			if f.Path != "url" || f.Reason == "" || f.Message == "" {
				t.Errorf("%q: unhelpful field %+v", raw, f)
			}
		}
	}
	if len(refusedURLs) < 60 {
		t.Errorf("the battery has only %d forms", len(refusedURLs))
	}
}

func TestAcceptedURLs(t *testing.T) {
	rules, err := NewRules(RulesOptions{Ports: []uint16{9443}})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		"https://pms.example.com", "https://pms.example.com/a/b?c=d&e", "https://PMS.Example.COM/", "HTTPS://pms.example.com/",
		"https://pms.example.com:443/", "https://pms.example.com:8443/", "https://pms.example.com:9443/", "https://8.8.8.8/",
		"https://[2606:4700::1111]/", "https://xn--bcher-kva.example.com/", "https://a_b.example.com/", "https://123.example.com/",
	} {
		if fields := rules.CheckURL(raw); fields != nil {
			t.Errorf("%q is refused: %+v", raw, fields)
		}
	}
}

func TestListedHosts(t *testing.T) {
	rules, err := NewRules(RulesOptions{Hosts: []string{"127.0.0.1:8080", "PMS.internal", "[fd00::5]:9000", "::1", "desk.lan:81", "desk.lan:82"}})
	if err != nil {
		t.Fatal(err)
	}
	for raw, ok := range map[string]bool{
		"http://127.0.0.1:8080/":          true,
		"http://127.0.0.1:8081/":          false,
		"http://127.0.0.1/":               false,
		"http://127.0.0.2:8080/":          false,
		"http://0x7f.1:8080/":             false,
		"http://2130706433:8080/":         false,
		"http://[::ffff:127.0.0.1]:8080/": false,
		"http://pms.internal/":            true,
		"https://pms.internal:22/":        true,
		"http://x.pms.internal/":          false,
		"http://pms.internal./":           false,
		"http://[fd00::5]:9000/":          true,
		"http://[fd00:0:0::5]:9000/":      true,
		"http://[fd00::5]/":               false,
		"http://[::1]:1234/":              true,
		"http://desk.lan:81/":             true,
		"http://desk.lan:82/":             true,
		"http://desk.lan:83/":             false,
		"http://u:p@pms.internal/":        false,
		"ftp://pms.internal/":             false,
	} {
		if fields := rules.CheckURL(raw); (fields == nil) != ok {
			t.Errorf("%q: %+v, want allowed %v", raw, fields, ok)
		}
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for _, entry := range []string{"", "http://pms.internal", "pms.internal:http", "pms.internal:0", "pms.internal:70000", "*.internal", "127.1", "fe80::1%eth0"} {
		if _, err := NewRules(RulesOptions{Hosts: []string{entry}}); err == nil {
			t.Errorf("host entry %q is taken", entry)
		}
	}
}

func TestAllErrorsOfAURLAreListed(t *testing.T) {
	rules, err := NewRules(RulesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if fields := rules.CheckURL("http://10.0.0.1:6379/"); len(fields) != 3 {
		t.Errorf("got %d fields, want scheme, port and address: %+v", len(fields), fields)
	}
}

func TestOwnRangesAreRefused(t *testing.T) {
	rules, err := NewRules(RulesOptions{OwnRanges: []netip.Prefix{netip.MustParsePrefix("8.8.8.0/24"), netip.MustParsePrefix("2606:4700::/32")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"https://8.8.8.8/", "https://[2606:4700::1111]/"} {
		if rules.CheckURL(raw) == nil {
			t.Errorf("%q is in an own range and may be registered", raw)
		}
	}
	if fields := rules.CheckURL("https://8.8.4.4/"); fields != nil {
		t.Errorf("an address outside the own ranges is refused: %+v", fields)
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, raw := range refusedURLs {
		f.Add(raw)
	}
	f.Add("https://pms.example.com:8443/a?b=c")
	rules, err := NewRules(RulesOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if rules.CheckURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || u.User != nil {
			t.Fatalf("%q was accepted", raw)
		}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && (rules.public.SafeAddr(addr) != nil || addr.Zone() != "") {
			t.Fatalf("%q was accepted with address %v", raw, addr)
		}
	})
}
