package campaign

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/work"
)

// Audiences keeps lists of people.
type Audiences interface {
	// Append stores blocks and how far the import is, where the audience still has the edition that it was read with.
	Append(ctx context.Context, now time.Time, a work.Audience, blocks []work.Block) (work.Audience, error)
	// Blocks reads up to max blocks of a part, in order, that begin at or behind from.
	Blocks(ctx context.Context, audience, part string, from int64, max int) ([]work.Block, error)
	// BlockAt reads the block of a part that begins at a place or is the last one before it.
	BlockAt(ctx context.Context, audience, part string, at int64) (b work.Block, found bool, err error)
}

// Importer reads files into audiences.
type Importer struct {
	store  Audiences
	codec  *audience.Codec
	folder string
}

// NewImporter makes an importer. What does not fit into memory is sorted in folder, empty for the system's own.
func NewImporter(store Audiences, folder string) (*Importer, error) {
	codec, err := audience.NewCodec()
	if err != nil {
		return nil, err
	}
	return &Importer{store, codec, folder}, nil
}

// Part is a stretch of a file, up to its end or to any byte.
type Part struct {
	audience.Format
	// Offset is where it begins: where the import stands, or 0 to send the file once more, of which nothing is stored twice.
	Offset int64
	// SHA256 is the hash of what is before Offset, hexadecimal. Defaults to trusting the caller.
	SHA256 string
	// Final says that the file ends where the part ends.
	Final bool
	// Keep is an address as the channel keeps it. Defaults to taking any without spaces.
	Keep func(address string) (string, error)
}

// Bounds of what one transaction stores.
const (
	appendBlocks = 16
	appendBytes  = 4 << 20
)

// maxRefused is how many refused records are kept with their text. All are counted.
const maxRefused = 1_000_000

