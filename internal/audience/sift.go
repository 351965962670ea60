package audience

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// spillMembers is how many members are sorted in memory at once, of 32 bytes each; an audience that would make more than
// maxParts of it takes more. Each part's file takes partBuffer.
const (
	spillMembers = 1 << 17
	maxParts     = 256
	partBuffer   = 16 << 10
)

// Sifter finds who stands twice in an audience, and makes the index. It takes every address once, and then gives the pages
// of the index in order. What does not fit into memory is in files, parted by the pages it will be in.
type Sifter struct {
	*Marks // who stands twice, after Sift

	pages int64
	share int64 // pages that a part has
	parts []part
}

// part is what is known of the members of some pages.
type part struct {
	entries []entry // where there is one part alone
	n       int     // of entries in the file
	file    *os.File
	to      *bufio.Writer
}

type entry struct {
	hash
	seq uint32
}

// NewSifter makes a sifter for an audience of members, counted with those who stand twice. Files are made in folder, empty
// for the system's own, and are gone with Close.
func NewSifter(members int64, folder string) (*Sifter, error) {
	return newSifter(members, folder, spillMembers)
}

func newSifter(members int64, folder string, spill int64) (*Sifter, error) {
	if members > MaxMembers {
		return nil, fmt.Errorf("the audience has %d members: at most %d are possible", members, int64(MaxMembers))
	}
	n := min(max((members+spill-1)/spill, 1), maxParts)
	s := &Sifter{Marks: NewMarks(members), share: max((members+n*pageMembers-1)/(n*pageMembers), 1), parts: make([]part, n)}
	s.pages = s.share * n
	if n == 1 {
		s.parts[0].entries = make([]entry, 0, members)
		return s, nil
	}
	for i := range s.parts {
		file, err := os.CreateTemp(folder, "posthouse-audience-*")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make room for sorting an audience: %w", err), s.Close())
		}
		_ = os.Remove(file.Name()) // where an open file can be removed, a process that dies leaves none
		s.parts[i].file, s.parts[i].to = file, bufio.NewWriterSize(file, partBuffer)
	}
	return s, nil
}

// Close removes the files.
func (s *Sifter) Close() error {
	var errs []error
	for _, p := range s.parts {
		if p.file != nil {
			errs = append(errs, p.file.Close())
			if err := os.Remove(p.file.Name()); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	s.parts = nil
	return errors.Join(errs...)
}

// Pages is how many pages the index has. Those without an entry are not given.
func (s *Sifter) Pages() int64 { return s.pages }

// Add takes a member. Numbers come in order.
func (s *Sifter) Add(seq int64, address []byte) error {
	h := hashOf(address)
	page, _ := h.place(s.pages)
	p := &s.parts[page/s.share]
	if p.file == nil {
		p.entries = append(p.entries, entry{h, uint32(seq)})
		return nil
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], h.high)
	binary.BigEndian.PutUint32(b[8:], h.low)
	binary.BigEndian.PutUint32(b[12:], uint32(seq))
	p.n++
	_, err := p.to.Write(b[:])
	return err
}

// AddKnown takes an address that is no member's number, but stands before all: a member who has it stands twice.
func (s *Sifter) AddKnown(address []byte) error { return s.Add(known, address) }

// known is the number of an address that stands before all members, whose numbers begin with 1.
const known = 0

// Sift calls each for the pages of the index, in order. A page holds until each returns.
func (s *Sifter) Sift(each func(number int64, page []byte) error) error {
	var entries, sorted []entry
	for i := range s.parts {
		var err error
		if entries, err = s.parts[i].read(slices.Grow(entries[:0], s.parts[i].n)); err != nil {
			return fmt.Errorf("read what was sorted of an audience: %w", err)
		}
		sorted = inOrder(entries, sorted)
		if err := s.paginate(sorted, each); err != nil {
			return err
		}
	}
	return nil
}

// inOrder is the entries sorted, in the memory of into where it suffices. Hashes are spread evenly: parted by their places, few are
// left to be compared with each other.
func inOrder(entries, into []entry) []entry {
	into = slices.Grow(into[:0], len(entries))[:len(entries)]
	if len(entries) == 0 {
		return into
	}
	least, most := entries[0].high, entries[0].high
	for i := range entries {
		least, most = min(least, entries[i].high), max(most, entries[i].high)
	}
	const few = 4
	ends := make([]uint32, len(entries)/few+3)
	width := (most-least)/uint64(len(ends)-1) + 1
	for i := range entries {
		ends[(entries[i].high-least)/width]++
	}
	for i := range ends[1:] {
		ends[i+1] += ends[i]
	}
	for i := range entries {
		at := &ends[(entries[i].high-least)/width]
		*at--
		into[*at] = entries[i]
	}
	for i, begin := range ends { // where each of them begins now
		end := uint32(len(into))
		if i+1 < len(ends) {
			end = ends[i+1]
		}
		slices.SortFunc(into[begin:end], entry.compare)
	}
	return into
}

func (e entry) compare(other entry) int {
	if e.high != other.high {
		return cmp.Compare(e.high, other.high)
	}
	return cmp.Or(cmp.Compare(e.low, other.low), cmp.Compare(e.seq, other.seq))
}

func (p *part) read(entries []entry) ([]entry, error) {
	if p.file == nil {
		return p.entries, nil
	}
	if err := p.to.Flush(); err != nil {
		return nil, err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(p.file, 64<<10)
	for {
		var b [16]byte
		if _, err := io.ReadFull(in, b[:]); errors.Is(err, io.EOF) {
			return entries, nil
		} else if err != nil {
			return nil, err
		}
		entries = append(entries, entry{hash{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint32(b[8:])}, binary.BigEndian.Uint32(b[12:])})
	}
}

// paginate makes pages of sorted entries, without those who stand twice.
func (s *Sifter) paginate(entries []entry, each func(number int64, page []byte) error) error {
	var page []byte
	number := int64(-1)
	give := func() error {
		if len(page) == 0 {
			return nil
		}
		err := each(number, page)
		page = page[:0]
		return err
	}
	for i, e := range entries {
		if i > 0 && entries[i-1].hash == e.hash {
			if e.seq != known {
				s.Mark(int64(e.seq))
			}
			continue
		}
		at, rest := e.place(s.pages)
		if at != number {
			if err := give(); err != nil {
				return err
			}
			number = at
		}
		page = appendEntry(page, rest, int64(e.seq))
	}
	return give()
}
