package guest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"strings"

	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

// manifest is the web application manifest (W3C) with which a browser installs the pages of a stay as an app.
type manifest struct {
	ID              string         `json:"id"`
	Name            string         `json:"name"`
	ShortName       string         `json:"short_name"`
	StartURL        string         `json:"start_url"`
	Scope           string         `json:"scope"`
	Display         string         `json:"display"`
	Lang            string         `json:"lang"`
	Dir             string         `json:"dir"`
	ThemeColor      string         `json:"theme_color"`
	BackgroundColor string         `json:"background_color"`
	Icons           []manifestIcon `json:"icons"`
}

type manifestIcon struct {
	Source  string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

// serveManifest handles the request for the manifest of the stay. Its URLs have no secret, because the cookie of the device opens the stay.
func (s *site) serveManifest(x *exchange) error {
	face := x.flow.Stay.GetProperty()
	words := x.words(face)
	ground := "#fafaf8" // --bg of css/tokens.css
	m := manifest{
		ID: x.flow.Home(), Name: face.GetName(), ShortName: shortName(face.GetName()), StartURL: x.flow.Home(), Scope: "/g/", Display: "standalone",
		Lang: words.Lang, Dir: words.Dir(), ThemeColor: ground, BackgroundColor: ground,
	}
	for _, size := range []int{kit.SmallIcon, kit.LargeIcon} {
		for _, purpose := range []string{"any", "maskable"} {
			m.Icons = append(m.Icons, manifestIcon{kit.IconURL(face.GetAccent(), size), fmt.Sprintf("%dx%d", size, size), "image/png", purpose})
		}
	}
	x.W.Header().Set("Content-Type", "application/manifest+json")
	x.W.WriteHeader(http.StatusOK)
	return json.NewEncoder(x.W).Encode(m)
}

// maxShortName is the number of characters that fit below an app icon.
const maxShortName = 15

// shortName returns the first words of a name that fit below an icon (maxShortName). A longer first word is cut.
func shortName(name string) string {
	short := ""
	for _, word := range strings.Fields(name) {
		next := strings.TrimSpace(short + " " + word)
		if len([]rune(next)) > maxShortName {
			break
		}
		short = next
	}
	if short == "" {
		return text.TruncateRunes(name, maxShortName)
	}
	return short
}

// Manifest returns the URL of the stay's manifest, or "" where the pages cannot be installed as an app, such as at a kiosk.
func (p *page) Manifest() string {
	if p.Kiosk || p.Gone || p.Flow.Stay == nil {
		return ""
	}
	return p.Flow.Below("app.webmanifest")
}

// TouchIcon returns the URL of the icon for the home screen of iOS.
func (p *page) TouchIcon() string { return kit.IconURL(p.Property.GetAccent(), kit.TouchIcon) }

// isApple reports whether the kind of device is an iPhone or iPad. There, an installed app has its own cookies, so it needs its own link to
// open the stay.
func isApple(device string) bool { return device == "iPhone" || device == "iPad" }

// Sentences returns the names of the texts that the script of showGreeted shows: the messages web.greeted.NAME.
func (p *page) Sentences() []string {
	return []string{"noGreeting", "noKey", "choose", "sending", "show", "over", "expired", "ended"}
}

// showGreeted handles the page that a phone opens with the QR code of a kiosk, to open a door with its SmartKey without internet. The QR
// code has a greeting: a challenge in the fragment of the URL, which browsers do not send to the server. The script reads the greeting and
// shows the phone's signed answer. The service worker of the phone stores the page, so it works offline.
func (s *site) showGreeted(x *exchange) error {
	p := x.newPage(nil, "web.greeted.title")
	p.LookURL, p.Stored = "", true // no choice of colors or language: a reload would lose the greeting
	return x.render(http.StatusOK, "greeted", p)
}

// showOffline handles the page for a phone without a connection. The service worker stores it, and its script adds the parts of the stay
// that the phone has stored.
func (s *site) showOffline(x *exchange) error {
	p := x.newPage(nil, "web.offline.title")
	p.LookURL, p.Stored = "", true
	return x.render(http.StatusOK, "offline", p)
}

// KeptAt returns an empty HTML element. The script fills in at what time the phone stored a part of the stay.
func (p *page) KeptAt() template.HTML { return "<time data-at></time>" }

// CodeVersion returns a hash of the states of the codes at the doors, without the PINs. If it changes, the phone stores the page of the
// PINs again.
func (v pinView) CodeVersion() string {
	h := fnv.New64a()
	for _, d := range v.Doors {
		fmt.Fprintln(h, d.GetId(), d.GetPin(), d.GetReason(), d.GetPinConfirmedAt().GetSeconds())
	}
	return fmt.Sprintf("%x", h.Sum64())
}
