package intake

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// A request whose caller was forgotten is refused, also where it has plans alone.
func TestNobodyHandsInNothing(t *testing.T) {
	t.Parallel()
	drafts := []posthouse.Draft{{Channel: "c", Kind: "k"}}
	for name, c := range map[string]struct {
		req  Request
		code posthouse.Code
	}{
		"nobody":          {Request{Drafts: drafts}, posthouse.CodeForbidden},
		"nobody's plans":  {Request{Plans: make([]work.Plan, 1)}, posthouse.CodeForbidden},
		"the program":     {Request{Caller: work.Program(), Drafts: drafts}, ""},
		"another channel": {Request{Caller: work.Caller{Sight: work.See([]string{"d"}, nil)}, Drafts: drafts}, posthouse.CodeForbidden},
		"another kind":    {Request{Caller: work.Caller{Sight: work.See(nil, []string{"l"})}, Drafts: drafts}, posthouse.CodeForbidden},
		"that channel":    {Request{Caller: work.Caller{Sight: work.See([]string{"c"}, []string{"k"})}, Drafts: drafts}, ""},
	} {
		err := within(&c.req)
		if (err == nil) != (c.code == "") || err != nil && posthouse.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want code %q", name, err, c.code)
		}
	}
}
