package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// statuses is the one table from an error's code to its HTTP status.
var statuses = map[posthouse.Code]int{
	posthouse.CodeInvalid:        http.StatusUnprocessableEntity,
	posthouse.CodeUnauthorized:   http.StatusUnauthorized,
	posthouse.CodeForbidden:      http.StatusForbidden,
	posthouse.CodeNotFound:       http.StatusNotFound,
	posthouse.CodeConflict:       http.StatusConflict,
	posthouse.CodeChanged:        http.StatusPreconditionFailed,
	posthouse.CodeTooLarge:       http.StatusRequestEntityTooLarge,
	posthouse.CodeKeyReused:      http.StatusUnprocessableEntity,
	posthouse.CodeUnavailable:    http.StatusServiceUnavailable,
	posthouse.CodeOutcomeUnknown: http.StatusServiceUnavailable,
	posthouse.CodeStorageFull:    http.StatusInsufficientStorage,
	posthouse.CodeQuota:          http.StatusTooManyRequests,
	posthouse.CodeInternal:       http.StatusInternalServerError,
}

// retryAfter is how many seconds a caller is asked to wait, for the codes that pass.
var retryAfter = map[posthouse.Code]int{
	posthouse.CodeUnavailable:    1,
	posthouse.CodeOutcomeUnknown: 1,
	posthouse.CodeStorageFull:    30,
	posthouse.CodeQuota:          1,
}

// Fault is an error whose status says more than its code.
type Fault struct {
	err    *posthouse.Error
	status int
	after  int  // seconds, for Retry-After
	noted  bool // by who refuses: the door need not log it
}

func (f *Fault) Error() string { return f.err.Error() }

func (f *Fault) Unwrap() error { return f.err }

// Faultf makes an error whose status says more than its code.
func Faultf(status int, code posthouse.Code, format string, args ...any) *Fault {
	return &Fault{err: &posthouse.Error{Code: code, Message: fmt.Sprintf(format, args...)}, status: status}
}

// Unreadable says that a request cannot be understood at all, so that no single field is to blame.
func Unreadable(format string, args ...any) error {
	return Faultf(http.StatusBadRequest, posthouse.CodeInvalid, format, args...)
}

// errorsPage says what each code means, and what to do then.
const errorsPage = "/docs/errors.html#"

// problemOf turns an error into its answer, of a request that a context is of. What has no code is ours: its text stays in the log.
func problemOf(ctx context.Context, err error) (p wire.Problem, after int) {
	id := cmp.Or(RequestID(ctx), posthouse.NewID())
	var f *Fault
	var coded *posthouse.Error
	switch {
	case errors.As(err, &f):
		p, after = wire.Problem{Status: f.status, Code: f.err.Code, Detail: f.err.Message, Problems: f.err.Problems}, f.after
	case errors.As(err, &coded) && coded.Code != posthouse.CodeInternal:
		p, after = wire.Problem{Status: statuses[coded.Code], Code: coded.Code, Detail: coded.Message, Problems: coded.Problems, Bound: coded.Bound, Place: coded.Place}, retryAfter[coded.Code]
		after = max(after, int((coded.Wait+time.Second-1)/time.Second))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		p, after = wire.Problem{Status: http.StatusServiceUnavailable, Code: posthouse.CodeUnavailable, Detail: "the request ended before it was done"}, 1
	default:
		p = wire.Problem{Status: http.StatusInternalServerError, Code: posthouse.CodeInternal, ID: id, Detail: "something went wrong here; the server's log says what, under the id " + id}
	}
	p.ID = cmp.Or(RequestID(ctx), p.ID)
	p.Type, p.Title, p.Problems = errorsPage+string(p.Code), http.StatusText(p.Status), first(p.Problems)
	return p, after
}

// Told is what a caller learns of an error, for front doors that have an envelope of their own.
type Told struct {
	Status   int // of HTTP
	After    int // seconds after which to come again, 0 where that does not help
	Detail   string
	Problems []posthouse.Problem
}

// isNoted reports whether an error needs no line of the door. That another place has to be asked is said once, by the server.
func isNoted(err error) bool {
	var f *Fault
	return errors.As(err, &f) && f.noted || errors.Is(err, work.ErrElsewhere)
}

// Tell turns an error into what its caller learns. What has no code is ours: log logs it under the id that
// the detail names.
func Tell(ctx context.Context, err error, log func(id string, cause error)) Told {
	p, after := problemOf(ctx, err)
	if p.Status >= http.StatusInternalServerError && !isNoted(err) {
		log(p.ID, errors.New(causeOf(err)))
	}
	return Told{p.Status, after, p.Detail, p.Problems}
}

// maxProblems bounds what one answer lists.
const maxProblems = 100

// first is a list of problems that is not too long, and says where it was.
func first(list []posthouse.Problem) []posthouse.Problem {
	if len(list) <= maxProblems {
		return list
	}
	more := posthouse.Problem{Message: fmt.Sprintf("there are more problems than the %d listed", maxProblems)}
	return append(list[:maxProblems:maxProblems], more)
}

// statusOf is the status of an error's answer.
func statusOf(err error) int {
	p, _ := problemOf(context.Background(), err)
	return p.Status
}

func problemAnswer(p wire.Problem) Raw {
	text, _ := json.Marshal(p) // strings and numbers: cannot fail
	return Raw{"application/problem+json", append(text, '\n')}
}

// ProblemsOf lists what is wrong with an input by an error.
func ProblemsOf(err error) []posthouse.Problem {
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return coded.Problems
	}
	return nil
}

// Renamed gives the fields of an error's problems the names that the caller knows them by.
func Renamed(err error, names map[string]string) error {
	problems := slices.Clone(ProblemsOf(err))
	for i, p := range problems {
		problems[i].Path = cmp.Or(names[p.Path], p.Path)
	}
	return cmp.Or(posthouse.Invalid(cannotAccept, problems), err)
}
