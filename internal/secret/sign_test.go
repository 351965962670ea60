package secret_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/secret"
)

func publicOf(t testing.TB, k secret.PublicKey) ed25519.PublicKey {
	t.Helper()
	block, _ := pem.Decode([]byte(k.PEM))
	if block == nil {
		t.Fatalf("no PEM: %q", k.PEM)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(ed25519.PublicKey)
}

// Each process that has a key signs alike by it, and the newest key of the keyring signs.
func TestTheNewestKeySignsAndEachIsPublished(t *testing.T) {
	t.Parallel()
	first, second := secret.GenerateKey(), secret.GenerateKey()
	one, both, again := keyring(t, first), keyring(t, first, second), keyring(t, second)
	text := []byte("what became of it")
	published := both.PublicKeys()
	if len(published) != 2 || published[0] != one.PublicKeys()[0] || published[1] != again.PublicKeys()[0] || published[0].ID == published[1].ID || !strings.HasPrefix(published[0].Fingerprint, published[0].ID) {
		t.Errorf("the keys are %+v", published)
	}
	for i, r := range []*secret.Keyring{one, both, again} {
		if by := published[min(i, 1)]; !ed25519.Verify(publicOf(t, by), text, r.Sign(text)) || ed25519.Verify(publicOf(t, by), text[1:], r.Sign(text)) {
			t.Errorf("keyring %d does not sign by its newest key", i)
		}
	}
	salts := map[string]bool{}
	for _, r := range []*secret.Keyring{both, again, one} {
		for _, parts := range [][]string{{"t", "m"}, {"tm", ""}} {
			salt, err := r.Salt(parts...)
			if err != nil || len(salt) != 32 {
				t.Fatalf("salt %q, %v", salt, err)
			}
			salts[salt] = true
		}
	}
	if len(salts) != 4 {
		t.Errorf("there are %d salts, want one for each key and place", len(salts))
	}
}

func TestAKeyringThatIsPrintedShowsNothing(t *testing.T) {
	t.Parallel()
	r := keyring(t, secret.GenerateKey())
	for _, text := range []string{fmt.Sprint(r), fmt.Sprintf("%+v", r), fmt.Sprintf("%#v", r)} {
		if text != "keyring "+r.Fingerprint() {
			t.Errorf("it prints %s", text)
		}
	}
}
