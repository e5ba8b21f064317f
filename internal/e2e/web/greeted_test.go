package web_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"latchkey.dev/internal/test/browser"
)

// greet makes the page visit the address of a kiosk's QR code. A kiosk gets its greeting from the bridge. Here the page asks for it, over the
// relay; then cut ends the phone's way to the server.
func greet(p *browser.Page, stay string, cut func()) {
	p.Script(`window.ask = (name, request) => fetch("/v1/guest/smartkey/" + name, { method: "POST", body: JSON.stringify(request), headers: { "Content-Type": "application/json" } }).then((a) => a.json())`)
	p.WaitUntil("a greeting", smartKeyOf(stay)+`.then((has) => ask("greeting", { token: has.key.token, door: has.key.doors.find((d) => d.name === "Room 101").door }))
		.then((answer) => window.greeting = answer.greeting.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""))`)
	cut()
	p.Script(`location.assign("/g/k#" + greeting)`)
	p.WaitHeading("Open with your key")
}

// opensWith sends the presentation of a QR code to the bridge, as a kiosk does, and is true if the bridge opens the door.
func opensWith(answer string) string {
	return `(async () => {
		const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
		const digits = [...` + strconv.Quote(strings.TrimPrefix(answer, "SK1:")) + `].map((c) => characters.indexOf(c));
		let bytes = "";
		for (let i = 0; i < digits.length; i += 3) {
			const n = digits[i] + 45 * digits[i + 1] + 2025 * (digits[i + 2] ?? 0);
			bytes += i + 2 < digits.length ? String.fromCharCode(n >> 8, n & 255) : String.fromCharCode(n);
		}
		const request = { method: "POST", body: JSON.stringify({ presentation: btoa(bytes) }), headers: { "Content-Type": "application/json" } };
		window.outcome ??= await fetch("/v1/guest/smartkey/presentation", request).then((a) => a.json());
		return outcome.result === "opened";
	})()`
}

// The phone answers the QR code of a kiosk for the door that the guest chooses, without internet, and the bridge opens it with the answer.
func TestPhoneAnswersAGreeting(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, net := w.keptPhone(browser.WithClock)
	p.Tolerate("ERR_EMPTY_RESPONSE")
	greet(p, stayOf(p), func() { net.cut.Store(true) })
	p.WaitText("Which door do you want to open?")
	if strings.Contains(p.Address(), "#") {
		t.Errorf("the greeting stays in the address %s", p.Address())
	}
	p.Axe()
	p.Fits()
	p.Screenshot("greeted-choose")
	p.Click("Room 101")
	p.WaitText("Hold this code in front of the reader.")
	p.Axe()
	p.Fits()
	p.Screenshot("greeted-answer")
	answer := p.QR()
	net.cut.Store(false)
	p.WaitUntil("the bridge opens the door", opensWith(answer))
	p.Pass(31)
	p.WaitText("The code has ended.")
	if p.Has(".take svg.qr") {
		t.Error("the page still shows the answer")
	}
	p.Next("Go to my stay and my code", "Your stay")
}

// A browser without a key says so and leads to the code.
func TestGreetingWithoutAKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	p := browser.Open(t, browser.WithSize(browser.Narrow))
	p.Visit(w.Base + "/g/k#ogFhYQJQAAAAAAAAAAAAAAAAAAAAAA")
	p.WaitText("This browser has no key for this door.")
	p.Next("Go to my stay and my code", "Open your stay")
}

// A key that has expired is renewed. A phone that does not reach the server says that the key has expired, and a phone whose key the server does
// not renew says that it has ended.
func TestGreetingWithAnExpiredKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, net := w.keptPhone()
	p.Tolerate("ERR_EMPTY_RESPONSE")
	stay := stayOf(p)
	expire := func(change string) func() {
		return func() {
			p.WaitUntil("an expired key", changedKey(stay, `key.expiresAt = "`+time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)+`"; `+change))
		}
	}
	greet(p, stay, expire(""))
	p.WaitText("Which door do you want to open?")
	p.Click("Room 101")
	p.WaitText("Hold this code in front of the reader.")
	p.WaitUntil("the bridge opens the door", opensWith(p.QR()))

	p.Next("Go to my stay and my code", "Your stay")
	greet(p, stay, func() {
		expire("")()
		net.cut.Store(true)
	})
	p.WaitText("The key on this phone has expired")
	p.Screenshot("greeted-expired")
	net.cut.Store(false)

	p.Next("Go to my stay and my code", "Your stay")
	p.Tolerate("status of 404")
	greet(p, stay, expire(`got.result.phoneId = "phn_unknown"`))
	p.WaitText("Your key for this door has ended.")
}

// The script draws QR codes of every length that a standard reader reads.
func TestScriptDrawsQRCodes(t *testing.T) {
	t.Parallel()
	w := open(t)
	built := api.Build(api.BuildOptions{EntryPoints: []string{"../../web/guest/ts/qr.ts"}, Bundle: true, Format: api.FormatIIFE, GlobalName: "qr", Target: api.ES2022})
	if len(built.Errors) > 0 {
		t.Fatal(built.Errors)
	}
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Visit(w.Base + "/g/k")
	p.Script(fmt.Sprintf(`(() => { %s; window.qr = qr; })()`, built.OutputFiles[0].Contents))
	const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
	random := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{0, 1, 2, 25, 26, 47, 77, 114, 154, 195, 224, 279, 335, 395, 468, 535, 619, 667, 758, 854, 938, 1046, 1153, 1249, 1352, 1460, 1588, 1704, 1853,
		1990, 2132, 2223, 2369, 2520, 2677, 2840, 3009, 3183, 3351, 3537, 3729, 3927, 4087, 4296} {
		text := make([]byte, length)
		for i := range text {
			text[i] = characters[random.IntN(len(characters))]
		}
		p.Script(`document.getElementById("answer").replaceChildren(document.getElementById("greeted-answer").content.cloneNode(true)),
			qr.draw(` + strconv.Quote(string(text)) + `, document.querySelector("#answer svg"))`)
		if read := p.QR(); read != string(text) {
			t.Errorf("the QR code of %d characters reads as %q", length, read)
		}
	}
	for _, text := range []string{strings.Repeat("A", 4297), "a"} {
		if !p.Holds(`(() => { try { qr.encode(` + strconv.Quote(text) + `); } catch { return true; } })()`) {
			t.Errorf("a QR code is drawn of %d characters that no QR code holds", len(text))
		}
	}
}

// stayOf returns the id of the stay that a page shows.
func stayOf(p *browser.Page) string { return p.Address()[strings.LastIndex(p.Address(), "/")+1:] }
