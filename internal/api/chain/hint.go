package chain

import (
	"strings"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// tokenNames maps each kind of token to its name in error messages.
var tokenNames = map[keyring.Kind]string{
	keyring.ClientToken: "a client token (lkc_...)", keyring.AccessToken: "an access token (lka_...)", keyring.APIKey: "an api-key (lkk_...)",
	keyring.OperatorToken: "an operator's token (lko_...)", keyring.StaffToken: "a staff token (lkp_...)",
	keyring.JoinCode: "a bridge's join code (lkj_...)", keyring.PhoneLink: "a phone's link (lkg_...)",
	keyring.GuestLink: "the link of a mail (lkl_...)", keyring.SessionToken: "a guest's session (lks_...)", keyring.PersonSession: "a person's session (lkd_...)", keyring.OperatorSession: "an operator's session (lkw_...)", keyring.PersonLink: "a person's link (lki_...)", keyring.KioskToken: "a kiosk's token (lkt_...)",
	keyring.Receipt: "the receipt of an erasure (lkr_...)",
}

// areaCredentials has, for the errors of each API area, which kind of token callers need and a text that says how they send it.
var areaCredentials = map[string]struct {
	bearer keyring.Kind
	send   string
}{
	"latchkey.partner.v1":  {keyring.AccessToken, "send the headers client-token and access-token, or Authorization: Bearer with the access token"},
	"latchkey.property.v1": {keyring.StaffToken, "send Authorization: Bearer with " + tokenNames[keyring.StaffToken] + " or the session of a signed-in person"},
	"latchkey.guest.v1":    {keyring.SessionToken, "send Authorization: Bearer with " + tokenNames[keyring.SessionToken]},
	"latchkey.kiosk.v1":    {keyring.KioskToken, "send Authorization: Bearer with " + tokenNames[keyring.KioskToken]},
	"latchkey.admin.v1":    {keyring.OperatorToken, "send Authorization: Bearer with " + tokenNames[keyring.OperatorToken] + " or the session of an operator"},
}

// withCredentialHint returns a copy of an authentication error, with which kind of credential was sent and which is expected. For an area
// without areaCredentials it returns f. It looks only at the format of the credentials, so it does not reveal whether a credential exists.
func withCredentialHint(f *fault.Fault, area string, sent Credentials) *fault.Fault {
	want, ok := areaCredentials[area]
	if !ok {
		return f
	}
	out := *f
	out.Message += ": " + credentialHint(want.bearer, want.send, sent)
	return &out
}

// credentialHint describes what is wrong with the sent credentials. bearer is the kind of token that the API area expects, and send
// explains how to send it.
func credentialHint(bearer keyring.Kind, send string, sent Credentials) string {
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
			wrong = append(wrong, c.header+" is not a complete token: it is mistyped or cut off")
		case kind != c.kind:
			wrong = append(wrong, c.header+" holds "+tokenNames[kind])
		}
	}
	partner := bearer == keyring.AccessToken
	switch {
	case !any:
		return "none was sent; " + send
	case len(wrong) > 0:
		return strings.Join(wrong, ", ") + "; " + send
	case partner && sent.ClientToken != "" && sent.AccessToken == "":
		return "the header access-token is missing; it is sent together with client-token"
	case partner && sent.AccessToken != "" && sent.ClientToken == "":
		return "the header client-token is missing; it is sent together with access-token"
	case !partner && sent.Bearer == "":
		return send
	case partner && sent.ClientToken != "":
		return "a token is unknown, expired or revoked, or the tokens belong to different apps"
	}
	return "the token is unknown, expired or revoked"
}
