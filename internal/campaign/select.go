package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/wire"
)

// maxWhere bounds an expression, in bytes.
const maxWhere = 4096

// addressName is what the address of a member is called in an expression.
const addressName = "address"

// selection says which members of a list are meant.
type selection struct {
	where    *vm.Program // nil for all
	from, to float64     // of the share; 0 and 0 for all
	seed     string
}

// selectionOf reads which members are meant. of names their list: two shares of one list do not overlap where their numbers do not.
func selectionOf(in wire.MemberSelection, of string, p *draft.Problems) *selection {
	s := &selection{seed: of}
	switch {
	case len(in.Where) > maxWhere:
		p.Add("where", "has %d bytes: at most %d are allowed", len(in.Where), maxWhere)
	case in.Where != "":
		program, err := expr.Compile(in.Where, expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.AsBool())
		if err != nil {
			p.Add("where", "is no condition: %v. Want one such as city == \"Hangzhou\" && int(points) >= 100", err)
		}
		s.where = program
	}
	if share := in.Share; share != nil {
		if !(share.From >= 0 && share.From < share.To && share.To <= 1) { // not a number is neither
			p.Add("share", "is %g to %g: want two numbers from 0 to 1, such as 0 and 0.1 for a tenth", share.From, share.To)
		}
		if s.from, s.to = share.From, share.To; share.Seed != "" {
			s.seed = share.Seed
		}
		p.Word("share.seed", share.Seed, draft.MaxWord)
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
	known := map[string]any{}
	if len(variables) > 0 {
		if err := json.Unmarshal(variables, &known); err != nil {
			return false, err
		}
	}
	if _, own := known[addressName]; !own {
		known[addressName] = address
	}
	is, err := expr.Run(s.where, known)
	if err != nil {
		return false, posthouse.Invalid("nobody is chosen", []posthouse.Problem{{Path: "where", Message: fmt.Sprintf("fails for member %d: %v", seq, err)}})
	}
	yes, _ := is.(bool)
	return yes, nil
}

// place is where an address stands among all, from 0 to below 1: anywhere, and always there.
func place(seed, address string) float64 {
	sum := sha256.Sum256([]byte(seed + "\x00" + address))
	return math.Ldexp(float64(binary.BigEndian.Uint64(sum[:])>>11), -53)
}
