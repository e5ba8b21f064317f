package browser

import "github.com/chromedp/cdproto/webauthn"

// AddAuthenticator gives the browser an authenticator that keeps passkeys and verifies its person at once.
func (p *Page) AddAuthenticator() {
	p.t.Helper()
	call(p, webauthn.Enable, webauthn.EnableParams{})
	call(p, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true, DefaultBackupEligibility: true,
	}})
}
