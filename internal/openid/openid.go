// Package openid signs people in at an identity provider, by the authorization code flow of OpenID Connect with PKCE.
//
// The operator names the issuer. Everything else is read from the provider, at the first use and again each hour, so that the server can
// start while the provider is down. An answer of the provider is untrusted until its ID token has the right signature, issuer, audience,
// time and nonce.
package openid

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Options configure a [Provider].
type Options struct {
	Issuer, ClientID, ClientSecret string
	Label                          string // the provider's name for people
	// Dial connects to the provider. It decides which addresses are allowed; nil: all are.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Now  func() time.Time // the present time; must not be nil
}

// Provider is the identity provider of an installation. It is safe for concurrent use.
type Provider struct {
	o      Options
	client *http.Client
	limit  time.Duration // time limit of one step of a sign-in: callTime, except in tests
	known  chan metadata // holds the latest metadata; empty while a caller reads or refreshes it
}

// metadata is what the provider says about itself.
type metadata struct {
	provider    *oidc.Provider
	keys        oidc.KeySet // keys of the provider; an unknown key id in a token makes it load them again
	style       oauth2.AuthStyle
	namesIssuer bool      // the provider sends its issuer with each answer (RFC 9207): an answer without it is refused
	triedAt     time.Time // the last attempt to load the metadata
	err         error     // error of the attempt at triedAt; nil while earlier metadata stays in use
}

const (
	// refreshAfter is the age at which metadata is loaded again. If that fails, the old metadata stays in use, and the next attempt is as
	// much later.
	refreshAfter = time.Hour
	// retryAfter is how long callers get the error of a failed attempt to load the metadata before the next attempt.
	retryAfter = 5 * time.Second
)

var (
	// ErrUnavailable means that the provider could not be reached, or answered with an error.
	ErrUnavailable = errors.New("the identity provider does not answer as it should")
	// ErrRefused means that an answer of the provider is not valid, so that it identifies no person.
	ErrRefused = errors.New("the answer of the identity provider is not valid")
)

// New returns a provider, without a call to it.
func New(o Options) *Provider {
	p := &Provider{o: o, client: newClient(o.Dial), limit: callTime, known: make(chan metadata, 1)}
	p.known <- metadata{}
	return p
}

// Issuer returns the provider's issuer, as the operator named it.
func (p *Provider) Issuer() string { return p.o.Issuer }

// Label returns the provider's name for people.
func (p *Provider) Label() string { return p.o.Label }

// Flow is one sign-in. Its random state, nonce and verifier (PKCE) are used only once.
type Flow struct {
	State, Nonce, Verifier, RedirectURL string
	Fresh                               bool // the provider must ask even a person who is signed in at the provider to sign in again
}

