package chain

import (
	"strings"
	"testing"

	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/keyring"

	"latchkey.dev/internal/fault"
)

func TestCredentialHint(t *testing.T) {
	client, access, staff := keyring.NewToken(keyring.ClientToken), keyring.NewToken(keyring.AccessToken), keyring.NewToken(keyring.StaffToken)
	refused, _ := fault.Of(credential.Refused())
	for name, c := range map[string]struct {
		area string
		sent Credentials
		want string
	}{
		"nothing":                {"latchkey.partner.v1", Credentials{}, "none was sent; send the headers client-token and access-token"},
		"no access token":        {"latchkey.partner.v1", Credentials{ClientToken: client}, "the header access-token is missing; it is sent together with client-token"},
		"no client token":        {"latchkey.partner.v1", Credentials{AccessToken: access}, "the header client-token is missing; it is sent together with access-token"},
		"swapped":                {"latchkey.partner.v1", Credentials{ClientToken: access, AccessToken: client}, "client-token holds an access token (lka_...), access-token holds a client token (lkc_...)"},
		"cut off":                {"latchkey.partner.v1", Credentials{ClientToken: client, AccessToken: access[:20]}, "access-token is not a complete token: it is mistyped or cut off"},
		"a client token alone":   {"latchkey.partner.v1", Credentials{Bearer: client}, "Authorization holds a client token (lkc_...)"},
		"staff at the partner's": {"latchkey.partner.v1", Credentials{Bearer: staff}, "Authorization holds a staff token (lkp_...)"},
		"unknown":                {"latchkey.partner.v1", Credentials{ClientToken: client, AccessToken: access}, "a token is unknown, expired or revoked, or the tokens belong to different apps"},
		"an unknown bearer":      {"latchkey.partner.v1", Credentials{Bearer: access}, "the token is unknown, expired or revoked"},
		"a partner at staff's":   {"latchkey.property.v1", Credentials{ClientToken: client, AccessToken: access}, "send Authorization: Bearer with a staff token (lkp_...)"},
		"staff at the operator's": {"latchkey.admin.v1", Credentials{Bearer: staff},
			"Authorization holds a staff token (lkp_...); send Authorization: Bearer with an operator's token (lko_...)"},
	} {
		got := withCredentialHint(refused, c.area, c.sent)
		if !strings.HasPrefix(got.Message, "valid credential required: "+c.want) || got.Reason != fault.InvalidCredentials {
			t.Errorf("%s: %q, want %q", name, got.Message, c.want)
		}
		for _, secret := range []string{client, access, staff} {
			if strings.Contains(got.Message, secret[4:12]) {
				t.Errorf("%s: the message repeats a token", name)
			}
		}
	}
	if got := withCredentialHint(refused, "latchkey.lock.v1", Credentials{}); got.Message != refused.Message {
		t.Errorf("another area: %q", got.Message)
	}
}
