package secret

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/posthouse/posthouse"
)

// maxToken bounds a token that is read, in bytes.
const maxToken = 3000

// Sealer seals texts and opens them, as a keyring does.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// Claim is what a token says: a few short texts. The JSON form is that of tokens which programs before this form made.
type Claim interface {
	Fields() []string
	// Read sets the claim to fields, and reports whether they are one of its kind.
	Read(fields []string) bool
}

// A token reads p1.<key id>.<base64 for URLs of nonce and ciphertext>. Tokens of before are the base64 of a whole sealed text, which always
// begins alike. Each stands in messages that people get, so it is as short as it can be.
const (
	tokenMark = "p1."
	tokenForm = "p1" // is authenticated with the purpose: a token of one form is none of the other
	oldMark   = "ZW5jOnYxO"
)

// SealToken makes a token for an address: a claim that none but the server can make or read. purpose keeps it from serving for another.
func SealToken(s Sealer, purpose string, claim Claim) (string, error) {
	sealed, err := s.Seal(string(pack(claim.Fields())), AAD(purpose, tokenForm))
	if err != nil {
		return "", err
	}
	rest, _ := strings.CutPrefix(sealed, prefix)
	id, encoded, _ := strings.Cut(rest, ":")
	raw, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || id == "" {
		return "", errors.New("a token cannot be made: what seals it is no keyring")
	}
	return tokenMark + id + "." + base64.RawURLEncoding.EncodeToString(raw), nil
}

// OpenToken reads the claim of a token. It reports whether it is one of SealToken's for the purpose.
func OpenToken(s Sealer, purpose, token string, claim Claim) bool {
	if len(token) > maxToken {
		return false
	}
	rest, short := strings.CutPrefix(token, tokenMark)
	if !short {
		return openOld(s, purpose, token, claim)
	}
	id, encoded, _ := strings.Cut(rest, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return false
	}
	text, err := s.Open(prefix+id+":"+base64.RawStdEncoding.EncodeToString(raw), AAD(purpose, tokenForm))
	if err != nil {
		return false
	}
	fields, ok := unpack([]byte(text))
	return ok && claim.Read(fields)
}

func openOld(s Sealer, purpose, token string, claim Claim) bool {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return false
	}
	text, err := s.Open(string(sealed), AAD(purpose))
	return err == nil && json.Unmarshal([]byte(text), claim) == nil
}

// Tokens as they stand in texts, also where the end is cut off: one that lacks so much that it is shorter opens for nobody who guesses the rest.
var tokens = regexp.MustCompile(`(?:p1\.[a-z0-9_-]{1,32}\.|` + oldMark + `)[A-Za-z0-9_-]{40,}`)

// noToken stands for a token that is not shown.
const noToken = "***"

// MaskTokens is a text as it may be shown: without the tokens that stand in links and in the keys of buttons, as whoever has one acts for the
// person it was made for. A text in JSON stays one.
func MaskTokens(text string) string {
	if !strings.Contains(text, tokenMark) && !strings.Contains(text, oldMark) {
		return text
	}
	return tokens.ReplaceAllLiteralString(text, noToken)
}

// ids are written with the alphabet of base 32 that tells no letter from a digit that looks like it.
var ids = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// An id has 130 bits, of which the first two are 0, and takes 16 bytes; before it stand so many 0 that it fills a whole number of bytes.
const (
	idBytes  = 16
	idBefore = "000000"
)

// pack writes fields one behind the other: the length of each and its bytes, or a length of 0 twice for an empty one, and 0 and 1 before an id.
func pack(fields []string) (b []byte) {
	for _, f := range fields {
		id, err := ids.DecodeString(idBefore + f)
		switch {
		case f == "":
			b = append(b, 0, 0)
		case posthouse.ValidID(f) && err == nil && f[0] <= '7':
			b = append(append(b, 0, 1), id[len(id)-idBytes:]...)
		default:
			b = append(binary.AppendUvarint(b, uint64(len(f))), f...)
		}
	}
	return b
}

func unpack(b []byte) (fields []string, ok bool) {
	for len(b) > 0 {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return nil, false
		}
		b = b[used:]
		switch {
		case n > 0:
			fields, b = append(fields, string(b[:n])), b[n:]
		case len(b) > 0 && b[0] == 0:
			fields, b = append(fields, ""), b[1:]
		case len(b) > idBytes && b[0] == 1:
			id := ids.EncodeToString(append(make([]byte, 4), b[1:1+idBytes]...))
			fields, b = append(fields, id[len(idBefore):]), b[1+idBytes:]
		default:
			return nil, false
		}
	}
	return fields, true
}
