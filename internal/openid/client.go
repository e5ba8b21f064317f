package openid

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// callTime bounds the calls of one step of a sign-in: reading the metadata of the provider, or redeeming a code.
	callTime = 10 * time.Second
	// maxAnswer bounds the body of an answer of the provider, after decompression.
	maxAnswer = 1 << 20
)

// errTooLarge means that an answer of the provider is too large to be read.
var errTooLarge = errors.New("the answer is larger than 1 MiB")

// newClient returns a client that follows no redirect and returns it as the answer: a provider that moves a call elsewhere would move the
// client's secret and the code too.
func newClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Timeout: callTime,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
		Transport: bounded{&http.Transport{
			DialContext: dial, ForceAttemptHTTP2: true, MaxConnsPerHost: 16, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: callTime, MaxResponseHeaderBytes: 64 << 10,
		}},
	}
}

// bounded limits the bodies of answers, because the library reads some of them without a limit.
type bounded struct{ next http.RoundTripper }

// RoundTrip does a call whose answer ends with errTooLarge after maxAnswer bytes.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &boundedBody{res.Body, maxAnswer}
	return res, nil
}

// boundedBody is a body that returns an error after left more bytes.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read reads from the body, and returns errTooLarge after the limit.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// keySet is the key set of the provider, used to verify one token.
type keySet struct {
	oidc.KeySet
	failed error // why the keys could not be loaded
}

// VerifySignature checks a signature. If the keys could not be loaded, it sets failed, so that the caller does not treat the token as
// forged. The library reports this case only by the text of its error, which a test checks.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys") {
		k.failed = err
	}
	return payload, err
}