// Import stores what a part of a file holds. The audience is as it was stored last, also with an error: the import goes on
// from there.
func (im *Importer) Import(ctx context.Context, now func() time.Time, a work.Audience, p Part, body io.Reader) (work.Audience, error) {
	if a.State == posthouse.AudienceClosing && p.Final {
		return im.Close(ctx, now, a) // all of the file is stored, and whoever looked for those who stand twice is gone
	}
	var before audience.Format
	if a.Format != "" {
		_ = json.Unmarshal([]byte(a.Format), &before) // settle says what is wrong with it
	}
	p.Sheet = cmp.Or(p.Sheet, before.Sheet)
	file, err := audience.Open(body, p.Format, p.Keep)
	if err != nil {
		return a, faultOf(err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, audience.HeadBytes)
	p.Sheet, p.Sheets = file.Sheet, file.Sheets
	p.Format = formatOf(&a, p, before, in)
	if err := settle(&a, p); err != nil {
		return a, err
	}
	if p.Offset < a.Offset {
		if err := again(in, &a); err != nil {
			return a, err
		}
	}
	t := &taking{im: im, whole: p.Final, ctx: context.WithoutCancel(ctx), now: now, kept: a, a: a}
	t.a.Fields = maps.Clone(a.Fields)
	if t.digest, err = resume(a.Digest); err != nil {
		return a, err
	}
	t.reader = audience.NewReader(in, p.Format, audience.Position{Offset: a.Offset, Line: a.Line, Skip: a.Skip, Columns: a.Columns}, p.Final, p.Keep)
	t.reader.SumTo(t.digest)
	switch err = t.run(); {
	case err != nil:
	case p.Final:
		return im.Close(ctx, now, t.kept)
	case t.reader.Rest() > 0 && t.kept.Offset == a.Offset:
		err = posthouse.Errorf(posthouse.CodeInvalid, "the part ends within its first record: send more at once")
	}
	return t.kept, err
}

// formatOf is how a part is read: what it does not say is that of the parts before, or what the beginning of the file tells.
func formatOf(a *work.Audience, p Part, before audience.Format, in *bufio.Reader) audience.Format {
	f := p.Format
	if a.Format != "" {
		f.Kind, f.Delimiter = cmp.Or(f.Kind, before.Kind), cmp.Or(f.Delimiter, before.Delimiter)
		f.Address, f.Encoding = cmp.Or(f.Address, before.Address), cmp.Or(f.Encoding, before.Encoding)
		if len(f.Columns) == 0 {
			f.Columns = before.Columns
		}
		return f
	}
	if p.Offset > 0 {
		return f
	}
	head, err := in.Peek(audience.HeadBytes)
	return audience.Guess(head, errors.Is(err, io.EOF), f, p.Keep)
}

// settle checks that a part goes on where the import stands, read in the same way.
func settle(a *work.Audience, p Part) error {
	format, err := json.Marshal(p.Format)
	if err != nil {
		return err
	}
	switch {
	case a.State != posthouse.AudienceOpen:
		return posthouse.Errorf(posthouse.CodeConflict, "the audience is complete: nothing can be added")
	case a.Format != "" && a.Format != string(format):
		return posthouse.Errorf(posthouse.CodeConflict, "the parts before were read with %s, this one with %s: want the same for all", a.Format, format)
	case p.Offset != 0 && p.Offset != a.Offset:
		return posthouse.Errorf(posthouse.CodeConflict, "the part begins at byte %d: the import goes on at %d, or at 0 with the whole file", p.Offset, a.Offset)
	case p.Offset != 0 && p.SHA256 != "" && p.SHA256 != a.SHA256:
		return errOther
	}
	a.Format = string(format)
	return nil
}

var errNobody = posthouse.Errorf(posthouse.CodeInvalid, "nobody is in the file: nothing is imported")

var errOther = posthouse.Errorf(posthouse.CodeConflict, "the file is another: what is stored of it has a different hash")

// again passes what is stored already of a file that comes once more.
func again(in io.Reader, a *work.Audience) error {
	h := sha256.New()
	n, err := io.CopyN(h, in, a.Offset)
	switch {
	case errors.Is(err, io.EOF):
		shorter := posthouse.Errorf(posthouse.CodeConflict, "the file ends at byte %d: %d are stored already", n, a.Offset)
		shorter.Cause = errOther
		return shorter
	case err != nil:
		return faultOf(err)
	case hex.EncodeToString(h.Sum(nil)) != a.SHA256:
		return errOther
	}
	return nil
}

// resume is a hash that goes on.
func resume(state []byte) (hash.Hash, error) {
	h := sha256.New()
	if len(state) == 0 {
		return h, nil
	}
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		return nil, fmt.Errorf("read how far an import is: %w", err)
	}
	return h, nil
}

// faultOf tells what is wrong with a file from what went wrong on the way.
func faultOf(err error) error {
	var file *audience.FileError
	if errors.As(err, &file) {
		return posthouse.Errorf(posthouse.CodeInvalid, "%s", file)
	}
	return posthouse.Errorf(posthouse.CodeInvalid, "the file could not be read to its end: %v. What arrived of it is stored: go on at the offset", err)
}

// taking is one part on its way.
type taking struct {
	im     *Importer
	whole  bool            // the part is the file's last
	ctx    context.Context // goes on when the caller leaves: what has arrived is stored
	now    func() time.Time
	reader *audience.Reader
	digest hash.Hash
	kept   work.Audience // as it is stored
	a      work.Audience // with what is not stored yet

	members audience.Builder
	refused []byte // lines of JSON
	lines   int
	blocks  []work.Block
	bytes   int
}

// run reads to the end of the part, or to what cannot be read.
func (t *taking) run() error {
	for {
		row, err := t.reader.Next()
		var refused *audience.Refused
		switch {
		case errors.As(err, &refused):
			err = t.refuse(refused)
		case err != nil:
			return t.end(err)
		default:
			err = t.take(row)
		}
		if err != nil {
			return err
		}
	}
}

