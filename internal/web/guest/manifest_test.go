package guest

import (
	"encoding/json"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"latchkey.dev/internal/web/kit"
)

// The pages of a stay have a manifest with which a browser installs them. Its icons have the sizes that it names.
func TestManifest(t *testing.T) {
	b := newFake().client(t)
	const address = "/g/stays/rsv_1/app.webmanifest"
	if a := b.get(address); a.status == http.StatusOK {
		t.Errorf("a device without a session reads the manifest: %s", a.body)
	}
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if !strings.Contains(b.shows("/g/stays/rsv_1", "Keep this page as an app").body, `<link rel="manifest" href="`+address+`" crossorigin="use-credentials">`) {
		t.Error("the page of the stay does not name its manifest")
	}
	a := b.get(address)
	var m manifest
	if err := json.Unmarshal([]byte(a.body), &m); err != nil || a.status != http.StatusOK || a.header.Get("Content-Type") != "application/manifest+json" {
		t.Fatalf("%v, status %d, %s: %s", err, a.status, a.header.Get("Content-Type"), a.body)
	}
	if m.Name != "Hostel Miramar" || m.StartURL != "/g/stays/rsv_1" || m.ID != m.StartURL || m.Scope != "/g/" || m.Display != "standalone" || m.Lang != "en" || m.Dir != "ltr" {
		t.Errorf("%+v", m)
	}
	if len(m.Icons) != 4 {
		t.Fatalf("%d icons", len(m.Icons))
	}
	for _, i := range m.Icons {
		icon := b.get(i.Source)
		c, err := png.DecodeConfig(strings.NewReader(icon.body))
		if err != nil || icon.header.Get("Content-Type") != i.Type || !strings.HasPrefix(i.Sizes, strings.Split(i.Source[len("/icon/3366cc-"):], ".")[0]+"x") {
			t.Errorf("%+v: %v, status %d", i, err, icon.status)
		}
		if c.Width != c.Height || c.Width < kit.SmallIcon {
			t.Errorf("%+v has %d × %d pixels", i, c.Width, c.Height)
		}
	}
}

// An icon exists in few sizes: no address makes the service draw a large one.
func TestIconNames(t *testing.T) {
	b := newFake().client(t)
	for name, want := range map[string]int{
		"3366cc-180.png": 200, "3366cc-192.png": 200, "ffffff-512.png": 200, "3366CC-180.png": 404, "3366cc-5120.png": 404, "3366cc-181.png": 404, "36c-180.png": 404, "-180.png": 404,
	} {
		if a := b.get("/icon/" + name); a.status != want {
			t.Errorf("%s: status %d, want %d", name, a.status, want)
		}
	}
	if got := kit.IconURL("not a color", kit.TouchIcon); got != "/icon/0b5d66-180.png" {
		t.Errorf("a property without a color has the icon %s", got)
	}
}

func TestShortName(t *testing.T) {
	for name, want := range map[string]string{
		"Miramar": "Miramar", "Hostel Miramar": "Hostel Miramar", "Grand Hotel Europe Wien": "Grand Hotel", "Donaudampfschifffahrtshotel": "Donaudampfschif",
		"  Casa   Sol ": "Casa Sol", "ホテル・サンライズ・プレミアム・リゾート": "ホテル・サンライズ・プレミアム", "": "",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%q is %q below an icon, want %q", name, got, want)
		}
	}
}
