package web

import (
	"net/http"
	"strings"

	"github.com/posthouse/posthouse/internal/work"
)

// The headers that say for which state of a thing a write is meant.
const (
	ifMatch = "If-Match"
	ifNone  = "If-None-Match"
)

// Guarded says that a write may be for one state of a thing alone: what the handler writes through looks at work.OnlyOf.
func (r Route) Guarded() Route {
	r.guarded = true
	return r
}

// Tag answers the state of the thing that was read or stored.
func (c *Call) Tag(tag string) { c.Writer.Header().Set("ETag", `"`+tag+`"`) }

// readOnly reads the states that a write expects, and refuses the headers where the handler ignores them.
func (c *Call) readOnly(r Route) {
	if c.Method == http.MethodGet || len(c.Header[ifMatch])+len(c.Header[ifNone]) == 0 {
		return
	}
	if !r.guarded {
		for _, name := range []string{ifMatch, ifNone} {
			if len(c.Header[name]) > 0 {
				c.Refuse("header."+name, "is not looked at here: leave it out")
			}
		}
		return
	}
	var o work.Only
	for _, given := range c.Header[ifMatch] {
		for word := range strings.SplitSeq(given, ",") {
			word = strings.TrimSpace(word)
			tag, quoted := strings.CutPrefix(word, `"`)
			tag, ended := strings.CutSuffix(tag, `"`)
			switch {
			case word == "*":
				o.There = true
			case quoted && ended && tag != "":
				o.Tags = append(o.Tags, tag)
			default:
				c.Refuse("header."+ifMatch, "is %.80q: want the ETag of what was read, with its quotes, or *", given)
			}
		}
	}
	if given := c.Header.Get(ifNone); given == "*" {
		o.New = true
	} else if given != "" {
		c.Refuse("header."+ifNone, "is %.80q: want *, for what is not there yet", given)
	}
	c.Request = c.WithContext(work.WithOnly(c.Context(), o))
}
