package shell

import (
	"context"
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

// UsageFault is an error of the person who typed, found before anything was done.
type UsageFault struct{ error }

func (u UsageFault) Unwrap() error { return u.error }

// Usagef makes a UsageFault.
func Usagef(format string, args ...any) error { return UsageFault{fmt.Errorf(format, args...)} }

// hinted is an error with what to do next.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// Hint says beside an error what to do next.
func Hint(err error, next string) error { return hinted{err, next} }

// The failures whose reasons were printed already: one of what was asked for, and of verify, that a run proves
// too little.
var (
	ErrQuiet        = errors.New("failed")
	ErrInconclusive = errors.New("not conclusive")
)

// hints tell what to do next, by the code of the server's error.
var hints = map[posthouse.Code]string{
	posthouse.CodeUnauthorized:   "give an API key: export POSTHOUSE_API_KEY=ph_… (the server printed one at its first start; posthouse key add makes more), or name a file that has it: --env-file .env",
	posthouse.CodeForbidden:      "use a key that may do it: posthouse key list says which has the scope (read, send, admin) and the grants (--grant)",
	posthouse.CodeChanged:        "it was changed meanwhile, and nothing was stored: look at it, and run the command again",
	posthouse.CodeUnavailable:    "try again in a moment; GET /readyz of the server says what is missing",
	posthouse.CodeOutcomeUnknown: "repeat the command with the same --idempotency-key: then nothing is sent twice",
	posthouse.CodeQuota:          "try again later; posthouse tenant show and posthouse key list say what is allowed",
	posthouse.CodeInternal:       "the server's log has the details",
}

// Exit prints an error, one line for each thing that is wrong, and says the exit code.
func (sh *Shell) Exit(err error) int {
	code := exitFailed
	var usage UsageFault
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, ErrQuiet), errors.Is(err, context.Canceled):
		return exitFailed
	case errors.Is(err, ErrInconclusive):
		return exitUsage
	case errors.As(err, &usage):
		code = exitUsage
	}
	if sh.JSON {
		sh.printFault(err, code)
		return code
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) && len(coded.Problems) > 0 {
		fmt.Fprintf(sh.Err, "posthouse: %s\n", config.Printable(sh.fails(coded.Message)))
		for _, problem := range coded.Problems {
			fmt.Fprintf(sh.Err, "  %s\n", config.Printable(sh.where(problem.Path)+sh.fails(problem.Message)))
		}
	} else {
		head, more, _ := strings.Cut(err.Error(), "\n") // a database's driver lists the addresses it tried
		fmt.Fprintf(sh.Err, "posthouse: %s\n", config.Printable(sh.fails(head)))
		for line := range strings.Lines(more) {
			fmt.Fprintf(sh.Err, "  %s\n", config.Printable(sh.fails(strings.TrimSpace(line))))
		}
	}
	if hint := HintFor(err); hint != "" {
		fmt.Fprintf(sh.Err, "  → %s\n", config.Printable(sh.fails(hint)))
	}
	return code
}

// HintFor is what to do next after an error, empty where nothing is known.
func HintFor(err error) string {
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

func (sh *Shell) printFault(err error, code int) {
	fault := struct {
		Code     posthouse.Code      `json:"code"`
		Message  string              `json:"message"`
		Problems []posthouse.Problem `json:"problems,omitempty"`
		Hint     string              `json:"hint,omitempty"`
	}{Code: posthouse.CodeOf(err), Message: err.Error(), Hint: HintFor(err)}
	if code == exitUsage {
		fault.Code = posthouse.CodeInvalid
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		fault.Message, fault.Problems = coded.Message, coded.Problems
	}
	_ = WriteJSON(sh.Err, map[string]any{"error": fault}, "") // there is nowhere left to say that it failed
}
