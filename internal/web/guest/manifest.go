package guest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

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

// serveManifest handles the request for the manifest of the stay. Its URLs contain no secret, because the cookie of the device opens the stay.
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

// shortName returns the first words of a name that fit below an icon. A longer first word is cut.
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
		runes := []rune(name)
		return string(runes[:min(len(runes), maxShortName)])
	}
	return short
}

// Manifest returns the URL of the stay's manifest, or "" where the pages cannot be installed.
func (p *page) Manifest() string {
	if p.Kiosk || p.Gone || p.Flow.Stay == nil {
		return ""
	}
	return p.Flow.Below("app.webmanifest")
}

// TouchIcon returns the URL of the icon for the home screen of iOS.
func (p *page) TouchIcon() string { return kit.IconURL(p.Property.GetAccent(), kit.TouchIcon) }

// isApple reports whether an installed app has its own cookies on this kind of device (an iPhone or iPad). It then needs its own link to
// open the stay.
func isApple(device string) bool { return device == "iPhone" || device == "iPad" }
