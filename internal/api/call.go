package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// call is one request on its way through: who asks, and what is wrong with it so far.
type call struct {
	*http.Request
	key      posthouse.Key // its tenant is the only one the request can see
	query    url.Values
	problems []posthouse.Problem
	maxBody  int64
	writer   http.ResponseWriter
}

// answer is what a handler says. A nil body is an empty answer.
type answer struct {
	status int
	body   any
	header http.Header
	raw    []byte // in place of body
	kind   string // content type of raw
}

func ok(body any) (answer, error) { return answer{status: http.StatusOK, body: body}, nil }

// none is the answer to a deletion.
func none(err error) (answer, error) { return answer{status: http.StatusNoContent}, err }

// page is a list, or a part of one. Next is the cursor of the next part, empty at the end.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

func pageOf[T any](items []T, next string) (answer, error) {
	if items == nil {
		items = []T{}
	}
	return ok(page[T]{items, next})
}

// refuse notes a problem: as many as are listed, and one more, so that it is said that there are more.
func (c *call) refuse(path, format string, args ...any) {
	if len(c.problems) <= maxProblems {
		c.problems = append(c.problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

// add notes what others found wrong, but of fields that something is known of already.
func (c *call) add(problems []posthouse.Problem) {
	for _, p := range problems {
		if len(c.problems) > maxProblems {
			return
		}
		if !c.concerns(p.Path) {
			c.problems = append(c.problems, p)
		}
	}
}

// cannotAccept is what is wrong with a request as a whole, before its single problems.
const cannotAccept = "the request can not be accepted"

// wrong is the error of what was refused so far, nil without any.
func (c *call) wrong() error {
	return posthouse.Invalid(cannotAccept, c.problems)
}

// checkPath answers a path with a name in it that nothing has: no database could even look it up.
func (c *call) checkPath() error {
	if odd := unkept(c.URL.Path); odd != "" {
		return posthouse.Errorf(posthouse.CodeNotFound, "there is nothing at %.200q: the path %s", c.URL.Path, odd)
	}
	return nil
}

// readQuery takes the query apart and refuses what the address does not know. What no database can look up is left out.
func (c *call) readQuery(known []string) {
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		c.refuse("query", "can not be read: a %% or ; in it is not escaped")
	}
	c.query = values
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		if !slices.Contains(known, name) {
			c.refuse("query."+name, "%s", channel.UnknownName("query parameter", name, known))
		} else if len(given) > 1 && name != "state" {
			c.refuse("query."+name, "stands %d times: once is allowed", len(given))
		}
		if odd := unkept(given...); odd != "" {
			c.refuse("query."+name, "%s", odd)
			delete(values, name)
		}
	}
}

func (c *call) moment(name string) time.Time {
	text := c.query.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		c.refuse("query."+name, "is %.60q: want a time such as 2026-10-01T08:30:00+08:00 (with + escaped as %%2B)", text)
	}
	return t
}

// number reads a whole number of the query, 0 where it is not given.
func (c *call) number(name string, least, most int) int {
	text := c.query.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		c.refuse("query."+name, "is %.60q: want a whole number from %d to %d", text, least, most)
		return 0
	}
	return n
}

// states reads one or many states, given once with commas or many times.
func (c *call) states() []posthouse.State {
	var states []posthouse.State
	for _, given := range c.query["state"] {
		for word := range strings.SplitSeq(given, ",") {
			if s := posthouse.State(word); s.Valid() {
				states = append(states, s)
			} else {
				c.refuse("query.state", "is %.60q: want one or more of %s", word, words(posthouse.States()))
			}
		}
	}
	return states
}

const maxPage = 1000

// filter reads what lists of messages and deliveries are narrowed down by.
func (c *call) filter() work.Filter {
	f := work.Filter{
		Tenant: c.key.Tenant, Channel: c.query.Get("channel"), Kind: c.query.Get("kind"), Ref: c.query.Get("ref"), User: c.query.Get("user"),
		States: c.states(), Since: c.moment("since"), Until: c.moment("until"), Cursor: c.query.Get("cursor"), Limit: c.number("limit", 1, maxPage),
	}
	if !f.Until.IsZero() && !f.Until.After(f.Since) {
		c.refuse("query.until", "must be later than since")
	}
	return f
}

// words lists values for a problem.
func words[T ~string](values []T) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// kindOf is the content type of the request's body, which must be one of those allowed. One that
// is not named counts as the first.
func (c *call) kindOf(allowed ...string) (string, error) {
	if e := c.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return "", faultf(http.StatusUnsupportedMediaType, posthouse.CodeInvalid, "the Content-Encoding is %.40q: send the body as it is", e)
	}
	given := c.Header.Get("Content-Type")
	if given == "" {
		return allowed[0], nil
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(allowed, kind) {
		return "", faultf(http.StatusUnsupportedMediaType, posthouse.CodeInvalid, "the Content-Type is %.80q: want %s", given, strings.Join(allowed, " or "))
	}
	return kind, nil
}

// text reads the whole body, up to the server's bound.
func (c *call) text() ([]byte, error) {
	var b bytes.Buffer
	if n := c.ContentLength; n > 0 && n <= c.maxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(c.writer, c.Body, c.maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, posthouse.Errorf(posthouse.CodeTooLarge, "the body is larger than the %d bytes that are allowed", c.maxBody)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, unreadable("the body ended before its Content-Length")
	case err != nil:
		return nil, unreadable("the body could not be read")
	}
	return b.Bytes(), nil
}

// object reads a JSON body, with the problems of the query.
func object[T any](c *call, b body[T]) (T, error) {
	v, err := loose(c, b)
	if err == nil {
		err = c.wrong()
	}
	return v, err
}

// loose reads a JSON body and leaves its problems in the call, for a handler that finds more.
func loose[T any](c *call, b body[T]) (v T, err error) {
	if _, err := c.kindOf("application/json"); err != nil {
		return v, err
	}
	text, err := c.text()
	if err != nil {
		return v, err
	}
	v, problems, err := b.read(text)
	c.problems = append(c.problems, problems...)
	return v, err
}

// optional is object for a body that may be missing.
func optional[T any](c *call, b body[T]) (v T, err error) {
	if c.ContentLength == 0 {
		return v, c.wrong()
	}
	return object(c, b)
}

// send writes an answer.
func (a answer) send(w http.ResponseWriter) error {
	text, kind := a.raw, a.kind
	if a.raw == nil && a.body != nil {
		var err error
		if text, err = json.Marshal(a.body); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		text, kind = append(text, '\n'), "application/json"
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if kind != "" {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // a caller who left is no error of ours
	return nil
}