// end stores what is left. cause is io.EOF at the end of the part. Of a file that has nobody nothing is stored, so that it can come again.
func (t *taking) end(cause error) error {
	var wrong *audience.FileError
	switch {
	case errors.As(cause, &wrong):
		return t.misread(cause)
	case errors.Is(cause, io.EOF) && t.whole && t.a.Last == 0 && t.a.Refused == 0:
		return errNobody
	}
	t.pack()
	if t.reader.Position().Offset > t.kept.Offset {
		if err := t.store(); err != nil {
			return err
		}
	}
	if !errors.Is(cause, io.EOF) {
		return faultOf(cause)
	}
	return nil
}

// misread leaves a file that shows to be another than was said as far as it is stored. From there on it may be read in another way.
func (t *taking) misread(cause error) error {
	if t.kept.Offset == 0 {
		return faultOf(cause)
	}
	a := t.kept
	a.Format = ""
	stored, err := t.im.store.Append(t.ctx, t.now(), a, nil)
	if err != nil {
		return err
	}
	t.kept = stored
	return faultOf(cause)
}

func (t *taking) take(row audience.Row) error {
	if t.a.Last == audience.MaxMembers {
		return posthouse.Errorf(posthouse.CodeTooLarge, "an audience has at most %d members", int64(audience.MaxMembers))
	}
	t.a.Last++
	t.a.Members++
	t.members.Add(row.Address, row.Variables)
	t.count(row.Fields)
	if !t.members.Full() {
		return nil
	}
	t.pack()
	return t.storeIfMuch()
}

// maxFields bounds how many variables are counted.
const maxFields = 500

func (t *taking) count(fields []string) {
	for _, name := range fields {
		if _, known := t.a.Fields[name]; known || len(t.a.Fields) < maxFields {
			t.a.Fields[name]++
		}
	}
}

func (t *taking) refuse(r *audience.Refused) error {
	t.a.Refused++
	if t.a.Refused > maxRefused {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	t.refused = append(append(t.refused, line...), '\n')
	if t.lines++; t.lines < audience.BlockMembers {
		return nil
	}
	t.pack()
	return t.storeIfMuch()
}

// pack makes blocks of what was collected.
func (t *taking) pack() {
	if n := t.members.Len(); n > 0 {
		t.add(work.Block{Part: work.PartMembers, First: t.a.Last - int64(n) + 1, N: n, Bytes: t.im.codec.Pack(&t.members)})
	}
	if t.lines > 0 {
		last := min(t.a.Refused, maxRefused)
		t.add(work.Block{Part: work.PartRefused, First: last - int64(t.lines) + 1, N: t.lines, Bytes: t.im.codec.Squeeze(t.refused)})
		t.refused, t.lines = t.refused[:0], 0
	}
}

func (t *taking) add(b work.Block) {
	t.blocks = append(t.blocks, b)
	t.bytes += len(b.Bytes)
}

func (t *taking) storeIfMuch() error {
	if len(t.blocks) < appendBlocks && t.bytes < appendBytes {
		return nil
	}
	return t.store()
}

// store writes all blocks, and where the reader stands. Before that it packs the records that no block has yet, refused ones too.
func (t *taking) store() error {
	t.pack()
	at := t.reader.Position()
	format, err := json.Marshal(t.reader.Format())
	if err != nil {
		return err
	}
	t.a.Format = string(format)
	t.a.Offset, t.a.Line, t.a.Skip, t.a.Columns = at.Offset, at.Line, at.Skip, at.Columns
	state, err := t.digest.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return err
	}
	t.a.Digest, t.a.SHA256 = state, hex.EncodeToString(t.digest.Sum(nil))
	stored, err := t.im.store.Append(t.ctx, t.now(), t.a, t.blocks)
	if err != nil {
		return err
	}
	t.kept, t.a = stored, stored
	t.a.Fields = maps.Clone(stored.Fields)
	t.blocks, t.bytes = nil, 0
	return nil
}
