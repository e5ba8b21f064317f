package credential

import (
	"testing"

	"latchkey.dev/internal/keyring"
)

func TestOf(t *testing.T) {
	for drawn, want := range map[keyring.Kind]Kind{
		keyring.ClientToken: Client, keyring.AccessToken: Access, keyring.APIKey: APIKey,
		keyring.OperatorToken: Operator, keyring.StaffToken: Staff, keyring.JoinCode: "",
	} {
		secret := keyring.NewToken(drawn)
		if got, ok := Of(secret); got != want || ok != (want != "") {
			t.Errorf("a %s token is %q, %v, want %q", drawn, got, ok, want)
		}
		if got, ok := Of(secret[1:]); ok {
			t.Errorf("a cut %s token is %q", drawn, got)
		}
	}
}
