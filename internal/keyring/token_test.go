package keyring_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"latchkey.dev/internal/keyring"
)

func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range keyring.Kinds {
		token := keyring.NewToken(kind)
		if seen[token[4:]] {
			t.Error("drawn twice")
		}
		seen[token[4:]] = true
		if got, ok := keyring.ParseToken(token); !ok || got != kind || !strings.HasPrefix(token, string(kind)) {
			t.Errorf("%s: %q, %v", kind, got, ok)
		}
		for _, other := range keyring.Kinds {
			if keyring.IsToken(token, other) != (other == kind) {
				t.Errorf("IsToken(%s token, %s)", kind, other)
			}
			if other != kind && keyring.IsToken(string(other)+token[4:], other) {
				t.Errorf("a %s token passes as %s under another prefix", kind, other)
			}
		}
		if hint := keyring.Hint(token); len(hint) != 8 || !strings.HasPrefix(token, hint) {
			t.Errorf("hint %q", hint)
		}
	}
}

func TestMistypedTokensAreRefused(t *testing.T) {
	token := keyring.NewToken(keyring.AccessToken)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(token)-1).Draw(t, "position")
		c := rapid.Byte().Draw(t, "byte")
		if c == token[i] {
			return
		}
		if wrong := token[:i] + string([]byte{c}) + token[i+1:]; keyring.IsToken(wrong, keyring.AccessToken) {
			t.Fatalf("position %d changed and still a token", i)
		}
	})
	for _, wrong := range []string{"", token[:len(token)-1], token + "a", strings.ToUpper(token), " " + token} {
		if _, ok := keyring.ParseToken(wrong); ok {
			t.Errorf("%q is a token", wrong)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(keyring.NewToken(keyring.APIKey))
	f.Add("lka_\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if kind, ok := keyring.ParseToken(s); ok && !keyring.IsToken(s, kind) {
			t.Error("ParseToken and IsToken disagree")
		}
	})
}
