package server

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"latchkey.dev/internal/openid"
	"latchkey.dev/internal/pms"
)

// identityDialTimeout limits how long it may take to open a connection to the identity provider.
const identityDialTimeout = 5 * time.Second

// identityProvider returns the identity provider with which staff sign in, or nil if none is configured. It does not call the provider. The
// issuer's host may have a private address, because the operator configured it. Other hosts that the provider names must have public
// addresses and the port 443 or 8443.
func (s *Server) identityProvider() (*openid.Provider, error) {
	o := s.cfg.OIDC
	if !o.On() {
		return nil, nil
	}
	secret := o.ClientSecret
	if o.ClientSecretFile != "" {
		text, err := os.ReadFile(o.ClientSecretFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
		secret = strings.TrimSpace(string(text))
	}
	if secret == "" {
		return nil, fmt.Errorf("--oidc-client-secret-file %s: the file is empty", o.ClientSecretFile)
	}
	issuer, err := url.Parse(o.Issuer)
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	port := issuer.Port()
	if port == "" {
		port = issuer.Scheme // "https" or "http"
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	rules, err := pms.NewRules(pms.RulesOptions{Hosts: []string{net.JoinHostPort(issuer.Hostname(), fmt.Sprint(number))}, Flag: "--oidc-issuer"})
	if err != nil {
		return nil, fmt.Errorf("identity provider: %w", err)
	}
	return openid.New(openid.Options{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: secret, Label: o.Name(), Dial: rules.Dialer(identityDialTimeout), Now: s.clock.Now,
	}), nil
}
