package chain

import (
	"strings"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// shownAs is what people call each kind of token.
var shownAs = map[keyring.Kind]string{
	keyring.ClientToken: "a client token (lkc_...)", keyring.AccessToken: "an access token (lka_...)", keyring.APIKey: "an api-key (lkk_...)",
	keyring.OperatorToken: "an operator's token (lko_...)", keyring.StaffToken: "a staff token (lkp_...)",
	keyring.JoinCode: "a bridge's join code (lkj_...)", keyring.PhoneLink: "a phone's link (lkg_...)",
}

// expected is what each area takes: the kind of its bearer token, and how its callers send their credentials.
var expected = map[string]struct {
	bearer keyring.Kind
	send   string
}{
	"latchkey.partner.v1":  {keyring.AccessToken, "send the headers client-token and access-token, or Authorization: Bearer with the access token"},
	"latchkey.property.v1": {keyring.StaffToken, "send Authorization: Bearer with " + shownAs[keyring.StaffToken]},
	"latchkey.admin.v1":    {keyring.OperatorToken, "send Authorization: Bearer with " + shownAs[keyring.OperatorToken]},
}

// refusal completes the error of a call whose credentials were refused. It says what was sent and what is expected, by the
// form of the credentials alone: it never says whether one of them is known.
func refusal(f *fault.Fault, area string, sent Credentials) *fault.Fault {
	want, ok := expected[area]
	if !ok {
		return f
	}
	out := *f
	out.Message += ": " + hint(want.bearer, want.send, sent)
	return &out
}

func hint(bearer keyring.Kind, send string, sent Credentials) string {
	var wrong []string
	any := false
	for _, c := range []struct {
		header, value string
		kind          keyring.Kind
	}{
		{"client-token", sent.ClientToken, keyring.ClientToken}, {"access-token", sent.AccessToken, keyring.AccessToken},
		{"api-key", sent.APIKey, keyring.APIKey}, {"Authorization", sent.Bearer, bearer},
	} {
		if c.value == "" {
			continue
		}
		any = true
		switch kind, whole := keyring.ParseToken(c.value); {
		case !whole:
			wrong = append(wrong, c.header+" holds no whole token: it is mistyped or cut off")
		case kind != c.kind:
			wrong = append(wrong, c.header+" holds "+shownAs[kind])
		}
	}
	partner := bearer == keyring.AccessToken
	switch {
	case !any:
		return "none was sent; " + send
	case len(wrong) > 0:
		return strings.Join(wrong, ", ") + "; " + send
	case partner && sent.ClientToken != "" && sent.AccessToken == "":
		return "access-token is missing beside client-token"
	case partner && sent.AccessToken != "" && sent.ClientToken == "":
		return "client-token is missing beside access-token"
	case !partner && sent.Bearer == "":
		return send
	case partner && sent.ClientToken != "":
		return "a token is unknown, expired or revoked, or the two are not of the same app"
	}
	return "the token is unknown, expired or revoked"
}
