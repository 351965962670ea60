package audience

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newCodec(t testing.TB) *Codec {
	t.Helper()
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestABlockKeepsItsMembers(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	var b Builder
	var want []Member
	for i := range BlockMembers {
		m := Member{Seq: int64(5001 + i), Address: fmt.Sprint("o6_", i)}
		if i%3 > 0 {
			m.Variables = json.RawMessage(fmt.Sprintf(`{"n":"张%d"}`, i))
		}
		if b.Full() {
			t.Fatalf("the block is full with %d members", b.Len())
		}
		b.Add(m.Address, m.Variables)
		want = append(want, m)
	}
	if !b.Full() {
		t.Error("the block takes more than its members")
	}
	packed := c.Pack(&b)
	got, err := c.Members(packed, 5001)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	var addresses []string
	err = c.Addresses(packed, func(_ int, a []byte) error { addresses = append(addresses, string(a)); return nil })
	if err != nil || len(addresses) != len(want) || addresses[999] != want[999].Address {
		t.Errorf("%d addresses, %v", len(addresses), err)
	}
	if b.Len() != 0 {
		t.Errorf("the builder still has %d members", b.Len())
	}
}

// A row that somebody has damaged is an error and nothing worse.
func TestADamagedBlockIsAnError(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	whole := []byte{2, 5, 1, 'a', 2, 'b', 'c', 0, 1, 'v'}
	if got, err := c.Members(c.Squeeze(whole), 1); err != nil || len(got) != 2 || got[1].Address != "bc" || string(got[1].Variables) != "v" {
		t.Fatalf("the whole block is %v, %v", got, err)
	}
	for i := range whole {
		if _, err := c.Members(c.Squeeze(whole[:i]), 1); !errors.Is(err, errBlock) {
			t.Errorf("cut at %d: %v", i, err)
		}
		damaged := slices.Clone(whole)
		damaged[i] = 0xff
		_, _ = c.Members(c.Squeeze(damaged), 1) // whatever it is, it ends
	}
	if _, err := c.Members([]byte("no zstd"), 1); !errors.Is(err, errBlock) {
		t.Errorf("no zstd: %v", err)
	}
}

// CAMP-9: duplicates of one address are removed and counted, and everybody is found. It is compared with a map, in memory
// and spilled.
func TestASifterFindsWhoStandsTwiceAndEverybodyElse(t *testing.T) {
	t.Parallel()
	for _, spill := range []int64{1 << 20, 700, 3} {
		for _, members := range []int{0, 1, 5000} {
			t.Run(fmt.Sprintf("%d members, %d at once", members, spill), func(t *testing.T) {
				t.Parallel()
				sift(t, int64(members), spill)
			})
		}
	}
}

func sift(t *testing.T, members, spill int64) {
	s, err := newSifter(members, t.TempDir(), spill)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, uint64(members)))
	first, list := map[string]int64{}, []string{""}
	var repeated []int64
	for seq := int64(1); seq <= members; seq++ {
		address := fmt.Sprint("o", random.IntN(4000))
		list = append(list, address)
		if first[address] == 0 {
			first[address] = seq
		} else {
			repeated = append(repeated, seq)
		}
		if err := s.Add(seq, []byte(address)); err != nil {
			t.Fatal(err)
		}
	}
	pages, last := map[int64][]byte{}, int64(-1)
	err = s.Sift(func(number int64, page []byte) error {
		if number <= last || number >= s.Pages() {
			t.Errorf("page %d of %d comes after %d", number, s.Pages(), last)
		}
		last = number
		pages[number] = slices.Clone(page)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for address, seq := range first {
		among := Candidates(pages[PageOf(address, s.Pages())], address, s.Pages())
		if i := slices.Index(among, seq); i < 0 || len(among) > 2 {
			t.Fatalf("%s may be %v, want %d", address, among, seq)
		}
	}
	if found := Candidates(pages[PageOf("stranger", s.Pages())], "stranger", s.Pages()); len(found) > 1 {
		t.Errorf("a stranger may be %v", found)
	}
	var marked []int64
	err = s.Stretches(func(from int64, marks []byte) error {
		for seq := from; seq < from+MarkMembers; seq++ {
			if Marked(marks, from, seq) {
				marked = append(marked, seq)
			}
		}
		return nil
	})
	if diff := cmp.Diff(repeated, marked); diff != "" || err != nil || s.Len() != int64(len(repeated)) {
		t.Errorf("%v, %d repeated (-want +got):\n%s", err, s.Len(), diff)
	}
}

// CAMP-9: whoever is known before all members is marked, and nobody else; also where it spills.
func TestASifterMarksWhoIsKnownBefore(t *testing.T) {
	t.Parallel()
	for _, spill := range []int64{1 << 20, 7} {
		s, err := newSifter(300, t.TempDir(), spill)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []int64
		for i := range 100 {
			if err := errors.Join(s.AddKnown(fmt.Append(nil, "o", 3*i)), s.AddKnown(fmt.Append(nil, "o", 3*i))); err != nil {
				t.Fatal(err)
			}
		}
		for seq := int64(1); seq <= 200; seq++ {
			if err := s.Add(seq, fmt.Append(nil, "o", seq)); err != nil {
				t.Fatal(err)
			}
			if seq%3 == 0 {
				want = append(want, seq)
			}
		}
		err = errors.Join(s.Sift(func(int64, []byte) error { return nil }), s.Stretches(func(from int64, marks []byte) error {
			for seq := from; seq < from+MarkMembers; seq++ {
				if Marked(marks, from, seq) {
					got = append(got, seq)
				}
			}
			return nil
		}))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || s.Len() != int64(len(want)) {
			t.Errorf("%d at once: %v, %d are marked (-want +got):\n%s", spill, err, s.Len(), diff)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkSift(b *testing.B) {
	s, err := newSifter(int64(b.N), b.TempDir(), spillMembers)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range b.N {
		if err := s.Add(int64(i+1), fmt.Append(nil, "o6_bmjrPTlm6_2sgVt7h", i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Sift(func(int64, []byte) error { return nil }); err != nil {
		b.Fatal(err)
	}
}
