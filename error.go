package posthouse

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is the stable word of an error; the HTTP API has one status for each.
type Code string

// The codes.
const (
	CodeInvalid        Code = "invalid"         // the request cannot be accepted as it is; see Problems
	CodeUnauthorized   Code = "unauthorized"    // no key, or not a valid one
	CodeForbidden      Code = "forbidden"       // the key's scope does not reach this
	CodeNotFound       Code = "not_found"       // no such thing in this tenant
	CodeConflict       Code = "conflict"        // the thing's state does not allow it
	CodeChanged        Code = "changed"         // it is no longer as the caller has read it: If-Match
	CodeTooLarge       Code = "too_large"       // a body, header or depth limit
	CodeKeyReused      Code = "key_reused"      // the idempotency key stands for another body
	CodeUnavailable    Code = "unavailable"     // cannot be done now; try again
	CodeOutcomeUnknown Code = "outcome_unknown" // the commit's answer was lost; repeat with the same key
	CodeStorageFull    Code = "storage_full"    // the database has no room
	CodeQuota          Code = "quota"           // a quota of the key or the tenant is used up; try again later
	CodeInternal       Code = "internal"
)

// Problem is one thing that is wrong with an input.
type Problem struct {
	// Path names the field, as a JSON path from the body's root such as
	// "messages[2].to[0].user", or a flag, variable or line for other inputs.
	Path string `json:"path"`
	// Message says what is wrong and what is allowed.
	Message string `json:"message"`
}

// Error is an error with a code. Its text is meant for the caller: it never
// holds a secret or an internal address.
type Error struct {
	Code     Code
	Message  string
	Problems []Problem
	Cause    error // kept for the log, never shown
	// Bound is the part of a quota that is used up, of CodeQuota. Wait is how long until it is worth another try.
	Bound *Bound
	Wait  time.Duration
	// Place is where the request can be made instead, of CodeUnavailable at a place that is passive.
	Place *Place
}

// Error says the message and each problem.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for i, p := range e.Problems {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %s", p.Path, p.Message)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error with a code.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Invalid makes an error from problems; it is nil when there are none.
func Invalid(message string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: message, Problems: problems}
}

// CodeOf is the code of an error, CodeInternal for one without.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
