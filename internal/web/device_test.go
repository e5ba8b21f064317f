package web

import (
	"strings"
	"testing"
)

func TestDeviceOf(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1": "iPhone",
		"Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 Version/16.6 Mobile/15E148 Safari/604.1":          "iPad",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/141.0.0.0 Mobile Safari/537.36":                         "Android",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/141.0.0.0 Safari/537.36":                         "Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15":                   "Mac",
		"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0":                                              "Linux",
		"curl/8.5.0": "", "": "",
	} {
		if got := deviceOf(agent); got != want {
			t.Errorf("%q is %q; want %q", agent, got, want)
		}
	}
}

// A guest sees which devices open the stay and how each began, ends one, and then all others. This device stays.
func TestDevices(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	const path = "/g/stays/rsv_1/devices"
	b.shows("/g/stays/rsv_1", "Devices that open this stay")
	b.shows(path, "iPhone This device", "link of the mail", "Since Thu 19 Nov, 09:00. Last used Fri 20 Nov, 11:00.", "Android", "QR code at the door", "Device without a name",
		"End access Android", "End access of all other devices")
	b.moves(path, form(), path)
	if f.ended != 0 || len(f.devices) != 3 {
		t.Fatalf("a form without a choice ended %d sessions and left %d devices", f.ended, len(f.devices))
	}
	b.moves(path, form("device", "gse_2"), path)
	b.moves(path, form("device", "gse_2"), path) // it has ended
	if a := b.shows(path, "iPhone", "Device without a name"); strings.Contains(a.body, "Android") || strings.Contains(a.body, "End access of all") {
		t.Errorf("after one ended: %s", plain(a.body))
	}
	b.moves(path, form("others", "yes"), path)
	b.shows(path, "iPhone This device", "No other device opens your stay")
	if f.ended != 0 {
		t.Error("this device was ended")
	}
}
