// Package packed holds ids, keys and words in few bytes.
package packed

import (
	"cmp"
	"encoding/binary"
	"hash"
	"hash/fnv"
	"sort"
)

// ID is an id or a key in 16 bytes. Ids are packed exactly and sort as their texts do; any
// other text is hashed to 128 bits: two of a run do not meet.
type ID struct{ high, low uint64 }

// Compare orders ids as their texts.
func (p ID) Compare(q ID) int {
	return cmp.Or(cmp.Compare(p.high, q.high), cmp.Compare(p.low, q.low))
}

// alphabet are the digits of ids, Crockford's base 32.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Packer packs, in one goroutine.
type Packer struct {
	digits [256]uint8 // of a character, 255 for none
	hasher hash.Hash
	text   []byte
}

// NewPacker is a packer.
func NewPacker() *Packer {
	p := &Packer{hasher: fnv.New128a()}
	for i := range p.digits {
		p.digits[i] = 255
	}
	for i := range len(alphabet) {
		p.digits[alphabet[i]] = uint8(i)
	}
	return p
}

// ID packs an id. The first two of an id's 130 bits are 0 for the next eight thousand years.
func (p *Packer) ID(text string) (ID, bool) {
	if len(text) != 26 || p.digits[text[0]] > 7 {
		return ID{}, false
	}
	var v ID
	for i := range len(text) {
		d := p.digits[text[i]]
		if d == 255 {
			return ID{}, false
		}
		v.high = v.high<<5 | v.low>>59
		v.low = v.low<<5 | uint64(d)
	}
	return v, true
}

// Key packs any text.
func (p *Packer) Key(text string) ID {
	if v, ok := p.ID(text); ok {
		return v
	}
	p.hasher.Reset()
	p.text = append(p.text[:0], text...)
	p.hasher.Write(p.text) //nolint:errcheck // a hash takes everything
	p.text = p.hasher.Sum(p.text[:0])
	return ID{binary.BigEndian.Uint64(p.text), binary.BigEndian.Uint64(p.text[8:])}
}

// Pair packs two texts that belong together.
func (p *Packer) Pair(a, b string) ID { return p.Key(a + "\x00" + b) }

// Hash is a text in 8 bytes, 0 for none.
func (p *Packer) Hash(text string) uint64 {
	if text == "" {
		return 0
	}
	return max(1, p.Key(text).low)
}

// Text is the text of an id that was packed.
func (p ID) Text() string {
	var out [26]byte
	high, low := p.high, p.low
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[low&31]
		high, low = high>>5, low>>5|high<<59
	}
	return string(out[:])
}

// Names numbers words, so that lines hold two bytes instead of a text. There are few of them; what
// comes after 65,535 is not told apart.
type Names struct {
	numbers map[string]uint16
	list    []string
}

// Number is that of a word.
func (n *Names) Number(word string) uint16 {
	if i, ok := n.numbers[word]; ok {
		return i
	}
	if n.numbers == nil {
		n.numbers, n.list = map[string]uint16{"": 0}, []string{""}
		if word == "" {
			return 0
		}
	}
	if len(n.list) == 1<<16-1 {
		word = "…"
		if i, ok := n.numbers[word]; ok {
			return i
		}
	}
	n.numbers[word] = uint16(len(n.list))
	n.list = append(n.list, word)
	return n.numbers[word]
}

// Word is that of a number.
func (n *Names) Word(i uint16) string {
	if int(i) < len(n.list) {
		return n.list[i]
	}
	return ""
}

// Stretch is the part of a list, sorted by id, that has one id.
func Stretch[T any](list []T, id ID, of func(*T) ID) []T {
	from := sort.Search(len(list), func(i int) bool { return of(&list[i]).Compare(id) >= 0 })
	to := from
	for to < len(list) && of(&list[to]) == id {
		to++
	}
	return list[from:to]
}