// SignInURL returns the address at the provider where a person signs in. It may call the provider, for at most 10 s; its error is
// [ErrUnavailable].
func (p *Provider) SignInURL(ctx context.Context, f Flow) (string, error) {
	m, err := p.load(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if f.Fresh { // max_age makes auth_time a required claim (OpenID Connect Core, 2)
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return p.config(m, f).AuthCodeURL(f.State, options...), nil
}

// config returns the configuration for the OAuth library: the endpoints of the provider and the credentials of this client.
func (p *Provider) config(m metadata, f Flow) *oauth2.Config {
	endpoint := m.provider.Endpoint()
	// Without a style, the library tries both ways to send the client's secret, and would send a code twice.
	endpoint.AuthStyle = m.style
	return &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: endpoint, RedirectURL: f.RedirectURL, Scopes: []string{oidc.ScopeOpenID, "email"}}
}

// Identity is a person at the provider. Only Subject identifies the person permanently.
type Identity struct {
	Subject string
	Email   string // "" unless the provider verified it
	// AuthenticatedAt is when the person signed in at the provider, perhaps days ago; zero: the provider does not say.
	AuthenticatedAt time.Time
}

// Answer is what the provider sent back through the browser, in the query of the redirect.
type Answer struct {
	State, Code string
	Issuer      string // parameter iss of the redirect (RFC 9207); "" if the provider sent none
}

// Redeem checks the state and the issuer of an answer, exchanges its code for an ID token, verifies the token, and returns the person. f is
// the flow of the sign-in. It does not check that a flow with Fresh led to a new sign-in: the caller compares AuthenticatedAt. Its error is
// [ErrRefused] or [ErrUnavailable] with the cause.
func (p *Provider) Redeem(ctx context.Context, f Flow, a Answer) (Identity, error) {
	if subtle.ConstantTimeCompare([]byte(a.State), []byte(f.State)) != 1 {
		return Identity{}, fmt.Errorf("%w: another state", ErrRefused)
	}
	m, err := p.load(ctx)
	if err != nil {
		return Identity{}, err
	}
	if a.Issuer != p.o.Issuer && (a.Issuer != "" || m.namesIssuer) {
		return Identity{}, fmt.Errorf("%w: it comes from another issuer, %q", ErrRefused, a.Issuer)
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), p.limit)
	defer cancel()
	token, err := p.config(m, f).Exchange(ctx, a.Code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Identity{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, fmt.Errorf("%w: the token endpoint sent no ID token", ErrRefused)
	}
	return p.verify(ctx, m, f, raw)
}

// exchangeError converts the error of the exchange of a code: to [ErrRefused] if the provider refused the code, otherwise to
// [ErrUnavailable].
func exchangeError(err error) error {
	var answered *oauth2.RetrieveError
	if errors.As(err, &answered) && answered.ErrorCode == "invalid_grant" {
		return fmt.Errorf("%w: %s", ErrRefused, answered.ErrorCode)
	}
	if answered != nil {
		// Without the body, which may repeat the code.
		return fmt.Errorf("%w: the token endpoint answered %d %.40q", ErrUnavailable, answered.Response.StatusCode, answered.ErrorCode)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// algorithms are the signatures that an ID token may have. All are asymmetric: a token that is signed with a public key as the secret, or
// not at all, is refused.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// maxSubject is the longest subject that OpenID Connect allows.
const maxSubject = 255

// verify checks an ID token, raw, of a flow and returns its person. Its errors are those of [Provider.Redeem].
func (p *Provider) verify(ctx context.Context, m metadata, f Flow, raw string) (Identity, error) {
	keys := &keySet{KeySet: m.keys}
	verifier := oidc.NewVerifier(p.o.Issuer, keys, &oidc.Config{ClientID: p.o.ClientID, SupportedSigningAlgs: algorithms, Now: p.o.Now})
	token, err := verifier.Verify(ctx, raw)
	if keys.failed != nil {
		return Identity{}, fmt.Errorf("%w: %.200v", ErrUnavailable, keys.failed)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send it as a text
		Party    string `json:"azp"`
		AuthTime any    `json:"auth_time"`
	}
	if err := token.Claims(&claims); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(f.Nonce)) != 1:
		return Identity{}, fmt.Errorf("%w: another nonce", ErrRefused)
	case claims.Party != "" && claims.Party != p.o.ClientID, claims.Party == "" && len(token.Audience) > 1:
		return Identity{}, fmt.Errorf("%w: the token was issued to another client", ErrRefused)
	case token.Subject == "" || len(token.Subject) > maxSubject:
		return Identity{}, fmt.Errorf("%w: the token has no usable subject", ErrRefused)
	}
	who := Identity{Subject: token.Subject, AuthenticatedAt: p.authenticatedAt(claims.AuthTime)}
	if claims.Verified == true || claims.Verified == "true" {
		who.Email = claims.Email
	}
	return who, nil
}

// clockSkew is how far in the future a time of sign-in, the claim auth_time, may be, because the clock of the provider may be ahead.
const clockSkew = time.Minute

// authenticatedAt returns when the person signed in at the provider, from the claim auth_time. It returns zero if the claim is missing, is
// not a number, or is more than clockSkew in the future.
func (p *Provider) authenticatedAt(claim any) time.Time {
	seconds, ok := claim.(float64)
	if !ok || seconds < 1 || seconds > float64(p.o.Now().Add(clockSkew).Unix()) {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// load returns the provider's metadata, which it caches for refreshAfter. One caller at a time asks the provider. While there is no
// metadata yet, a failure is returned to all callers for retryAfter. Metadata that cannot be refreshed stays in use.
func (p *Provider) load(ctx context.Context) (metadata, error) {
	var m metadata
	select {
	case m = <-p.known:
	case <-ctx.Done():
		return m, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	defer func() { p.known <- m }()
	age := p.o.Now().Sub(m.triedAt)
	if m.provider != nil && age < refreshAfter || m.err != nil && age < retryAfter {
		return m, m.err
	}
	loaded, err := p.discover(ctx)
	switch {
	case err == nil:
		m = loaded
	case ctx.Err() != nil: // the caller has given up; the next caller tries again
		return m, cmp.Or(m.err, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err()))
	case m.provider == nil:
		m.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	m.triedAt = p.o.Now()
	return m, m.err
}

// discover reads the provider's metadata from the provider, and checks its addresses with [checkURL]. Its errors are not yet
// [ErrUnavailable].
func (p *Provider) discover(ctx context.Context) (metadata, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), p.limit)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.o.Issuer)
	if err != nil {
		return metadata{}, err
	}
	var more struct {
		Keys        string   `json:"jwks_uri"`
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
		NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return metadata{}, err
	}
	endpoint := provider.Endpoint()
	for name, address := range map[string]string{"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": more.Keys} {
		if err := checkURL(p.o.Issuer, address); err != nil {
			return metadata{}, fmt.Errorf("%s %.200q: %w", name, address, err)
		}
	}
	m := metadata{provider: provider, keys: oidc.NewRemoteKeySet(ctx, more.Keys), style: oauth2.AuthStyleInHeader, namesIssuer: more.NamesIssuer}
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		m.style = oauth2.AuthStyleInParams
	}
	return m, nil
}

// checkURL refuses an address of a provider that is not absolute, contains a user name, or has no https. Without https, scheme and host may
// be those of the issuer.
func checkURL(issuer, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("is no address")
	}
	if of, err := url.Parse(issuer); u.Scheme != "https" && (err != nil || u.Scheme != of.Scheme || u.Host != of.Host) {
		return errors.New("does not begin with https://")
	}
	return nil
}
