// Package oidctest runs an identity provider (OpenID Connect) for tests. It does what the standard says until a test makes it misbehave.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html/template"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that the provider knows.
const (
	ClientID     = "latchkey"
	ClientSecret = "a secret of the client"
)

// Provider is a running identity provider with one person. Its hooks may change between calls.
type Provider struct {
	*httptest.Server
	keys

	mu     sync.Mutex
	hooks  Hooks
	issued map[string]url.Values // the requests of codes that were not redeemed
}

// keys sign tokens.
type keys struct {
	rsa, stranger *rsa.PrivateKey // the stranger's key is in no key set
	ec            *ecdsa.PrivateKey
}

// makeKeys returns the keys of all providers of a process.
var makeKeys = sync.OnceValue(func() (k keys) {
	var err error
	for _, key := range []**rsa.PrivateKey{&k.rsa, &k.stranger} {
		if *key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	if k.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		panic(err)
	}
	return k
})

// Hooks are who signs in, and how the provider misbehaves.
type Hooks struct {
	Subject, Email string
	Unverified     bool                                              // the provider did not verify the address
	Algorithm      string                                            // of the signature; "": RS256
	Stranger       bool                                              // sign with a key that is not in the key set
	Now            func() time.Time                                  // nil: the time of the machine
	Claims         func(claims map[string]any)                       // changes the claims of the ID token
	Discovery      func(document map[string]any)                     // changes the metadata
	Callback       func(q url.Values)                                // changes what the browser brings back
	Before         func(w http.ResponseWriter, r *http.Request) bool // answers a request itself; true: it did
}

// New starts a provider, which stops when the test ends. h has the person and the misbehavior at the start.
func New(t testing.TB, h Hooks) *Provider {
	t.Helper()
	p := &Provider{keys: makeKeys(), hooks: h, issued: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.serveMetadata)
	mux.HandleFunc("GET /keys", p.serveKeys)
	mux.HandleFunc("GET /authorize", p.serveAuthorize)
	mux.HandleFunc("POST /token", p.serveToken)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before := p.now().Before; before == nil || !before(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// now returns the present hooks.
func (p *Provider) now() Hooks {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hooks
}

// Set changes the hooks.
func (p *Provider) Set(change func(h *Hooks)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.hooks)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// serveMetadata answers with the provider's metadata (OpenID Connect Discovery).
func (p *Provider) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	document := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
		"authorization_response_iss_parameter_supported": true,
	}
	if change := p.now().Discovery; change != nil {
		change(document)
	}
	writeJSON(w, http.StatusOK, document)
}

// serveKeys answers with the public keys that verify ID tokens.
func (p *Provider) serveKeys(w http.ResponseWriter, _ *http.Request) {
	point, err := p.ec.PublicKey.Bytes()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": []map[string]string{
		{"kty": "RSA", "kid": "rsa", "use": "sig", "n": encode(p.rsa.N.Bytes()), "e": encode(big.NewInt(int64(p.rsa.E)).Bytes())},
		{"kty": "EC", "kid": "ec", "use": "sig", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])},
	}})
}

var signInPage = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>Identity provider</title>
<main><h1>Sign in at the provider</h1><p><a href="{{.}}">Continue as the test person</a></p></main></html>`))

// serveAuthorize shows a page with a link that takes the browser back to the client, with the person signed in.
func (p *Provider) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	back, err := p.SignIn(p.URL + r.URL.RequestURI())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = signInPage.Execute(w, r.URL.Query().Get("redirect_uri")+"?"+back.Encode())
}

// SignIn signs the person in without a browser. address is the one to which the client redirects. It returns the query parameters of the
// redirect back.
func (p *Provider) SignIn(address string) (url.Values, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for name, want := range map[string]string{"response_type": "code", "client_id": ClientID, "code_challenge_method": "S256", "scope": "openid email"} {
		if got := q.Get(name); got != want {
			return nil, fmt.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge", "redirect_uri"} {
		if len(q.Get(name)) < 20 {
			return nil, fmt.Errorf("%s is %q", name, q.Get(name))
		}
	}
	code := rand.Text()
	p.mu.Lock()
	p.issued[code] = q
	p.mu.Unlock()
	back := url.Values{"state": q["state"], "code": {code}, "iss": {p.URL}}
	if change := p.now().Callback; change != nil {
		change(back)
	}
	return back, nil
}

// serveToken exchanges a code for an ID token.
func (p *Provider) serveToken(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok || id != ClientID || secret != url.QueryEscape(ClientSecret) {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	p.mu.Lock()
	asked, ok := p.issued[code]
	delete(p.issued, code)
	p.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || r.PostFormValue("grant_type") != "authorization_code" || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") || asked.Get("code_challenge") != encode(challenge[:]) {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300, "id_token": p.token(asked)})
}

// token returns a signed ID token of the person. asked is the client's request. A request with max_age gets the time at which the person signed in,
// which is now.
func (p *Provider) token(asked url.Values) string {
	h := p.now()
	at := time.Now()
	if h.Now != nil {
		at = h.Now()
	}
	claims := map[string]any{
		"iss": p.URL, "sub": h.Subject, "aud": ClientID, "iat": at.Unix(), "exp": at.Add(5 * time.Minute).Unix(), "nonce": asked.Get("nonce"),
		"email": h.Email, "email_verified": !h.Unverified,
	}
	if asked.Has("max_age") {
		claims["auth_time"] = at.Unix()
	}
	if h.Claims != nil {
		h.Claims(claims)
		maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	}
	return p.sign(h, claims)
}

// sign returns claims as a signed token, with the key and the algorithm that the hooks demand.
func (p *Provider) sign(h Hooks, claims map[string]any) string {
	header := map[string]string{"alg": h.Algorithm, "kid": "rsa", "typ": "JWT"}
	switch h.Algorithm {
	case "":
		header["alg"] = "RS256"
	case "ES256":
		header["kid"] = "ec"
	}
	input := encodeJSON(header) + "." + encodeJSON(claims)
	digest := sha256.Sum256([]byte(input))
	var signature []byte
	var err error
	switch header["alg"] {
	case "RS256":
		key := p.rsa
		if h.Stranger {
			key = p.stranger
		}
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	case "ES256":
		r, s, failed := ecdsa.Sign(rand.Reader, p.ec, digest[:])
		if err = failed; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case "HS256":
		// With the public key as the secret, which a verifier takes that lets the token choose the algorithm.
		mac := hmac.New(sha256.New, p.PublicKeyPEM())
		mac.Write([]byte(input))
		signature = mac.Sum(nil)
	case "none":
	}
	if err != nil {
		panic(err)
	}
	return input + "." + encode(signature)
}

// PublicKeyPEM returns the public RSA key.
func (p *Provider) PublicKeyPEM() []byte {
	raw, err := x509.MarshalPKIXPublicKey(&p.rsa.PublicKey)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw})
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// encodeJSON returns a value as JSON in base64url.
func encodeJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return encode(raw)
}
