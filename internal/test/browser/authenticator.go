package browser

import "github.com/chromedp/cdproto/webauthn"

// AddAuthenticator gives the browser a simulated authenticator that stores passkeys and confirms each use at once, without a person.
func (p *Page) AddAuthenticator() {
	p.t.Helper()
	call(p, webauthn.Enable, webauthn.EnableParams{})
	call(p, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true, DefaultBackupEligibility: true,
	}})
}
