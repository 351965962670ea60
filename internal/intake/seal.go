package intake

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
)

// forgetAfter is how long the content of a sensitive message is kept where its draft does not say.
const forgetAfter = 24 * time.Hour

// seal takes the content out of a sensitive message. Its deadline is then no later than when it is forgotten.
func (in *Intake) seal(d *posthouse.Draft, m *posthouse.Message, now time.Time, p *draft.Problems) (*work.Sealed, error) {
	if !d.Sensitive {
		return nil, nil
	}
	if !in.o.Contents.Seals() {
		p.Add("sensitive", "is not possible here: the server has no keyring to seal contents with")
		return nil, nil
	}
	forget := wholeMicros(now.Add(cmp.Or(d.ForgetAfter.Std(), forgetAfter)))
	if !forget.After(m.NotBefore) {
		p.Add("forget_after", "is over before not_before: the content would be forgotten before it may be sent")
		return nil, nil
	}
	if m.Deadline.IsZero() || m.Deadline.After(forget) {
		m.Deadline = forget
	}
	body, err := in.o.Contents.Seal(m)
	if err != nil {
		return nil, err
	}
	return &work.Sealed{Message: m.ID, Tenant: m.Tenant, Body: body, ForgetAt: forget}, nil
}
