package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// The form of an API key: ph_<12 characters>_<32 characters>, which is 60 and
// 160 bits in lower-case base 32.
const (
	keyPrefix    = "ph_"
	idLength     = 12
	secretLength = 32
	alphabet     = "abcdefghijklmnopqrstuvwxyz234567"

	// maxSecret bounds a secret, so that hashing one costs little.
	maxSecret = 256
)

// NewKey draws an API key at random. The id finds the key and may be shown; the
// secret is given out once and stored only as its HashKey.
func NewKey() (id, secret string) { return randomText(idLength), randomText(secretLength) }

// FormatKey is an API key as its owner gets it.
func FormatKey(id, secret string) string { return keyPrefix + id + "_" + secret }

// ParseKey takes an API key apart; ok is false for anything else than the form
// that FormatKey makes. A secret may be longer than the one NewKey draws, never
// shorter, and uses the letters a–z and digits only.
func ParseKey(key string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(key, keyPrefix)
	if !ok || len(rest) < idLength+1+secretLength || len(rest) > idLength+1+maxSecret || rest[idLength] != '_' {
		return "", "", false
	}
	id, secret = rest[:idLength], rest[idLength+1:]
	if !plain(id) || !plain(secret) {
		return "", "", false
	}
	return id, secret, true
}

// HashKey is what is stored of an API key's secret: 64 hexadecimal digits. It is
// HMAC-SHA256 under a fixed label, fast on purpose: a secret of 160 random bits
// cannot be guessed, and each call of the API pays for one hash.
func HashKey(secret string) string {
	mac := hmac.New(sha256.New, []byte("posthouse api key v1"))
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil))
}

// Equal compares two hashes in a time that does not tell where they differ.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func randomText(length int) string {
	b := make([]byte, length*5/8+1)
	rand.Read(b) // never fails
	return base32.NewEncoding(alphabet).WithPadding(base32.NoPadding).EncodeToString(b)[:length]
}
