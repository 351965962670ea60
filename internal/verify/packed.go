package verify

import (
	"cmp"
	"encoding/binary"
	"hash"
	"hash/fnv"
	"sort"
)

// packed is an id or a key in 16 bytes. Ids are packed exactly and sort as their texts do; any
// other text is hashed to 128 bits: two of a run do not meet.
type packed struct{ high, low uint64 }

func (p packed) compare(q packed) int {
	return cmp.Or(cmp.Compare(p.high, q.high), cmp.Compare(p.low, q.low))
}

// alphabet are the digits of ids, Crockford's base 32.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// packer packs, in one goroutine.
type packer struct {
	digits [256]uint8 // of a character, 255 for none
	hasher hash.Hash
	text   []byte
}

func newPacker() *packer {
	p := &packer{hasher: fnv.New128a()}
	for i := range p.digits {
		p.digits[i] = 255
	}
	for i := range len(alphabet) {
		p.digits[alphabet[i]] = uint8(i)
	}
	return p
}

// id packs an id. The first two of an id's 130 bits are 0 for the next eight thousand years.
func (p *packer) id(text string) (packed, bool) {
	if len(text) != 26 || p.digits[text[0]] > 7 {
		return packed{}, false
	}
	var v packed
	for i := range len(text) {
		d := p.digits[text[i]]
		if d == 255 {
			return packed{}, false
		}
		v.high = v.high<<5 | v.low>>59
		v.low = v.low<<5 | uint64(d)
	}
	return v, true
}

// key packs any text.
func (p *packer) key(text string) packed {
	if v, ok := p.id(text); ok {
		return v
	}
	p.hasher.Reset()
	p.text = append(p.text[:0], text...)
	p.hasher.Write(p.text) //nolint:errcheck // a hash takes everything
	p.text = p.hasher.Sum(p.text[:0])
	return packed{binary.BigEndian.Uint64(p.text), binary.BigEndian.Uint64(p.text[8:])}
}

// pair packs two texts that belong together.
func (p *packer) pair(a, b string) packed { return p.key(a + "\x00" + b) }

// hash is a text in 8 bytes, 0 for none.
func (p *packer) hash(text string) uint64 {
	if text == "" {
		return 0
	}
	return max(1, p.key(text).low)
}

// idText is the text of an id that was packed.
func (p packed) idText() string {
	var out [26]byte
	high, low := p.high, p.low
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[low&31]
		high, low = high>>5, low>>5|high<<59
	}
	return string(out[:])
}

// names numbers words, so that lines hold two bytes instead of a text. There are few of them; what
// comes after 65,535 is not told apart.
type names struct {
	numbers map[string]uint16
	list    []string
}

func (n *names) number(word string) uint16 {
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

func (n *names) word(i uint16) string {
	if int(i) < len(n.list) {
		return n.list[i]
	}
	return ""
}

// stretch is the part of a list, sorted by id, that has one id.
func stretch[T any](list []T, id packed, of func(*T) packed) []T {
	from := sort.Search(len(list), func(i int) bool { return of(&list[i]).compare(id) >= 0 })
	to := from
	for to < len(list) && of(&list[to]) == id {
		to++
	}
	return list[from:to]
}
