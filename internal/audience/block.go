package audience

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// BlockMembers is how many members a block holds at most.
const BlockMembers = 1000

// BlockBytes is how many bytes of members, before compression, begin a new block.
const BlockBytes = 1 << 20

// MaxMembers bounds an audience: the index keeps a number in four bytes.
const MaxMembers = 1 << 31

// Member is one of an audience.
type Member struct {
	Seq     int64 // from 1, in the order of the file
	Address string
	// Variables is a JSON object, nil without any.
	Variables json.RawMessage
}

// Codec packs and unpacks blocks. It is safe for concurrent use.
type Codec struct {
	pack   *zstd.Encoder
	unpack *zstd.Decoder
	spare  sync.Pool // of *[]byte, that blocks were unpacked to
}

// unpackedMax bounds what a block may grow to.
const unpackedMax = 16 << 20

// NewCodec makes a codec. It keeps no goroutine.
func NewCodec() (*Codec, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
	if err != nil {
		return nil, err
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(unpackedMax))
	return &Codec{pack: pack, unpack: unpack}, err
}

// Builder collects the members of one block.
type Builder struct {
	addresses, variables []byte
	n                    int
}

// Add adds a member.
func (b *Builder) Add(address string, variables []byte) {
	b.addresses = append(binary.AppendUvarint(b.addresses, uint64(len(address))), address...)
	b.variables = append(binary.AppendUvarint(b.variables, uint64(len(variables))), variables...)
	b.n++
}

// Len is how many members it has.
func (b *Builder) Len() int { return b.n }

// Full reports whether no more belong in the block.
func (b *Builder) Full() bool {
	return b.n >= BlockMembers || len(b.addresses)+len(b.variables) >= BlockBytes
}

// Pack makes a block of what was collected, and begins anew. Addresses stand before all variables: whoever looks for an
// address reads no further, and what is alike stands together.
func (c *Codec) Pack(b *Builder) []byte {
	raw := binary.AppendUvarint(make([]byte, 0, len(b.addresses)+len(b.variables)+2*binary.MaxVarintLen32), uint64(b.n))
	raw = binary.AppendUvarint(raw, uint64(len(b.addresses)))
	raw = append(append(raw, b.addresses...), b.variables...)
	b.addresses, b.variables, b.n = b.addresses[:0], b.variables[:0], 0
	return c.Squeeze(raw)
}

// Squeeze compresses a text.
func (c *Codec) Squeeze(text []byte) []byte { return c.pack.EncodeAll(text, nil) }

// Expand is what Squeeze compressed.
func (c *Codec) Expand(packed []byte) ([]byte, error) { return c.unpack.DecodeAll(packed, nil) }

var errBlock = errors.New("a block of an audience cannot be read")

// block is an unpacked one.
type block struct {
	n                    int
	addresses, variables []byte
}

func (c *Codec) open(packed []byte) (block, error) {
	raw, err := c.Expand(packed)
	if err != nil {
		return block{}, fmt.Errorf("%w: %w", errBlock, err)
	}
	return opened(raw)
}

func opened(raw []byte) (block, error) {
	n, raw, ok := number(raw)
	size, raw, fine := number(raw)
	if !ok || !fine || size > uint64(len(raw)) || n > size+1 {
		return block{}, errBlock
	}
	return block{int(n), raw[:size], raw[size:]}, nil
}

func number(b []byte) (uint64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

// cut takes one value off a list of them.
func cut(b []byte) (value, rest []byte, ok bool) {
	n, rest, ok := number(b)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// Members unpacks a block whose first member has the number first.
func (c *Codec) Members(packed []byte, first int64) ([]Member, error) {
	b, err := c.open(packed)
	if err != nil {
		return nil, err
	}
	list := make([]Member, b.n)
	for i := range list {
		var address, variables []byte
		var ok, fine bool
		address, b.addresses, ok = cut(b.addresses)
		variables, b.variables, fine = cut(b.variables)
		if !ok || !fine {
			return nil, errBlock
		}
		list[i] = Member{Seq: first + int64(i), Address: string(address)}
		if len(variables) > 0 {
			list[i].Variables = variables
		}
	}
	return list, nil
}

// Member unpacks the member at a place of a block whose first member has the number first.
func (c *Codec) Member(packed []byte, first, seq int64) (m Member, err error) {
	b, err := c.open(packed)
	if err != nil || seq < first || seq-first >= int64(b.n) {
		return m, cmp.Or(err, errBlock)
	}
	var address, variables []byte
	for at := first; at <= seq; at++ {
		var ok, fine bool
		address, b.addresses, ok = cut(b.addresses)
		variables, b.variables, fine = cut(b.variables)
		if !ok || !fine {
			return m, errBlock
		}
	}
	m = Member{Seq: seq, Address: string(address)}
	if len(variables) > 0 {
		m.Variables = bytes.Clone(variables)
	}
	return m, nil
}

// Addresses calls each for the addresses of a block, in order. They hold until it returns.
func (c *Codec) Addresses(packed []byte, each func(i int, address []byte) error) error {
	spare, _ := c.spare.Get().(*[]byte)
	if spare == nil {
		spare = new([]byte)
	}
	defer c.spare.Put(spare)
	raw, err := c.unpack.DecodeAll(packed, (*spare)[:0])
	if err != nil {
		return fmt.Errorf("%w: %w", errBlock, err)
	}
	*spare = raw
	b, err := opened(raw)
	if err != nil {
		return err
	}
	for i := range b.n {
		address, rest, ok := cut(b.addresses)
		if !ok {
			return errBlock
		}
		b.addresses = rest
		if err := each(i, address); err != nil {
			return err
		}
	}
	return nil
}
