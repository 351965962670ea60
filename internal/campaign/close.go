package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/work"
)

// readBlocks is how many blocks are read at once.
const readBlocks = 32

// Close looks for who stands twice in an audience whose file is complete, and makes the index. Whoever does it again, after
// a process that died or beside another, writes the same.
func (im *Importer) Close(ctx context.Context, now func() time.Time, a work.Audience) (_ work.Audience, err error) {
	if a.State == posthouse.AudienceOpen {
		a.State = posthouse.AudienceClosing
		if a, err = im.store.Append(ctx, now(), a, nil); err != nil {
			return a, err
		}
	}
	if a.State == posthouse.AudienceReady {
		return a, nil
	}
	sifter, err := audience.NewSifter(a.Last, im.folder)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, sifter.Close()) }()
	if err := im.sift(ctx, a, sifter); err != nil {
		return a, err
	}
	if a, err = im.keep(ctx, now, a, sifter); err != nil {
		return a, err
	}
	a.State, a.Pages, a.Repeated = posthouse.AudienceReady, sifter.Pages(), sifter.Len()
	a.Members = a.Last - a.Repeated
	return im.store.Append(ctx, now(), a, nil)
}

// sift shows every address to the sifter.
func (im *Importer) sift(ctx context.Context, a work.Audience, sifter *audience.Sifter) error {
	return im.eachAddress(ctx, &a, sifter.Add)
}

// eachBlock reads a part from a place on.
func (im *Importer) eachBlock(ctx context.Context, id, part string, from int64, each func(work.Block) error) error {
	for {
		blocks, err := im.store.Blocks(ctx, id, part, from, readBlocks)
		if err != nil || len(blocks) == 0 {
			return err
		}
		for _, b := range blocks {
			if err := each(b); err != nil {
				return fmt.Errorf("read the %s of an audience from %d on: %w", part, b.First, err)
			}
			from = b.First + 1
		}
	}
}

// keep stores the index and the marks of who stands twice.
func (im *Importer) keep(ctx context.Context, now func() time.Time, a work.Audience, sifter *audience.Sifter) (work.Audience, error) {
	var blocks []work.Block
	store := func(most int) (err error) {
		if len(blocks) > most {
			a, err = im.store.Append(ctx, now(), a, blocks)
			blocks = nil
		}
		return err
	}
	err := sifter.Sift(func(number int64, page []byte) error {
		blocks = append(blocks, work.Block{Part: work.PartIndex, First: number, N: len(page), Bytes: append([]byte(nil), page...)})
		return store(8 * appendBlocks)
	})
	if err == nil {
		err = sifter.Stretches(func(first int64, marks []byte) error {
			blocks = append(blocks, work.Block{Part: work.PartRepeated, First: first, N: len(marks), Bytes: im.codec.Squeeze(marks)})
			return store(8 * appendBlocks)
		})
	}
	if err == nil {
		err = store(0)
	}
	return a, err
}
