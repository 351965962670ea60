package audience

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// pageMembers is how many members a page of the index has, on average.
const pageMembers = 1024

// hash is what an address is found and told from others by: 96 bits of SHA-256. That two of a thousand million people
// share one has a chance of one in a hundred thousand million.
type hash struct {
	high uint64
	low  uint32
}

func hashOf(address []byte) hash {
	sum := sha256.Sum256(address)
	return hash{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint32(sum[8:])}
}

// place is the page of a hash among all pages, and where it stands in it: pages follow each other as hashes do.
func (h hash) place(pages int64) (page int64, rest uint32) {
	high, low := bits.Mul64(h.high, uint64(pages))
	return int64(high), uint32(low >> 40)
}

// An entry of a page is three bytes of the hash and four of the member's number.
const (
	restBytes  = 3
	entryBytes = restBytes + 4
)

func appendEntry(page []byte, rest uint32, seq int64) []byte {
	return binary.BigEndian.AppendUint32(append(page, byte(rest>>16), byte(rest>>8), byte(rest)), uint32(seq))
}

// PageOf is the page of the index that has an address, if any has.
func PageOf(address string, pages int64) int64 {
	page, _ := hashOf([]byte(address)).place(pages)
	return page
}

// Candidates are the members that an address may be, by its page: one, and hardly ever more. Only the address itself can tell.
func Candidates(page []byte, address string, pages int64) []int64 {
	_, want := hashOf([]byte(address)).place(pages)
	var found []int64
	for ; len(page) >= entryBytes; page = page[entryBytes:] {
		if rest := uint32(page[0])<<16 | uint32(page[1])<<8 | uint32(page[2]); rest == want {
			found = append(found, int64(binary.BigEndian.Uint32(page[restBytes:])))
		}
	}
	return found
}
