package secret

import (
	"encoding/base64"
	"encoding/json"
)

// maxToken bounds a token that is read, in bytes.
const maxToken = 3000

// Sealer seals texts and opens them, as a keyring does.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// SealToken makes a token for an address: a claim that none but the server can make or read. purpose keeps it from serving for another.
func SealToken(s Sealer, purpose string, claim any) (string, error) {
	text, err := json.Marshal(claim)
	if err != nil {
		return "", err
	}
	sealed, err := s.Seal(string(text), AAD(purpose))
	return base64.RawURLEncoding.EncodeToString([]byte(sealed)), err
}

// OpenToken reads the claim of a token. It reports whether it is one of SealToken's for the purpose.
func OpenToken(s Sealer, purpose, token string, claim any) bool {
	if len(token) > maxToken {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return false
	}
	text, err := s.Open(string(sealed), AAD(purpose))
	return err == nil && json.Unmarshal([]byte(text), claim) == nil
}
