package secret

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
)

// PublicKey is the public half of a key that signs.
type PublicKey struct {
	// ID is the beginning of the fingerprint, so that it fits this key alone.
	ID string
	// PEM is the key as openssl reads it.
	PEM string
	// Fingerprint is the SHA-256 of the key's DER form, in hex.
	Fingerprint string
}

// maxPublicID is how many hexadecimal digits of the fingerprint are an id.
const maxPublicID = 16

// PublicKeyOf describes a public key.
func PublicKeyOf(key ed25519.PublicKey) PublicKey {
	der, _ := x509.MarshalPKIXPublicKey(key) // a key of this type: cannot fail
	sum := sha256.Sum256(der)
	print := hex.EncodeToString(sum[:])
	return PublicKey{print[:maxPublicID], string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), print}
}

// signingPurpose separates the keys that sign from what else is made of a key's secret.
const signingPurpose = "posthouse proof ed25519"

// signer is what a key's secret gives for signing: the private key, and a secret that salts digests. Both are the same in each process
// that has the key, and neither tells anything of the secret.
type signer struct {
	private ed25519.PrivateKey
	salts   []byte
}

func signerOf(secret [keySize]byte) (signer, error) {
	seed, err := hkdf.Key(sha256.New, secret[:], nil, signingPurpose, ed25519.SeedSize)
	if err != nil {
		return signer{}, err
	}
	salts, err := hkdf.Key(sha256.New, secret[:], nil, "posthouse proof salts", sha256.Size)
	return signer{ed25519.NewKeyFromSeed(seed), salts}, err
}

// Sign signs bytes by Ed25519 with a key that the newest key of the keyring gives: the last of PublicKeys.
func (r *Keyring) Sign(text []byte) []byte { return ed25519.Sign(r.signers[r.newest].private, text) }

// PublicKeys are those of all keys of the keyring, the one that signs last.
func (r *Keyring) PublicKeys() []PublicKey {
	list := make([]PublicKey, len(r.ids))
	for i, id := range r.ids {
		list[i] = PublicKeyOf(r.signers[id].private.Public().(ed25519.PublicKey))
	}
	return list
}

// Salt is for the digest of something that is not shown, so that short texts are not found by trying. It is the same each time for the same
// parts and the same newest key.
func (r *Keyring) Salt(parts ...string) (string, error) {
	salt, err := hkdf.Expand(sha256.New, r.signers[r.newest].salts, AAD(parts...), 16)
	return hex.EncodeToString(salt), err
}
