package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// reply is an answer of status 2xx.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// after is the wait that the server asks for.
func (a reply) after() time.Duration {
	seconds, _ := strconv.Atoi(a.header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second
}

// call makes a request and decodes its answer.
func call[T any](ctx context.Context, c *caller, r request) (T, error) {
	out, _, err := callReply[T](ctx, c, r)
	return out, err
}

func callReply[T any](ctx context.Context, c *caller, r request) (out T, answer reply, err error) {
	answer, err = c.do(ctx, r)
	if err != nil || len(answer.body) == 0 {
		return out, answer, err
	}
	if err := json.Unmarshal(answer.body, &out); err != nil {
		return out, answer, fmt.Errorf("%s %s: the answer is not what the API promises: %w", r.method, r.path, err)
	}
	return out, answer, nil
}

// send calls with a JSON body.
func send[T any](ctx context.Context, c *caller, method, path string, body any) (T, error) {
	r, err := withBody(method, path, body)
	if err != nil {
		var none T
		return none, err
	}
	return call[T](ctx, c, r)
}

func withBody(method, path string, body any) (request, error) {
	r := request{method: method, path: path}
	if body == nil {
		return r, nil
	}
	text, err := json.Marshal(body)
	if err != nil {
		return r, fmt.Errorf("write the body of %s %s: %w", method, path, err)
	}
	r.kind, r.body = "application/json", text
	return r, nil
}

// do makes the call, again where that is safe and useful.
func (c *caller) do(ctx context.Context, r request) (reply, error) {
	for try := 1; ; try++ {
		answer, after, err := c.once(ctx, r)
		if err == nil || !r.safe() || try >= c.o.Tries || !passing(err) || after > c.o.MaxWait || ctx.Err() != nil {
			return answer, err
		}
		if waitErr := wait(ctx, max(after, c.backoff(try))); waitErr != nil {
			return answer, err
		}
	}
}

// backoff is the wait before the next try: 200 ms, doubled each time, less up to a half at random.
func (c *caller) backoff(try int) time.Duration {
	d := min(200*time.Millisecond<<min(try-1, 10), c.o.MaxWait)
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passing reports whether an error may be gone at the next try: the network's, and the codes
// that say so. Where another place is named, this one would be asked in vain.
func passing(err error) bool {
	var answered *posthouse.Error
	return !errors.As(err, &answered) || answered.Code == posthouse.CodeUnavailable && answered.Place == nil || answered.Code == posthouse.CodeQuota || answered.Code == posthouse.CodeOutcomeUnknown
}

// once makes the call one time; after is the wait the server asked for.
func (c *caller) once(ctx context.Context, r request) (answer reply, after time.Duration, err error) {
	req, err := c.build(ctx, r)
	if err != nil {
		return reply{}, 0, err
	}
	res, err := c.patient(r.wait).Do(req)
	if err != nil {
		return reply{}, 0, fmt.Errorf("call the server: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return reply{}, 0, fmt.Errorf("read the answer of %s %s: %w", r.method, r.path, err)
	}
	answer = reply{res.StatusCode, res.Header, body}
	if res.StatusCode/100 == 2 {
		return answer, 0, nil
	}
	return answer, answer.after(), errorOf(answer)
}

// maxStream is how long a streamed answer may take in all.
const maxStream = time.Hour

// stream makes a call one time and writes its answer to w as it comes.
func (c *caller) stream(ctx context.Context, r request, w io.Writer) error {
	req, err := c.build(ctx, r)
	if err != nil {
		return err
	}
	res, err := c.patient(maxStream).Do(req)
	if err != nil {
		return fmt.Errorf("call the server: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // what has come of it says enough
		return errorOf(reply{res.StatusCode, res.Header, body})
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", r.method, r.path, err)
	}
	return nil
}

// patient is what makes the calls, with a time-out that is longer by the wait.
func (c *caller) patient(wait time.Duration) *http.Client {
	if wait <= 0 || c.o.HTTP.Timeout == 0 {
		return c.o.HTTP
	}
	longer := *c.o.HTTP
	longer.Timeout += wait
	return &longer
}

func (c *caller) build(ctx context.Context, r request) (*http.Request, error) {
	target := c.base.String() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if h, ok := ctx.Value(condition{}).(header); ok {
		req.Header.Set(h.name, h.value)
	}
	return req, nil
}

// errorOf is the error that the server answered. What something on the way answered in its
// place gets a code by its status.
func errorOf(a reply) error {
	var p struct {
		Code     posthouse.Code      `json:"code"`
		Detail   string              `json:"detail"`
		Problems []posthouse.Problem `json:"problems"`
		Bound    *posthouse.Bound    `json:"bound"`
		Place    *posthouse.Place    `json:"place"`
	}
	if json.Unmarshal(a.body, &p) == nil && p.Code != "" {
		return &posthouse.Error{Code: p.Code, Message: p.Detail, Problems: p.Problems, Bound: p.Bound, Wait: a.after(), Place: p.Place}
	}
	code := posthouse.CodeInternal
	switch a.status {
	case http.StatusUnauthorized:
		code = posthouse.CodeUnauthorized
	case http.StatusForbidden:
		code = posthouse.CodeForbidden
	case http.StatusNotFound:
		code = posthouse.CodeNotFound
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = posthouse.CodeUnavailable
	}
	return posthouse.Errorf(code, "the server answered HTTP %d %s", a.status, http.StatusText(a.status))
}

// uploaded makes a call one time whose body is sent as it is read.
func uploaded[T any](ctx context.Context, c *caller, r request, body io.Reader) (out T, err error) {
	req, err := c.build(ctx, r)
	if err != nil {
		return out, err
	}
	req.Body, req.GetBody, req.ContentLength = io.NopCloser(body), nil, -1
	res, err := c.patient(maxStream).Do(req)
	if err != nil {
		return out, fmt.Errorf("call the server: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", r.path, err)
	}
	if res.StatusCode/100 != 2 {
		return out, errorOf(reply{res.StatusCode, res.Header, text})
	}
	return out, json.Unmarshal(text, &out)
}
