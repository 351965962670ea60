package audience

import (
	"encoding/binary"
	"slices"
)

// Marks are some members of an audience, by number: a bit each.
type Marks struct {
	bits []uint64
	n    int64 // of them
}

// NewMarks makes marks of so many members, none of them set.
func NewMarks(members int64) *Marks { return &Marks{bits: make([]uint64, members/64+1)} }

// Mark marks a member.
func (m *Marks) Mark(seq int64) {
	if !m.Has(seq) {
		m.bits[seq/64] |= 1 << (seq % 64)
		m.n++
	}
}

// Has reports whether a member is marked.
func (m *Marks) Has(seq int64) bool { return m.bits[seq/64]&(1<<(seq%64)) != 0 }

// Len is how many members are marked.
func (m *Marks) Len() int64 { return m.n }

// MarkMembers is how many members the marks of one stretch are for.
const MarkMembers = 1 << 16

// Stretches calls each for the stretches with a marked member, in order, with a bit for each member from first on.
func (m *Marks) Stretches(each func(first int64, marks []byte) error) error {
	const words = MarkMembers / 64
	for at := 0; at < len(m.bits); at += words {
		stretch := m.bits[at:min(at+words, len(m.bits))]
		if !slices.ContainsFunc(stretch, func(w uint64) bool { return w != 0 }) {
			continue
		}
		marks := make([]byte, 0, 8*len(stretch))
		for _, w := range stretch {
			marks = binary.LittleEndian.AppendUint64(marks, w)
		}
		if err := each(int64(at)*64, marks); err != nil {
			return err
		}
	}
	return nil
}

// Marked reports whether the marks of a stretch that begins at first have a member.
func Marked(marks []byte, first, seq int64) bool {
	at := seq - first
	return at >= 0 && at/8 < int64(len(marks)) && marks[at/8]&(1<<(at%8)) != 0
}
