package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	keySize = 32 // AES-256
	prefix  = "enc:v1:"

	maxKeyID = 32
)

// ErrNotSealed is what Open says of a text that Seal did not make.
var ErrNotSealed = errors.New("the text is not encrypted by Posthouse (it does not begin with " + prefix + ")")

// UnknownKeyError says that a text is encrypted with a key the keyring lacks.
type UnknownKeyError struct{ ID string }

// Error names the key.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("the keyring has no key %q: add the key that encrypted this text", e.ID)
}

// Keyring encrypts with its newest key and decrypts with any of its keys. It
// never changes and may be used by many goroutines at once.
type Keyring struct {
	newest string
	keys   map[string]cipher.AEAD
	ids    []string
	print  string

	signers map[string]signer
}

// Key is one key of a keyring. Its text form is the id, a space and the secret
// in base64.
type Key struct {
	ID     string   // 1 to 32 of a–z, 0–9, "-" and "_"
	Secret [32]byte // for AES-256-GCM
}

// GenerateKey makes a key at random, with an id of eight characters.
func GenerateKey() Key {
	k := Key{ID: randomText(8)}
	rand.Read(k.Secret[:])
	return k
}

// String is the key's id alone, so that a key printed by mistake shows nothing.
func (k Key) String() string { return "key " + k.ID }

// GoString is String.
func (k Key) GoString() string { return k.String() }

func (k Key) line() string {
	return k.ID + " " + base64.StdEncoding.EncodeToString(k.Secret[:])
}

// New makes a keyring of keys, the newest last.
func New(keys ...Key) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("a keyring needs at least one key")
	}
	r := &Keyring{keys: map[string]cipher.AEAD{}, signers: map[string]signer{}}
	for _, k := range keys {
		if !validKeyID(k.ID) {
			return nil, fmt.Errorf("the key id %q is not 1 to %d of a-z, 0-9, \"-\" and \"_\"", k.ID, maxKeyID)
		}
		if r.keys[k.ID] != nil {
			return nil, fmt.Errorf("the key id %q appears twice", k.ID)
		}
		block, err := aes.NewCipher(k.Secret[:])
		if err != nil {
			return nil, err
		}
		if r.keys[k.ID], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		if r.signers[k.ID], err = signerOf(k.Secret); err != nil {
			return nil, err
		}
		r.newest = k.ID
		r.ids = append(r.ids, k.ID)
	}
	r.print = fingerprint(keys)
	return r, nil
}

// fingerprint is that of keys. Secrets of 256 bits cannot be found by it.
func fingerprint(keys []Key) string {
	lines := make([]string, len(keys))
	for i, k := range keys {
		lines[i] = k.line()
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("posthouse keyring\n" + keys[len(keys)-1].ID + "\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Fingerprint tells keyrings apart: two with the same keys, of which the same is the newest, have the same one. It shows nothing of them.
func (r *Keyring) Fingerprint() string { return r.print }

// String is the keyring's fingerprint alone, so that one printed by mistake shows nothing.
func (r *Keyring) String() string { return "keyring " + r.print }

// GoString is String.
func (r *Keyring) GoString() string { return r.String() }

// Newest is the id of the key that seals.
func (r *Keyring) Newest() string { return r.newest }

// IDs lists the ids of the keys, the newest last.
func (r *Keyring) IDs() []string { return append([]string{}, r.ids...) }

// Seal encrypts a text with the newest key. The answer reads
// enc:v1:<key id>:<base64 of nonce and ciphertext> and opens only with the same
// aad, which AAD makes. Each sealing draws a nonce at random: one key is good
// for 2^32 of them.
func (r *Keyring) Seal(plain, aad string) (string, error) {
	aead := r.keys[r.newest]
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return "", fmt.Errorf("draw a nonce: %w", err)
	}
	sealed := aead.Seal(nonce, nonce, []byte(plain), bind(r.newest, aad))
	return prefix + r.newest + ":" + base64.RawStdEncoding.EncodeToString(sealed), nil
}

// Open decrypts what Seal made. The error is ErrNotSealed, an *UnknownKeyError,
// or says that the text is damaged or belongs somewhere else; it never holds
// the text.
func (r *Keyring) Open(text, aad string) (string, error) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return "", ErrNotSealed
	}
	id, encoded, ok := strings.Cut(rest, ":")
	if !ok {
		return "", errors.New("the encrypted text is cut off")
	}
	aead := r.keys[id]
	if aead == nil {
		return "", &UnknownKeyError{id}
	}
	sealed, err := base64.RawStdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(sealed) < aead.NonceSize() {
		return "", errors.New("the encrypted text is damaged")
	}
	nonce, body := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, body, bind(id, aad))
	if err != nil {
		return "", fmt.Errorf("the text cannot be decrypted with key %q: it is damaged or was moved from another place", id)
	}
	return string(plain), nil
}

// Sealed reports whether a text has the form that Seal gives it.
func Sealed(text string) bool { return strings.HasPrefix(text, prefix) }

// Start is how a text begins that is sealed with the newest key.
func (r *Keyring) Start() string { return prefix + r.newest + ":" }

// KeyOf is the id of the key that sealed a text, whole or cut after its beginning; empty for what is not sealed.
func KeyOf(text string) string {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ":")
	return id
}

// Current reports whether a text is sealed with the newest key: one that is not
// should be opened and sealed again before an old key is thrown away.
func (r *Keyring) Current(text string) bool { return strings.HasPrefix(text, r.Start()) }

// AAD joins the parts that say where a secret belongs, such as tenant, channel
// and field, so that no two lists of parts make the same text. A secret that is
// copied to another place does not open there.
func AAD(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part + ",")
	}
	return b.String()
}

// MessagePlace is the aad of a sensitive message's content. An id has no slash.
func MessagePlace(tenant, message string) string { return "message/" + message + "/" + tenant }

// bind adds the form's version and the key's id to what is authenticated.
func bind(id, aad string) []byte { return []byte(prefix + AAD(id, aad)) }

func validKeyID(id string) bool {
	if id == "" || len(id) > maxKeyID {
		return false
	}
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
