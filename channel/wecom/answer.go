package wecom

import (
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// Our own codes, beside those of package channel.
const (
	codeNoAddress = "NO_ADDRESS" // the recipient has no id at WeCom
	codeInvalid   = "INVALID_USER"
)

// answer is what WeCom answers, with status 200 also for errors.
type answer struct {
	Code       errcode.Value `json:"errcode"`
	ID         errcode.Value `json:"msgid"`
	Users      string        `json:"invaliduser"`
	Parties    string        `json:"invalidparty"`
	Tags       string        `json:"invalidtag"`
	Unlicensed string        `json:"unlicenseduser"`
	Token      string        `json:"access_token"`
	Lasts      int           `json:"expires_in"` // seconds
	Media      string        `json:"media_id"`
}

// read finds out what a reply means. The answer is empty where there is none.
func read(r *channel.Reply, table errcode.Table, own map[string]posthouse.Class) (channel.Verdict, answer) {
	var a answer
	v, _ := table.Read(r, "WeCom", own, &a)
	if v.Class == posthouse.ClassOK {
		v.Ref = string(a.ID)
	}
	return v, a
}

// The waits after WeCom's frequency limit: a minute, and an hour where it is met again soon after.
const (
	brief    = time.Minute
	long     = time.Hour
	soon     = 10 * time.Minute
	tooOften = "45009"
)

// patience knows when the frequency limit was met.
type patience struct {
	mu  sync.Mutex
	met time.Time
}

// wait puts the wait into the verdict on a frequency limit. Calls that were under way together meet it together.
func (p *patience) wait(v *channel.Verdict, now time.Time) {
	if v.Code != tooOften || v.Class != posthouse.ClassRate {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v.After = brief
	if since := now.Sub(p.met); since > brief && since < soon {
		v.After = long
	}
	if now.Sub(p.met) > brief {
		p.met = now
	}
}
