package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/config"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was understood and did not succeed
	exitUsage  = 2 // the command line or the settings are wrong; nothing was tried. Of verify: no verdict
)

// usageFault is an error of the person who typed, found before anything was done.
type usageFault struct{ error }

func (u usageFault) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageFault{fmt.Errorf(format, args...)} }

// hinted is an error with what to do next.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// errQuiet is a failure whose reasons were printed already.
var errQuiet = errors.New("failed")

// hints tell what to do next, by the code of the server's error.
var hints = map[posthouse.Code]string{
	posthouse.CodeUnauthorized:   "give an API key: export POSTHOUSE_API_KEY=ph_… (the server printed one at its first start; posthouse key add makes more)",
	posthouse.CodeForbidden:      "use a key of a wider scope: read, send and admin are the scopes",
	posthouse.CodeUnavailable:    "try again in a moment; GET /readyz of the server says what is missing",
	posthouse.CodeOutcomeUnknown: "repeat the command with the same --idempotency-key: then nothing is sent twice",
	posthouse.CodeInternal:       "the server's log has the details",
}

// exit prints an error, one line for each thing that is wrong, and says the exit code.
func (p *program) exit(err error) int {
	code := exitFailed
	var usage usageFault
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errQuiet), errors.Is(err, context.Canceled):
		return exitFailed
	case errors.Is(err, errInconclusive):
		return exitUsage
	case errors.As(err, &usage):
		code = exitUsage
	}
	if p.json {
		p.printFaultJSON(err, code)
		return code
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) && len(coded.Problems) > 0 {
		fmt.Fprintf(p.err, "posthouse: %s\n", config.Printable(coded.Message))
		for _, problem := range coded.Problems {
			fmt.Fprintf(p.err, "  %s\n", config.Printable(strings.TrimPrefix(problem.Path+": "+problem.Message, ": "))) // no path: the body itself
		}
	} else {
		head, more, _ := strings.Cut(err.Error(), "\n") // a database's driver lists the addresses it tried
		fmt.Fprintf(p.err, "posthouse: %s\n", config.Printable(head))
		for line := range strings.Lines(more) {
			fmt.Fprintf(p.err, "  %s\n", config.Printable(strings.TrimSpace(line)))
		}
	}
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(p.err, "  → %s\n", hint)
	}
	return code
}

func hintFor(err error) string {
	var h hinted
	var network *net.OpError
	var request *url.Error
	var coded *posthouse.Error
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &network) && network.Op == "listen":
		return "another program may listen there: --addr names another address"
	case errors.As(err, &network) && network.Op == "dial" && errors.As(err, &request):
		return "is a server running there? posthouse serve starts one; --url or POSTHOUSE_URL names another"
	case errors.As(err, &network) && network.Op == "dial":
		return "is the database running there? --dsn or POSTHOUSE_DSN names another"
	case errors.As(err, &coded):
		return hints[coded.Code]
	}
	return ""
}

func (p *program) printFaultJSON(err error, code int) {
	fault := struct {
		Code     posthouse.Code      `json:"code"`
		Message  string              `json:"message"`
		Problems []posthouse.Problem `json:"problems,omitempty"`
		Hint     string              `json:"hint,omitempty"`
	}{Code: posthouse.CodeOf(err), Message: err.Error(), Hint: hintFor(err)}
	if code == exitUsage {
		fault.Code = posthouse.CodeInvalid
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		fault.Message, fault.Problems = coded.Message, coded.Problems
	}
	encoder := json.NewEncoder(p.err)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(map[string]any{"error": fault}) // there is nowhere left to say that it failed
}
