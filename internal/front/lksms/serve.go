package lksms

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// call is one request on its way through.
type call struct {
	*http.Request
	who    caller
	writer http.ResponseWriter
	line   *work.Line // of the log of requests, for those that are logged
	held   *web.Held  // of the body, once it was read
	change change     // for the audit log
}

// answer is what a handler says: the data of the envelope. Without data there is no such field.
type answer struct {
	data   any
	header http.Header
}

func ok(data any) (answer, error) { return answer{data: data}, nil }

// refusal is an error with its status. Its text is for the caller.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// envelope is how everything is answered.
type envelope struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Detail is the message of an error once more, where clients of the framework of the former server look for it.
	Detail string `json:"detail,omitempty"`
}

// handler serves one path.
func (d *door) handler(methods map[string]route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{Request: r, writer: w}
		defer c.free()
		out, err := d.run(methods, c)
		status, text := http.StatusOK, []byte(nil)
		if err == nil {
			text, err = render(http.StatusOK, "success", out.data)
		}
		if err != nil {
			status, text = d.refused(c, err)
		}
		d.keep(c, status, text)
		h := w.Header()
		maps.Copy(h, out.header)
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Length", strconv.Itoa(len(text)))
		w.WriteHeader(status)
		_, _ = w.Write(text) // a caller who left is no error of ours
	})
}

// free gives back what the body held.
func (c *call) free() {
	if c.held != nil {
		c.held.Free()
	}
}

// run lets a request in and handles it. A panic is an error like others.
func (d *door) run(methods map[string]route, c *call) (out answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if site := c.Header.Get("Sec-Fetch-Site"); methods == nil || site == "cross-site" || site == "same-site" {
		return answer{}, refuse(http.StatusForbidden, "a page of another site asked for this: pages may not") // a GET hands out tasks
	}
	r, found := methods[c.Method]
	if !found || r.scope != "" { // who has no password does not learn what there is
		if c.who, err = d.enter(c.Request); err != nil {
			return answer{}, err
		}
		if err := d.pass(c); err != nil {
			return answer{}, err
		}
	}
	switch {
	case len(methods) == 0:
		return answer{}, refuse(http.StatusNotFound, "there is no address %.200q", c.URL.Path)
	case !found:
		allowed := slices.Sorted(maps.Keys(methods))
		c.writer.Header().Set("Allow", strings.Join(allowed, ", "))
		return answer{}, refuse(http.StatusMethodNotAllowed, "the method %.20q is not allowed here: want %s", c.Method, strings.Join(allowed, " or "))
	case r.scope != "":
		if err := c.who.may(r, d.Channel); err != nil {
			return answer{}, err
		}
	}
	if err := c.checkNote(r); err != nil {
		return answer{}, err
	}
	if out, err = r.serve(c); err == nil {
		d.record(c, r)
	}
	return out, err
}

// render writes an envelope. Characters stand as they are.
func render(code int, message string, data any) ([]byte, error) {
	e := envelope{Code: code, Message: message}
	if code >= http.StatusBadRequest {
		e.Detail = message
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if data != nil {
		if err := encoder.Encode(data); err != nil {
			return nil, fmt.Errorf("write the answer: %w", err)
		}
		e.Data = json.RawMessage(bytes.Clone(bytes.TrimSpace(b.Bytes())))
		b.Reset()
	}
	if err := encoder.Encode(e); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// fields are the names by which callers know what the engine complains about.
var fields = strings.NewReplacer("to[0].address", "phone_number", "to[0]", "phone_number", "content.text", "content")

// refused is the answer to an error, with null for its data.
func (d *door) refused(c *call, err error) (int, []byte) {
	var status int
	var message string
	var own *refusal
	if errors.As(err, &own) {
		status, message = own.status, own.message
	} else {
		told := web.Tell(c.Context(), err, func(id string, cause error) {
			if c.Context().Err() == nil {
				d.Log.Error("request failed", "method", c.Method, "path", c.URL.Path, "tenant", c.who.tenant, "id", id, "error", cause)
			}
		})
		status, message = told.Status, told.Detail
		for i, p := range told.Problems {
			message += []string{": ", "; "}[min(i, 1)] + strings.TrimSpace(fields.Replace(p.Path)+" "+p.Message)
		}
		if posthouse.CodeOf(err) == posthouse.CodeInvalid {
			status = http.StatusBadRequest
		}
		if told.After > 0 {
			c.writer.Header().Set("Retry-After", strconv.Itoa(told.After))
		}
	}
	if status == http.StatusUnauthorized {
		c.writer.Header().Set("WWW-Authenticate", "Basic")
	}
	text, _ := render(status, message, json.RawMessage("null")) // cannot fail
	return status, text
}

// keep writes the line of a request that is logged. It was answered all the same when it cannot be.
func (d *door) keep(c *call, status int, text []byte) {
	if c.line == nil {
		return
	}
	c.line.Status, c.line.Response = status, document(text)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 5*time.Second)
	defer cancel()
	if err := d.Store.AddReceived(ctx, time.Now(), []work.Line{*c.line}); err != nil {
		d.Log.Error("a request could not be written to its log", "tenant", c.who.tenant, "request", c.line.RequestID, "task", c.line.Delivery, "error", err)
	}
}

// maxLogged bounds what a log keeps of a request or an answer, in bytes: several times the longest that
// says something.
const maxLogged = state.MaxExcerpt

// document is a body as a log keeps it: JSON.
func document(body []byte) json.RawMessage {
	return json.RawMessage(state.Document(string(body), maxLogged))
}

// clipped is a text with at most so many characters, valid UTF-8 without U+0000, which a database can keep.
func clipped(s string, most int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
