package web

import (
	"bytes"
	"cmp"
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
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/internal/work"
)

// Call is one request on its way through: who asks, and what is wrong with it so far.
type Call struct {
	*http.Request
	Key   posthouse.Key // its tenant is the only one the request can see
	Query url.Values
	// Once is set for bodies that are read Keyed.
	Once Once
	// Status is the answer's. Defaults to the route's.
	Status int
	// Writer is for what stands beside the answer: its headers, and the bounds of its connection.
	Writer http.ResponseWriter

	problems []posthouse.Problem
	maxBody  int64
	bodies   *Bodies
	held     *Held
	again    func() error
	change   change         // for the audit log
	refused  posthouse.Code // what the answer says, for the log
}

// Once is a request's Idempotency-Key with the hash of its body, empty without one.
type Once struct{ Key, Hash string }

// Raw is an answer that is no JSON.
type Raw struct {
	Kind string // content type
	Text []byte
}

// Stream is an answer that is written piece by piece. What goes wrong on the way ends the connection, so that nobody takes
// a part for the whole.
type Stream struct {
	Kind  string // content type
	Write func(w io.Writer) error
}

// Still checks that the caller may still do this: for a handler that waits.
func (c *Call) Still() error { return c.again() }

// Tenant is the caller's.
func (c *Call) Tenant() string { return c.Key.Tenant }

// Sight is what the caller sees.
func (c *Call) Sight() work.Sight { return SightOf(c.Key) }

// Caller is on whose behalf something is handed in.
func (c *Call) Caller() work.Caller { return CallerOf(c.Key) }

// Viewer is the caller that reads.
func (c *Call) Viewer() work.Viewer { return work.Viewer{Tenant: c.Tenant(), Sight: c.Sight()} }

// Refuse notes a problem: as many as are listed, and one more, so that it is said that there are more.
func (c *Call) Refuse(path, format string, args ...any) {
	if len(c.problems) <= maxProblems {
		c.problems = append(c.problems, posthouse.Problem{Path: path, Message: limittext.Said(format, args...)})
	}
}

// RefuseNew is Refuse of a field that nothing is known of yet.
func (c *Call) RefuseNew(path, format string, args ...any) {
	if !c.Concerns(path) {
		c.Refuse(path, format, args...)
	}
}

// Add notes what others found wrong, but of fields that something is known of already.
func (c *Call) Add(problems []posthouse.Problem) {
	for _, p := range problems {
		if len(c.problems) > maxProblems {
			return
		}
		if !c.Concerns(p.Path) {
			c.problems = append(c.problems, p)
		}
	}
}

// Concerns reports whether a problem is known already of a field, of one it is in, or of one in it.
func (c *Call) Concerns(path string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, p := range c.problems {
		if within(path, p.Path) || within(p.Path, path) {
			return true
		}
	}
	return false
}

// cannotAccept is what is wrong with a request as a whole, before its single problems.
const cannotAccept = "the request cannot be accepted"

// Wrong is the error of what was refused so far, nil without any.
func (c *Call) Wrong() error {
	return posthouse.Invalid(cannotAccept, c.problems)
}

// checkPath rejects names that cannot exist: no database could look them up.
func (c *Call) checkPath() error {
	if odd := draft.Unkept(c.URL.Path); odd != "" {
		return posthouse.Errorf(posthouse.CodeNotFound, "there is nothing at %.200q: the path %s", c.URL.Path, odd)
	}
	return nil
}

// readQuery takes the query apart and refuses what the address does not know. What no database can look up is left out.
func (c *Call) readQuery(known []string) {
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		c.Refuse("query", "cannot be read: a %% or ; in it is not escaped")
	}
	c.Query = values
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		if !slices.Contains(known, name) {
			c.Refuse("query."+name, "%s", channel.UnknownName("query parameter", name, known))
		} else if len(given) > 1 && name != "state" {
			c.Refuse("query."+name, "stands %d times: once is allowed", len(given))
		}
		if odd := unkept(given...); odd != "" {
			c.Refuse("query."+name, "%s", odd)
			delete(values, name)
		}
	}
}

// Moment reads a time of the query, zero where it is not given.
func (c *Call) Moment(name string) time.Time {
	text := c.Query.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := parseTime([]byte(text))
	switch {
	case errors.Is(err, errYear):
		c.Refuse("query."+name, "is %.60q: %s", text, err)
	case err != nil:
		c.Refuse("query."+name, "is %.60q: want %s (with + escaped as %%2B)", text, wantTime)
	}
	return t
}

// Number reads a whole number of the query, 0 where it is not given.
func (c *Call) Number(name string, least, most int) int {
	text := c.Query.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		c.Refuse("query."+name, "is %.60q: want a whole number from %d to %d", text, least, most)
		return 0
	}
	return n
}

// Span reads a time of at most so long of the query, 0 where it is not given.
func (c *Call) Span(name string, most time.Duration) time.Duration {
	text := c.Query.Get(name)
	if text == "" {
		return 0
	}
	var d posthouse.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil || d < 0 || d.Std() > most {
		c.Refuse("query."+name, "is %.60q: want a time from 0s to %s, such as 5s", text, posthouse.Duration(most))
		return 0
	}
	return d.Std()
}

// Truth reads true or false of the query, false where it is not given.
func (c *Call) Truth(name string) bool {
	text := c.Query.Get(name)
	if text != "" && text != "true" && text != "false" {
		c.Refuse("query."+name, "is %.60q: want true or false", text)
	}
	return text == "true"
}

