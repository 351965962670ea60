package secret_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/secret"
)

func TestANewKeyHasItsFormAndIsNeverTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id, text := secret.NewKey()
		if len(id) != 12 || len(text) != 32 || seen[id] || seen[text] {
			t.Fatalf("got %q, %q", id, text)
		}
		seen[id], seen[text] = true, true
		gotID, gotText, ok := secret.ParseKey(secret.FormatKey(id, text))
		if !ok || gotID != id || gotText != text {
			t.Fatalf("got %q, %q, %v, want %q, %q", gotID, gotText, ok, id, text)
		}
	}
}

func TestParseKeyRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	id, text := strings.Repeat("a", 12), strings.Repeat("b", 32)
	for name, key := range map[string]string{
		"empty":        "",
		"prefix only":  "ph_",
		"no secret":    "ph_" + id + "_",
		"short secret": "ph_" + id + "_" + text[1:],
		"long secret":  "ph_" + id + "_" + strings.Repeat("b", 257),
		"short id":     "ph_" + id[1:] + "_" + text + "b",
		"other prefix": "pk_" + id + "_" + text,
		"capitals":     "ph_" + id + "_" + strings.ToUpper(text),
		"not ASCII":    "ph_" + id + "_管理员管理员管理员管理员",
		"invalid":      "ph_" + id + "_" + strings.Repeat("\xff", 32),
		"space":        "ph_" + id + "_" + text + " ",
		"NUL":          "ph_" + id + "_" + text + "\x00",
	} {
		if gotID, gotText, ok := secret.ParseKey(key); ok || gotID != "" || gotText != "" {
			t.Errorf("%s: got %q, %q, %v", name, gotID, gotText, ok)
		}
	}
}

func TestEqualComparesWhole(t *testing.T) {
	t.Parallel()
	a := secret.HashKey("a")
	for b, want := range map[string]bool{a: true, secret.HashKey("b"): false, a[:63]: false, "": false, "管理员": false} {
		if got := secret.Equal(a, b); got != want {
			t.Errorf("Equal(%q, %q) = %v, want %v", a, b, got, want)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("ph_aaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")
	f.Add("ph_管")
	f.Fuzz(func(t *testing.T, key string) {
		id, text, ok := secret.ParseKey(key)
		if ok && secret.FormatKey(id, text) != key {
			t.Fatalf("%q was read as %q and %q", key, id, text)
		}
	})
}

func ExampleParseKey() {
	id, text, ok := secret.ParseKey("ph_exampleexamp_abcdefghijklmnopqrstuvwxyz234567")
	fmt.Println(id, len(text), ok)
	stored := secret.HashKey("abcdefghijklmnopqrstuvwxyz234567")
	fmt.Println(secret.Equal(stored, secret.HashKey(text)))
	// Output:
	// exampleexamp 32 true
	// true
}

func BenchmarkHashKey(b *testing.B) {
	_, text := secret.NewKey()
	stored := secret.HashKey(text)
	for b.Loop() {
		if !secret.Equal(stored, secret.HashKey(text)) {
			b.Fatal("a secret does not match its own hash")
		}
	}
}
