package receipts

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// shelf is a database in which refs are kept.
type shelf struct {
	testing.TB
	store   *store.Store
	members *Members
}

func openShelf(t testing.TB, dsn string) *shelf {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &shelf{t, s, New(s.Refs, s.Segments, s.Refs)}
}

// put keeps the refs of the members from first on, so many in each block.
func (s *shelf) put(channel, campaign string, first, n, size int, until time.Time) {
	s.Helper()
	var blocks []work.RefBlock
	for ; n > 0; n -= size {
		refs := make([]Ref, min(size, n))
		for i := range refs {
			refs[i] = Ref{fmt.Sprint(campaign, "/", first), campaign, int64(first)}
			first++
		}
		blocks = append(blocks, Block("t", channel, refs, until))
	}
	if _, err := s.store.Segments.SaveSegments(s.Context(), time.Now(), nil, blocks, 0); err != nil {
		s.Fatal(err)
	}
}

// found are the members that a ref means.
func (s *shelf) found(channel, ref string) (list []string) {
	s.Helper()
	got, err := s.members.findIn(s.Context(), channelOf{"t", channel}, []*work.Heard{{Ref: ref}})
	if err != nil {
		s.Fatal(err)
	}
	for _, t := range got {
		list = append(list, fmt.Sprint(t.campaign, "/", t.seq))
	}
	return list
}

func (s *shelf) tend(now time.Time) {
	s.Helper()
	if err := s.members.Tend(s.Context(), now); err != nil {
		s.Fatal(err)
	}
}

// load is how many blocks and refs are on fresh and on other pages.
func (s *shelf) load(channel string) (fresh, freshRefs, paged, pagedRefs int) {
	s.Helper()
	for page := int64(freshPage); page < 1<<pageBits; page++ {
		blocks, err := s.store.Refs.Refs(s.Context(), "t", channel, page, nil)
		if err != nil {
			s.Fatal(err)
		}
		for _, b := range blocks {
			if page == freshPage {
				fresh, freshRefs = fresh+1, freshRefs+b.N
			} else {
				paged, pagedRefs = paged+1, pagedRefs+b.N
			}
		}
	}
	return fresh, freshRefs, paged, pagedRefs
}

// CAMP-12: refs are found whether they were just written or have been put in order, each channel's its own; few rows are many refs.
func TestRefsAreFoundBeforeAndAfterTheyAreInOrder(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, now := openShelf(t, dsn(t)), time.Now()
			look := func(when string) {
				t.Helper()
				for _, want := range []string{"spring/1", "spring/20000", "autumn/7"} {
					if got := s.found("c", want); !slices.Equal(got, []string{want}) {
						t.Errorf("%s: %s is %v", when, want, got)
					}
				}
				if got := slices.Concat(s.found("d", "spring/1"), s.found("c", "winter/1"), s.found("c", "")); len(got) > 0 {
					t.Errorf("%s: refs of others are %v", when, got)
				}
			}
			s.put("c", "spring", 1, foldRefs-100, 1000, now.Add(time.Hour))
			s.put("c", "autumn", 1, 90, 1, now.Add(time.Hour))
			s.put("d", "autumn", 1, 3, 1, now.Add(-time.Minute))
			look("as they came")
			s.tend(now)
			if fresh, refs, paged, _ := s.load("c"); fresh > foldRefs/1000+2 || refs != foldRefs-10 || paged != 0 {
				t.Errorf("90 blocks of one ref: %d blocks with %d refs are left, %d on pages", fresh, refs, paged)
			}
			if fresh, _, _, _ := s.load("d"); fresh != 0 {
				t.Errorf("%d blocks are kept beyond their time", fresh)
			}
			look("with few of them together")
			s.put("c", "autumn", 91, 20, 20, now.Add(time.Hour))
			s.tend(now)
			if fresh, _, paged, refs := s.load("c"); fresh != 0 || paged > 1<<pageBits || refs != foldRefs+10 {
				t.Errorf("in pages: %d fresh blocks, %d blocks with %d refs", fresh, paged, refs)
			}
			look("in pages")
		})
	}
}

// A block that is cut anywhere, or holds anything, is refused or read to its end: it never panics.
func FuzzUnpack(f *testing.F) {
	f.Add(Block("t", "c", []Ref{{"r1", "spring", 1}, {"r2", "autumn", 1 << 40}}, time.Time{}).Bytes)
	f.Fuzz(func(t *testing.T, b []byte) {
		read, err := unpack(b)
		if err != nil {
			return
		}
		var list []entry
		for i := range read.len() {
			list = append(list, read.at(i))
		}
		again, err := unpack(pack(list))
		if err != nil || again.len() != len(list) {
			t.Fatalf("%d entries became %d, %v", len(list), again.len(), err)
		}
		for _, e := range list {
			same := 0
			again.find(e.hash, func(other entry) {
				if other == e {
					same++
				}
			})
			if same == 0 {
				t.Errorf("%+v is lost", e)
			}
		}
	})
}

// BenchmarkFind is the look-up of one receipt's member among a million refs and what was just written.
func BenchmarkFind(b *testing.B) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		b.Run(name, func(b *testing.B) {
			const n = 1_000_000
			s, now := openShelf(b, dsn(b)), time.Now()
			for first := 1; first <= n; first += 2 * foldRefs {
				s.put("c", "spring", first, min(2*foldRefs, n-first+1), 1000, now.Add(time.Hour))
				s.tend(now)
			}
			s.put("c", "spring", n+1, foldRefs/2, 1000, now.Add(time.Hour))
			i := 0
			for b.Loop() {
				i = (i + 7919) % n
				if got := s.found("c", fmt.Sprint("spring/", i+1)); len(got) != 1 {
					b.Fatalf("%d: %v", i, got)
				}
			}
		})
	}
}
