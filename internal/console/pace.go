package console

import (
	"strconv"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A person makes at most so many requests in a minute. A page that refreshes itself makes twelve, so that this is for a script
// that shows a person's session, or a key that is held down.
const (
	mostRequests = 600
	paceWindow   = time.Minute
)

// pace counts the requests of each person in one process. A window is everybody's, so that memory is bounded by who came in it.
type pace struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int
}

// over counts a request of a person, and is how long to wait where it is one too many, else 0.
func (p *pace) over(person string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == nil || now.Sub(p.since) >= paceWindow {
		p.since, p.count = now, map[string]int{}
	}
	if p.count[person]++; p.count[person] <= mostRequests {
		return 0
	}
	return p.since.Add(paceWindow).Sub(now)
}

// paced refuses a visit of a person who has made too many of late.
func paced(v *visit) error {
	wait := v.pace.over(v.person.Name, time.Now())
	if wait == 0 {
		return nil
	}
	v.w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	return posthouse.Errorf(posthouse.CodeQuota, "a person makes at most %d requests in a minute", mostRequests)
}
