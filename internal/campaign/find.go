package campaign

import (
	"bytes"
	"context"

	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/work"
)

// Find looks for a member by the address, as it is kept. false says that nobody has it.
func (im *Importer) Find(ctx context.Context, a work.Audience, address string) (m audience.Member, found bool, err error) {
	if a.Pages == 0 {
		return m, false, nil
	}
	number := audience.PageOf(address, a.Pages)
	page, found, err := im.store.BlockAt(ctx, a.ID, work.PartIndex, number)
	if err != nil || !found || page.First != number {
		return m, false, err
	}
	for _, seq := range audience.Candidates(page.Bytes, address, a.Pages) {
		if m, found, err = im.Member(ctx, a, seq); err != nil || found && m.Address == address {
			return m, found, err
		}
	}
	return audience.Member{}, false, nil
}

// Member reads one member by the number.
func (im *Importer) Member(ctx context.Context, a work.Audience, seq int64) (m audience.Member, found bool, err error) {
	b, found, err := im.store.BlockAt(ctx, a.ID, work.PartMembers, seq)
	if err != nil || !found || seq >= b.First+int64(b.N) {
		return m, false, err
	}
	m, err = im.codec.Member(b.Bytes, b.First, seq)
	return m, err == nil, err
}

// Members calls each for the members from first to last, also for those who stand twice.
func (im *Importer) Members(ctx context.Context, a work.Audience, first, last int64, each func(audience.Member) error) error {
	b, found, err := im.store.BlockAt(ctx, a.ID, work.PartMembers, first)
	if err != nil || !found {
		return err
	}
	for from := b.First; from <= last; {
		blocks, err := im.store.Blocks(ctx, a.ID, work.PartMembers, from, int(min((last-from)/audience.BlockMembers+1, readBlocks)))
		if err != nil || len(blocks) == 0 {
			return err
		}
		for _, b := range blocks {
			list, err := im.codec.Members(b.Bytes, b.First)
			if err != nil {
				return err
			}
			for _, m := range list {
				if m.Seq < first || m.Seq > last {
					continue
				}
				if err := each(m); err != nil {
					return err
				}
			}
			from = b.First + int64(b.N)
		}
	}
	return nil
}

// Refused calls each for what was refused, in order: each is a line of JSON.
func (im *Importer) Refused(ctx context.Context, a work.Audience, each func(line []byte) error) error {
	return im.eachBlock(ctx, a.ID, work.PartRefused, 1, func(b work.Block) error {
		text, err := im.codec.Expand(b.Bytes)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			if err := each(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// Repeated is a question whether a member stands twice, about members from first on in order.
func (im *Importer) Repeated(ctx context.Context, a work.Audience) func(seq int64) (bool, error) {
	return im.marked(ctx, a.ID, work.PartRepeated, a.Repeated > 0)
}

// marked is a question whether marks have a member, about members in order. some is false where there are no marks.
func (im *Importer) marked(ctx context.Context, of, part string, some bool) func(seq int64) (bool, error) {
	var from, until int64 // what marks are for; nothing at first
	var marks []byte
	return func(seq int64) (bool, error) {
		if !some {
			return false, nil
		}
		if seq < from || seq >= until {
			from = seq - seq%audience.MarkMembers
			until, marks = from+audience.MarkMembers, nil
			b, found, err := im.store.BlockAt(ctx, of, part, from)
			if err != nil {
				return false, err
			}
			if found && b.First == from {
				if marks, err = im.codec.Expand(b.Bytes); err != nil {
					return false, err
				}
			}
		}
		return audience.Marked(marks, from, seq), nil
	}
}
