package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/wire"
)

// addressName is what the address of a member is called in a condition.
const addressName = "address"

// selection says which members of a list are meant.
type selection struct {
	path     string // of its fields in the request
	where    *where // nil for all
	from, to float64
	seed     string
}

// selectionOf reads which members are meant. path is where the request has its fields, and of names their list: two shares of one list
// do not overlap where their numbers do not.
func selectionOf(in wire.MemberSelection, path, of string, p *draft.Problems) *selection {
	s := &selection{path: path, seed: of}
	if in.Where != "" {
		var err error
		if s.where, err = whereOf(in.Where); err != nil {
			p.Add(path+"where", "%v", err)
		}
	}
	if share := in.Share; share != nil {
		if !(share.From >= 0 && share.From < share.To && share.To <= 1) { // not a number is neither
			p.Add(path+"share", "is %g to %g: want two numbers from 0 to 1, such as 0 and 0.1 for a tenth", share.From, share.To)
		}
		if s.from, s.to = share.From, share.To; share.Seed != "" {
			s.seed = share.Seed
		}
		p.Word(path+"share.seed", share.Seed, draft.MaxWord)
	}
	return s
}

// all reports whether everybody is meant.
func (s *selection) all() bool { return s.where == nil && s.to == 0 }

// has reports whether a member is meant.
func (s *selection) has(seq int64, address string, variables json.RawMessage) (bool, error) {
	if s.to > 0 {
		if at := place(s.seed, address); at < s.from || at >= s.to {
			return false, nil
		}
	}
	if s.where == nil {
		return true, nil
	}
	is, err := s.where.holds(address, variables)
	if err != nil {
		return false, posthouse.Invalid("nobody is chosen", []posthouse.Problem{{Path: s.path + "where", Message: fmt.Sprintf("fails for member %d: %v", seq, err)}})
	}
	return is, nil
}

// place is where an address stands among all, from 0 to below 1: anywhere, and always there.
func place(seed, address string) float64 {
	sum := sha256.Sum256([]byte(seed + "\x00" + address))
	return math.Ldexp(float64(binary.BigEndian.Uint64(sum[:])>>11), -53)
}
