package browser

import "github.com/chromedp/cdproto/webauthn"

// AddAuthenticator gives the browser an authenticator that keeps passkeys and says yes, as a phone that its owner unlocks.
func (p *Page) AddAuthenticator() {
	p.t.Helper()
	p.do(webauthn.Enable(), webauthn.AddVirtualAuthenticator(&webauthn.VirtualAuthenticatorOptions{}))
}
