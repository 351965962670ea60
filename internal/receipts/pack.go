package receipts

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Ref is what a provider calls the message of a member.
type Ref struct {
	Ref      string
	Campaign string
	Seq      int64
}

// The pages of a channel's refs. A run of foldRefs puts 16 into each of its blocks.
const (
	pageBits  = 11
	freshPage = -1 // what has no page yet
)

// entry is a ref as it is stored.
type entry struct {
	hash     uint64
	campaign string
	seq      int64
}

// hashOf stands for a ref. 64 bits of it among ten million are somebody else's once in two million million look-ups.
func hashOf(ref string) uint64 {
	sum := sha256.Sum256([]byte(ref))
	return binary.BigEndian.Uint64(sum[:])
}

func pageOf(hash uint64) int64 { return int64(hash >> (64 - pageBits)) }

// Block packs refs that were just answered with, for receipts that come before until.
func Block(tenant, channel string, refs []Ref, until time.Time) work.RefBlock {
	list := make([]entry, len(refs))
	for i, r := range refs {
		list[i] = entry{hashOf(r.Ref), r.Campaign, r.Seq}
	}
	return work.RefBlock{Page: freshPage, Tenant: tenant, Channel: channel, Run: posthouse.NewID(), N: len(refs), Until: until, Bytes: pack(list)}
}

// The size of an entry: its hash, the place of its campaign, and the member's number.
const (
	hashSize     = 8
	campaignSize = 2
	entrySize    = hashSize + campaignSize + 6
	maxCampaigns = 1 << (8 * campaignSize)
)

// pack writes the campaigns, each once, and then the entries in the order of their hashes.
func pack(list []entry) []byte {
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.campaign, b.campaign), cmp.Compare(a.seq, b.seq))
	})
	places := map[string]int{}
	var campaigns []string
	for _, e := range list {
		if _, known := places[e.campaign]; !known {
			places[e.campaign] = len(campaigns)
			campaigns = append(campaigns, e.campaign)
		}
	}
	out := binary.AppendUvarint(nil, uint64(len(campaigns)))
	for _, c := range campaigns {
		out = append(binary.AppendUvarint(out, uint64(len(c))), c...)
	}
	for _, e := range list {
		out = binary.BigEndian.AppendUint64(out, e.hash)
		out = binary.BigEndian.AppendUint64(out, uint64(places[e.campaign])<<48|uint64(e.seq)) //nolint:gosec // members are numbered from 1 on, far below 1<<48
	}
	return out
}

var errBlock = errors.New("a block of refs cannot be read")

// block is one that can be looked through.
type block struct {
	campaigns []string
	entries   []byte
}

func unpack(b []byte) (block, error) {
	n, b, err := number(b)
	if err != nil || n > uint64(len(b)) || n > maxCampaigns {
		return block{}, errBlock
	}
	out := block{campaigns: make([]string, n)}
	for i := range out.campaigns {
		var size uint64
		if size, b, err = number(b); err != nil || size > uint64(len(b)) {
			return block{}, errBlock
		}
		out.campaigns[i], b = string(b[:size]), b[size:]
	}
	if out.entries = b; len(b)%entrySize != 0 {
		return block{}, errBlock
	}
	for i := range out.len() {
		if out.place(i) >= len(out.campaigns) {
			return block{}, errBlock
		}
	}
	return out, nil
}

func (b block) len() int { return len(b.entries) / entrySize }

func (b block) hash(i int) uint64 { return binary.BigEndian.Uint64(b.entries[i*entrySize:]) }

func (b block) place(i int) int {
	return int(binary.BigEndian.Uint16(b.entries[i*entrySize+hashSize:]))
}

func (b block) at(i int) entry {
	seq := binary.BigEndian.Uint64(b.entries[i*entrySize+hashSize:]) & (1<<48 - 1)
	return entry{b.hash(i), b.campaigns[b.place(i)], int64(seq)} //nolint:gosec // 48 bits
}

// find calls each for the entries of a hash.
func (b block) find(hash uint64, each func(entry)) {
	for i := sort.Search(b.len(), func(i int) bool { return b.hash(i) >= hash }); i < b.len() && b.hash(i) == hash; i++ {
		each(b.at(i))
	}
}

func number(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errBlock
	}
	return v, b[n:], nil
}

// merged are the entries of blocks, in one block, until the last of them is of no use.
func merged(blocks []work.RefBlock) (one work.RefBlock, list []entry, err error) {
	for i := range blocks {
		b := &blocks[i]
		if b.Until.After(one.Until) {
			one.Until = b.Until
		}
		read, err := unpack(b.Bytes)
		if err != nil {
			return one, nil, err
		}
		for k := range read.len() {
			list = append(list, read.at(k))
		}
	}
	one.Page, one.Tenant, one.Channel, one.Run = freshPage, blocks[0].Tenant, blocks[0].Channel, posthouse.NewID()
	one.N, one.Bytes = len(list), pack(list)
	return one, list, nil
}

// folded are blocks in pages.
func folded(blocks []work.RefBlock) ([]work.RefBlock, error) {
	one, list, err := merged(blocks)
	if err != nil {
		return nil, err
	}
	pages := make([][]entry, 1<<pageBits)
	for _, e := range list {
		pages[pageOf(e.hash)] = append(pages[pageOf(e.hash)], e)
	}
	var out []work.RefBlock
	for page, some := range pages {
		if len(some) > 0 {
			b := one
			b.Page, b.N, b.Bytes = int64(page), len(some), pack(some)
			out = append(out, b)
		}
	}
	return out, nil
}
