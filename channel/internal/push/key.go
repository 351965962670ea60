// Package push is what the drivers of push services share: the assertions that an application shows a provider instead of a password
// (JSON Web Tokens, RFC 7519, signed by a private key that the provider has given out), tokens of devices, and data for apps.
package push

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// The algorithms, as RFC 7518 names them.
const (
	RS256 = string(jose.RS256)
	PS256 = string(jose.PS256)
	ES256 = string(jose.ES256)
)

// leastBits is how long an RSA key must be: RFC 7518, 3.3.
const leastBits = 2048

// Key is a private key with the name that its provider knows it by.
type Key struct {
	ID, algorithm string
	signer        jose.Signer
}

// NewKey reads a private key in PEM, PKCS #8 as providers hand it out, that signs by an algorithm.
func NewKey(id, algorithm, text string) (*Key, error) {
	block, _ := pem.Decode([]byte(strings.TrimSpace(text)))
	if block == nil {
		return nil, errors.New("is no private key in PEM: want a text that begins with -----BEGIN PRIVATE KEY-----")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is no private key in the form of PKCS #8, as the provider hands it out")
	}
	key, is := parsed.(crypto.Signer)
	if !is {
		return nil, errors.New("is a key that signs nothing")
	}
	if of, is := key.(*rsa.PrivateKey); is && of.N.BitLen() < leastBits {
		return nil, fmt.Errorf("is an RSA key of %d bits: %d are the least", of.N.BitLen(), leastBits)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: key},
		(&jose.SignerOptions{}).WithType("JWT").WithHeader(jose.HeaderKey("kid"), id))
	if err != nil {
		return nil, fmt.Errorf("is a key of another kind: %s is signed with it", algorithm)
	}
	k := &Key{ID: id, algorithm: algorithm, signer: signer}
	if _, err := k.Sign(map[string]any{}); err != nil {
		return nil, fmt.Errorf("is a key of another kind: %s is signed with it", algorithm)
	}
	return k, nil
}

// Sign is a token that says claims.
func (k *Key) Sign(claims map[string]any) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := k.signer.Sign(body)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
