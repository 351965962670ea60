package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// carrier makes HTTP calls with JSON on both sides.
type carrier struct {
	base  string
	http  *http.Client
	login func(*http.Request)
}

// httpError is an answer that is not of status 2xx.
type httpError struct {
	call    string
	status  int
	code    string // the phone's, empty where it has none
	message string
	after   time.Duration // the wait that the server asked for
}

// Error says what was called and what was answered.
func (e *httpError) Error() string {
	return fmt.Sprintf("%s: HTTP %d: %s", e.call, e.status, e.message)
}

// codeOf is the code of an answer in either protocol, empty where there was no answer.
func codeOf(err error) posthouse.Code {
	var answered *httpError
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	if !errors.As(err, &answered) {
		return ""
	}
	switch answered.status {
	case http.StatusUnauthorized:
		return posthouse.CodeUnauthorized
	case http.StatusForbidden:
		return posthouse.CodeForbidden
	case http.StatusNotFound:
		return posthouse.CodeNotFound
	case http.StatusConflict:
		return posthouse.CodeConflict
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return posthouse.CodeUnavailable
	}
	if answered.status >= 500 {
		return posthouse.CodeUnavailable
	}
	return posthouse.CodeInvalid
}

// unreadable reports whether the server refuses a request for what it holds: it will do so each time.
func unreadable(err error) bool {
	switch codeOf(err) {
	case posthouse.CodeInvalid, posthouse.CodeNotFound, posthouse.CodeConflict, posthouse.CodeTooLarge:
		return true
	}
	return false
}

// refused reports whether the server will not let the app in, or does not know it, however often it asks.
func refused(err error) bool {
	code := codeOf(err)
	return code == posthouse.CodeUnauthorized || code == posthouse.CodeForbidden || unreadable(err)
}

// waitOf is the wait that a server asked for.
func waitOf(err error) time.Duration {
	var answered *httpError
	if errors.As(err, &answered) {
		return answered.after
	}
	return 0
}

// call makes a request and decodes the answer into out.
func (w carrier) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("write the body of %s: %w", path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if w.login != nil {
		w.login(req)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if res.StatusCode/100 != 2 {
		return errorOf(method+" "+req.URL.Path, res, text)
	}
	if err := json.Unmarshal(text, out); out != nil && err != nil {
		return fmt.Errorf("the answer of %s is not what the server promises: %w", path, err)
	}
	return nil
}

// errorOf reads an error of the front door, a phone, or something on the way.
func errorOf(call string, res *http.Response, text []byte) error {
	var said struct {
		Message string `json:"message"` // of the SMS front door
		Error   struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"` // of a phone
	}
	_ = json.Unmarshal(text, &said) // a proxy's page is no JSON: the status says enough then
	e := &httpError{call: call, status: res.StatusCode, code: said.Error.Code, message: cmp.Or(said.Message, said.Error.Message)}
	if e.message == "" {
		e.message = http.StatusText(res.StatusCode)
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	e.after = time.Duration(seconds) * time.Second
	return e
}
