package guest

import (
	"net/http"
	"regexp"

	"github.com/boombuler/barcode/qr"

	"latchkey.dev/internal/web/kit"
)

// greetedView is the answer to the greeting of a kiosk as a QR code.
type greetedView struct {
	Door string
	Code qrCode
}

// Sentences are what the script of the page for a greeting says: the message web.greeted.NAME.
func (p *page) Sentences() []string {
	return []string{"noGreeting", "noKey", "choose", "sending", "show", "over", "away"}
}

// presentationText is a presentation as docs/smartkey.md writes it into a QR code. Latchkey's have about 1,100 characters.
var presentationText = regexp.MustCompile(`^SK1:[0-9A-Z $%*+./:-]+$`)

const maxPresentationText = 2500

// showGreeted is the page that a kiosk's QR code opens. Its script reads the greeting, which the server does not get.
func (s *site) showGreeted(x *exchange) error {
	p := x.newPage(nil, "web.greeted.title")
	p.LookURL = "" // a choice of the look would lose the greeting
	p.Data = (*greetedView)(nil)
	return x.render(http.StatusOK, "greeted", p)
}

// drawPresentation draws the QR code of a presentation that the page's script signed. It is neither read nor kept here.
func (s *site) drawPresentation(x *exchange) error {
	text := x.R.PostForm.Get("answer")
	if len(text) > maxPresentationText || !presentationText.MatchString(text) {
		x.renderProblem(http.StatusBadRequest, "web.problem.form")
		return nil
	}
	p := x.newPage(nil, "web.greeted.title")
	p.LookURL = ""
	p.Data = &greetedView{Door: x.Value("door"), Code: kit.DrawQR(text, qr.L, qr.AlphaNumeric)}
	return x.render(http.StatusOK, "greeted", p)
}
