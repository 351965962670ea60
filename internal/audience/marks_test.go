package audience

import "testing"

// Who is marked is marked once, and nobody beside is, also at the ends of words and stretches.
func TestMarksAreOfWhomTheyWereMadeFor(t *testing.T) {
	t.Parallel()
	want := map[int64]bool{1: true, 63: true, 64: true, 128: true, MarkMembers - 1: true, MarkMembers: true, 3 * MarkMembers: true}
	m := NewMarks(3 * MarkMembers)
	for seq := range want {
		m.Mark(seq)
		m.Mark(seq)
	}
	got, stretches := 0, 0
	err := m.Stretches(func(first int64, marks []byte) error {
		stretches++
		for seq := first; seq < first+MarkMembers && seq <= 3*MarkMembers; seq++ {
			if is := Marked(marks, first, seq); is != want[seq] || is != m.Has(seq) {
				t.Errorf("%d is marked: %v", seq, is)
			} else if is {
				got++
			}
		}
		return nil
	})
	if err != nil || got != len(want) || m.Len() != int64(len(want)) || stretches != 3 {
		t.Errorf("%d and %d are marked in %d stretches, %v", got, m.Len(), stretches, err)
	}
}
