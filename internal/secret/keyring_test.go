package secret_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/secret"
)

func keyring(t testing.TB, keys ...secret.Key) *secret.Keyring {
	t.Helper()
	r, err := secret.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t testing.TB, r *secret.Keyring, plain, aad string) string {
	t.Helper()
	text, err := r.Seal(plain, aad)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatIsSealedOpensInItsOwnPlaceOnly(t *testing.T) {
	t.Parallel()
	r := keyring(t, secret.GenerateKey())
	place := secret.AAD("default", "tianyuan", "token")
	for _, plain := range []string{"", "s3cret", "密钥 🔑", strings.Repeat("x", 1<<16), "\xff\x00"} {
		text := seal(t, r, plain, place)
		if plain != "" && strings.Contains(text, plain) {
			t.Errorf("%q shows in %q", plain, text)
		}
		if got, err := r.Open(text, place); err != nil || got != plain {
			t.Errorf("got %q, %v, want %q", got, err, plain)
		}
		if got, err := r.Open(text, secret.AAD("default", "zhaohu", "token")); err == nil {
			t.Errorf("it opened in another place as %q", got)
		}
	}
}

func TestTwoSealingsOfOneTextDiffer(t *testing.T) {
	t.Parallel()
	r := keyring(t, secret.GenerateKey())
	if a, b := seal(t, r, "x", ""), seal(t, r, "x", ""); a == b {
		t.Errorf("both are %q", a)
	}
}

func TestTheNewestKeySealsAndEveryKeyOpens(t *testing.T) {
	t.Parallel()
	older, newer := secret.GenerateKey(), secret.GenerateKey()
	before := keyring(t, older)
	text := seal(t, before, "x", "")

	after := keyring(t, older, newer)
	if got, err := after.Open(text, ""); err != nil || got != "x" {
		t.Errorf("the older key: got %q, %v, want x", got, err)
	}
	if after.Current(text) {
		t.Error("a text of the older key counts as current")
	}
	again := seal(t, after, "x", "")
	if !after.Current(again) || !strings.HasPrefix(again, "enc:v1:"+newer.ID+":") {
		t.Errorf("got %q, want it sealed with %s", again, newer.ID)
	}
	if diff := cmp.Diff([]string{older.ID, newer.ID}, after.IDs()); diff != "" {
		t.Error(diff)
	}

	_, err := before.Open(again, "")
	var unknown *secret.UnknownKeyError
	if !errors.As(err, &unknown) || unknown.ID != newer.ID {
		t.Errorf("got %v, want an error that names the key %s", err, newer.ID)
	}
}

func TestOpenRefusesWhatWasChanged(t *testing.T) {
	t.Parallel()
	key := secret.GenerateKey()
	r := keyring(t, key)
	text := seal(t, r, "s3cret", "")
	if _, err := r.Open("s3cret", ""); !errors.Is(err, secret.ErrNotSealed) || secret.Sealed("s3cret") {
		t.Errorf("got %v, want ErrNotSealed", err)
	}
	flipped := []byte(text)
	flipped[len(flipped)-4] ^= 1
	for name, changed := range map[string]string{
		"cut":         text[:len(text)-3],
		"flipped":     string(flipped),
		"prefix only": "enc:v1:",
		"no body":     "enc:v1:" + key.ID + ":",
		"not base64":  "enc:v1:" + key.ID + ":***",
		"longer":      text + "AAAA",
	} {
		got, err := r.Open(changed, "")
		if err == nil {
			t.Errorf("%s: it opened as %q", name, got)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows the secret: %v", name, err)
		}
	}
	// A text cannot be said to be of another key with the same secret either.
	renamed := secret.Key{ID: "other", Secret: key.Secret}
	if _, err := keyring(t, renamed).Open(strings.Replace(text, key.ID, "other", 1), ""); err == nil {
		t.Error("it opened under another key id")
	}
}

func TestAADIsUnambiguous(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a", "b"}, {"ab"}, {"a", "", "b"}, {"1:a,"}, {"1:a", "b"}, {"a,1:b"}, {"a,1:b,"},
	} {
		aad := secret.AAD(parts...)
		if twin, ok := seen[aad]; ok {
			t.Errorf("%q and %q are both %q", parts, twin, aad)
		}
		seen[aad] = parts
	}
}

func TestNewRefusesUnusableKeys(t *testing.T) {
	t.Parallel()
	k := secret.GenerateKey()
	for name, keys := range map[string][]secret.Key{
		"none":       nil,
		"twice":      {k, k},
		"empty id":   {{}},
		"colon":      {{ID: "a:b"}},
		"capital":    {{ID: "A"}},
		"too long":   {{ID: strings.Repeat("a", 33)}},
		"not ASCII":  {{ID: "键"}},
		"with space": {{ID: "a b"}},
	} {
		if _, err := secret.New(keys...); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

// A fingerprint is the same for keyrings that open and seal the same, whatever order their older keys stand in, and another one for all
// others; so it is for a key of the same id.
func TestFingerprintsTellKeyringsApart(t *testing.T) {
	t.Parallel()
	a, b, c := secret.GenerateKey(), secret.GenerateKey(), secret.GenerateKey()
	other := secret.GenerateKey()
	other.ID = c.ID
	of := func(keys ...secret.Key) string {
		r, err := secret.New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return r.Fingerprint()
	}
	if of(a, b, c) != of(b, a, c) {
		t.Error("the order of older keys changes the fingerprint")
	}
	seen := map[string]bool{}
	for _, print := range []string{of(a, b, c), of(a, c, b), of(a, c), of(a, b, other), of(c)} {
		if len(print) != 16 || seen[print] {
			t.Errorf("%q stands for two keyrings, or is none", print)
		}
		seen[print] = true
	}
}

func TestAPrintedKeyShowsNothing(t *testing.T) {
	t.Parallel()
	k := secret.Key{ID: "k1", Secret: [32]byte{65, 65, 65}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, k); got != "key k1" {
			t.Errorf("%s: got %q", verb, got)
		}
	}
}

func FuzzOpen(f *testing.F) {
	r := keyring(f, secret.Key{ID: "k1", Secret: [32]byte{1}})
	f.Add("x", "enc:v1:k1:")
	f.Add("", "enc:v1:")
	f.Add("x", seal(f, r, "x", "y"))
	f.Fuzz(func(t *testing.T, plain, text string) {
		if got, err := r.Open(text, "place"); err == nil {
			t.Fatalf("forged: %q", got)
		}
		if got, err := r.Open(seal(t, r, plain, "place"), "place"); err != nil || got != plain {
			t.Fatalf("got %q, %v, want %q", got, err, plain)
		}
	})
}

func ExampleKeyring() {
	keys, _ := secret.Parse("2026-01 MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	place := secret.AAD("default", "tianyuan", "token")
	text, _ := keys.Seal("s3cret", place)
	fmt.Println(text[:15])

	plain, _ := keys.Open(text, place)
	fmt.Println(plain)

	_, err := keys.Open(text, secret.AAD("other", "tianyuan", "token"))
	fmt.Println(err)
	// Output:
	// enc:v1:2026-01:
	// s3cret
	// the text cannot be decrypted with key "2026-01": it is damaged or was moved from another place
}

func BenchmarkOpen(b *testing.B) {
	r := keyring(b, secret.GenerateKey())
	text := seal(b, r, "s3cret token of a provider", "place")
	for b.Loop() {
		if _, err := r.Open(text, "place"); err != nil {
			b.Fatal(err)
		}
	}
}
