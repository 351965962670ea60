// Package ids makes ids that can be told again from what they name. It is not where ids are made at random or taken apart: that is the
// root package.
package ids

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"

	"github.com/posthouse/posthouse"
)

// alphabet is that of posthouse.NewID.
var alphabet = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// At is the id of what key names and what was made at a time: the same whenever it is asked for, so that who
// writes it down twice finds it the second time. Who knows both can tell it.
func At(at time.Time, key string) string {
	sum := sha256.Sum256([]byte(key))
	var random [8]byte
	binary.BigEndian.PutUint64(random[:], binary.BigEndian.Uint64(sum[:])<<4) // 60 bits: twelve characters
	first := posthouse.FirstID(at)
	return first[:10] + alphabet.EncodeToString(random[:])[:12] + first[22:]
}
