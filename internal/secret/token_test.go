package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// said is a claim of any fields.
type said struct{ List []string }

func (s *said) Fields() []string          { return s.List }
func (s *said) Read(fields []string) bool { s.List = fields; return true }

// A token is short, says what it was made of, and opens for one purpose, with one keyring and unchanged alone. Tokens of before go on.
func TestATokenSaysWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	ring, other := ringOf(t), ringOf(t)
	id := posthouse.DeliveryID(posthouse.NewID(), 77)
	for _, want := range [][]string{
		{"default", id, "zhang.san", "abcdefg"}, {"", "", ""}, {"张三", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "00000000000000000000000000"},
		{"8ZZZZZZZZZZZZZZZZZZZZZZZZZ", strings.Repeat("x", 300)},
	} {
		token, err := secret.SealToken(ring, "a", &said{want})
		if err != nil {
			t.Fatal(err)
		}
		var got said
		if !secret.OpenToken(ring, "a", token, &got) || !slices.Equal(got.List, want) {
			t.Errorf("%q says %q", token, got.List)
		}
		for name, bad := range map[string]string{"cut": token[:len(token)-1], "longer": token + "A", "another form": token[3:], "empty": "", "a mark": "p1.", "no text": "p1.k."} {
			if secret.OpenToken(ring, "a", bad, &got) {
				t.Errorf("%s: %q opens", name, bad)
			}
		}
		if secret.OpenToken(ring, "b", token, &got) || secret.OpenToken(other, "a", token, &got) {
			t.Error("it opens for another purpose, or with another keyring")
		}
		_, raw, _ := strings.Cut(token[3:], ".")
		bytes, _ := base64.RawURLEncoding.DecodeString(raw)
		sealed := "enc:v1:" + ring.Newest() + ":" + base64.RawStdEncoding.EncodeToString(bytes)
		if secret.OpenToken(ring, "a", base64.RawURLEncoding.EncodeToString([]byte(sealed)), &got) {
			t.Error("it opens in the form of before")
		}
	}
	token, err := secret.SealToken(ring, "a", &said{[]string{"default", id, "zhang.san", "abcdefg"}})
	if err != nil || len(token) > 110 {
		t.Errorf("a usual token has %d characters, %v", len(token), err)
	}
	var got said
	if !secret.OpenToken(ring, "a", before(t, ring, "a", said{[]string{"x", "y"}}), &got) || !slices.Equal(got.List, []string{"x", "y"}) {
		t.Errorf("a token of before says %q", got.List)
	}
}

// before is a token as programs made it before this form.
func before(t *testing.T, ring *secret.Keyring, purpose string, claim any) string {
	t.Helper()
	text, _ := json.Marshal(claim) // plain values: cannot fail
	sealed, err := ring.Seal(string(text), secret.AAD(purpose))
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(sealed))
}

func ringOf(t *testing.T) *secret.Keyring {
	t.Helper()
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// Tokens are masked wherever they stand in a text, whole or with their end cut off, and nothing else is.
func TestTokensAreMasked(t *testing.T) {
	t.Parallel()
	ring := ringOf(t)
	token, err := secret.SealToken(ring, "a", &said{[]string{"default", posthouse.NewID(), "u"}})
	if err != nil {
		t.Fatal(err)
	}
	old := before(t, ring, "a", said{[]string{"default", "u"}})
	for text, want := range map[string]string{
		"see https://a.example/ack/" + token + "。": "see https://a.example/ack/***。",
		"ack." + token: "ack.***",
		"https://a.example/ack/" + old + "\nhttps://b/" + token: "https://a.example/ack/***\nhttps://b/***",
		"a%2Fack%2F" + token[:len(token)-1]:                     "a%2Fack%2F***",
		`{"u":"x\/ack\/` + old[:len(old)-1] + `"}`:              `{"u":"x\/ack\/***"}`,
		"p1.": "p1.", "version p1.2.3": "version p1.2.3", "": "", "hello": "hello", "https://a.example/ack/x": "https://a.example/ack/x",
	} {
		if got := secret.MaskTokens(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
