package openid

import (
	"context"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// keySet is the key set of the provider for the check of one token.
type keySet struct {
	oidc.KeySet
	failed error // why the keys could not be loaded
}

// VerifySignature checks a signature, and records if the keys could not be loaded: then the token is unproved, but not wrong. The library
// reports that only by the text of its error, which a test checks.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys") {
		k.failed = err
	}
	return payload, err
}