// MaxPage bounds the entries of a page.
const MaxPage = 1000

// Page reads which part of a list is asked for. What is wrong with it, or with the rest of the query, is an error.
func (c *Call) Page() (cursor string, limit int, err error) {
	cursor, limit = c.Query.Get("cursor"), c.Number("limit", 1, MaxPage)
	return cursor, limit, c.Wrong()
}

// States reads one or many states, given once with commas or many times.
func (c *Call) States() []posthouse.State {
	var states []posthouse.State
	for _, given := range c.Query["state"] {
		for word := range strings.SplitSeq(given, ",") {
			if s := posthouse.State(word); s.Valid() {
				states = append(states, s)
			} else {
				c.Refuse("query.state", "%s", channel.Want(posthouse.State(word), posthouse.States()))
			}
		}
	}
	return states
}

// Words lists values for a problem.
func Words[T ~string](values []T) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// kindOf is the content type of the request's body, which must be one of those allowed. One that
// is not named counts as the first.
func (c *Call) kindOf(allowed ...string) (string, error) {
	if e := c.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return "", Faultf(http.StatusUnsupportedMediaType, posthouse.CodeInvalid, "the Content-Encoding is %.40q: send the body as it is", e)
	}
	given := c.Header.Get("Content-Type")
	if given == "" {
		return allowed[0], nil
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(allowed, kind) {
		return "", Faultf(http.StatusUnsupportedMediaType, posthouse.CodeInvalid, "the Content-Type is %.80q: want %s", given, strings.Join(allowed, " or "))
	}
	return kind, nil
}

// text reads the whole body, up to the server's bound. The buffer grows with what arrives: a Content-Length is
// only announced.
func (c *Call) text() ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(c.Holding(http.MaxBytesReader(c.Writer, c.Body, c.maxBody)))
	var large *http.MaxBytesError
	switch {
	case isNoted(err):
		return nil, err
	case errors.As(err, &large):
		return nil, posthouse.Errorf(posthouse.CodeTooLarge, "the body is larger than the %d bytes that are allowed", c.maxBody)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, Unreadable("the body ended before its Content-Length")
	case err != nil:
		return nil, Unreadable("the body could not be read")
	}
	return b.Bytes(), nil
}

// Holding counts what is read into memory, until the request ends. What there is no room for is an error of the reader.
func (c *Call) Holding(from io.Reader) io.Reader {
	if c.held == nil {
		c.held = c.bodies.Hold(cmp.Or(c.Key.ID, AddressOf(c.Request)))
	}
	return c.held.Reader(from)
}

// free gives back what the request held.
func (c *Call) free() {
	if c.held != nil {
		c.held.Free()
	}
}

const maxIdempotencyKey = 255

// onceOf is the request's Idempotency-Key with the hash of its body.
func (c *Call) onceOf(text []byte) Once {
	given := c.Header["Idempotency-Key"]
	if len(given) == 0 {
		return Once{}
	}
	key := given[0]
	switch {
	case len(given) > 1:
		c.Refuse("header.Idempotency-Key", "stands %d times: once is allowed", len(given))
	case key == "" || len(key) > maxIdempotencyKey:
		c.Refuse("header.Idempotency-Key", "has %d bytes: want 1 to %d", len(key), maxIdempotencyKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		c.Refuse("header.Idempotency-Key", "holds characters beyond printable ASCII")
	}
	if key == "" {
		return Once{}
	}
	return Once{key, hashOf(text)}
}

// Replayed tells the caller that the answer is the first one again.
func (c *Call) Replayed(again bool) {
	if again {
		c.Writer.Header().Set("Idempotent-Replay", "true")
	}
}

// send writes an answer.
func send(w http.ResponseWriter, status int, body any) error {
	if s, ok := body.(Stream); ok {
		return s.send(w, status)
	}
	out, raw := body.(Raw)
	if !raw && body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		out = Raw{"application/json", append(text, '\n')}
	}
	if out.Kind != "" {
		w.Header().Set("Content-Type", out.Kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(out.Text)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(out.Text) // a caller who left is no error of ours
	return nil
}

func (s Stream) send(w http.ResponseWriter, status int) error {
	w.Header().Set("Content-Type", s.Kind)
	w.WriteHeader(status)
	if err := s.Write(patient{w, http.NewResponseController(w)}); err != nil {
		panic(http.ErrAbortHandler) // the status has left: only the connection's end can say so
	}
	return nil
}

// patience is how long a client may take for one piece of a stream.
const patience = time.Minute

// patient writes as long as its reader reads.
type patient struct {
	w    http.ResponseWriter
	conn *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	_ = p.conn.SetWriteDeadline(time.Now().Add(patience)) // what has none keeps the server's bound
	return p.w.Write(b)
}

// Flush sends what was written: a reader of events waits for each.
func (p patient) Flush() error { return p.conn.Flush() }

// Room reports whether a further problem would still be listed.
func (c *Call) Room() bool { return len(c.problems) <= maxProblems }

// Flag reads a yes or no of the query, no where it is not given.
func (c *Call) Flag(name string) bool {
	text := c.Query.Get(name)
	yes, err := strconv.ParseBool(text)
	if text != "" && err != nil {
		c.Refuse("query."+name, "is %.60q: want true or false", text)
	}
	return yes
}
