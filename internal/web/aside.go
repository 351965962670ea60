package web

import (
	"net/http"
	"strconv"
	"time"
)

// Replica is a copy of the database that follows it, some way behind. Routes that decide nothing are answered from it.
type Replica interface {
	// Fresh is up to when the replica has everything, where it may answer: what asks for nothing older than since, and leads on from a
	// cursor.
	Fresh(since time.Time, cursor string) (asOf time.Time, ok bool)
	// Now is a time that is later than all that was written before.
	Now() time.Time
}

// AsOfHeader says in an answer of when it is, where there is a replica. A caller that sends it back gets nothing older: so one that has
// changed something finds it in the next list, and one that turns pages does not go back in time.
const AsOfHeader = "Posthouse-As-Of"

// asOfForm is how its time is written.
const asOfForm = "2006-01-02T15:04:05.000000Z07:00"

// serve handles a request that was let in: from the replica, where it may answer, and else from the database itself. What the
// replica cannot answer is asked again there.
func (d *door) serve(r Route, c *Call) (any, error) {
	if d.Replica == nil {
		return r.serve(c)
	}
	h := c.Writer.Header()
	if r.copied == nil {
		out, err := r.serve(c)
		if err == nil && c.Method != http.MethodGet && c.Method != http.MethodHead {
			h.Set(AsOfHeader, d.Replica.Now().UTC().Format(asOfForm))
		}
		return out, err
	}
	since := c.asOf()
	found := len(c.problems)
	if at, ok := d.Replica.Fresh(since, c.Query.Get("cursor")); ok {
		out, err := r.copied(c)
		if err == nil && len(c.problems) == found {
			h.Set(AsOfHeader, at.UTC().Format(asOfForm))
			h.Set("Age", strconv.Itoa(int(d.Replica.Now().Sub(at)/time.Second)))
			return out, nil
		}
		c.problems = c.problems[:found]
	}
	now := d.Replica.Now().UTC() // before it is read
	out, err := r.serve(c)
	if err == nil {
		h.Set(AsOfHeader, now.Add(-asOfMargin).Format(asOfForm))
	}
	return out, err
}

// asOfMargin is taken off what Now says where it stands for something that was read, so that it is not later than that.
const asOfMargin = time.Second

// asOf reads the header, zero where it is not there.
func (c *Call) asOf() time.Time {
	text := c.Header.Get(AsOfHeader)
	if text == "" {
		return time.Time{}
	}
	at, err := parseTime([]byte(text))
	if err != nil {
		c.Refuse("header."+AsOfHeader, "is %.60q: want the one of an answer, such as 2026-11-28T08:30:00.000000Z", text)
	}
	return at
}
