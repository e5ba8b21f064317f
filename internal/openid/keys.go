package openid

import (
	"context"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

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
