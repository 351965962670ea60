package simulator

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
)

// codeMethod is for a path that is served, but not with this method.
const codeMethod posthouse.Code = "method_not_allowed"

func statusOf(code posthouse.Code) int {
	switch code {
	case posthouse.CodeInvalid:
		return http.StatusBadRequest
	case posthouse.CodeForbidden:
		return http.StatusForbidden
	case posthouse.CodeNotFound:
		return http.StatusNotFound
	case posthouse.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case posthouse.CodeUnavailable:
		return http.StatusServiceUnavailable
	case codeMethod:
		return http.StatusMethodNotAllowed
	default:
		return http.StatusInternalServerError
	}
}

// writeValue writes JSON and returns nil, so that handlers can end with it.
func writeValue(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client left
	return nil
}

// writeError writes the problem+json of an error.
func writeError(w http.ResponseWriter, err error) {
	var e *posthouse.Error
	if !errors.As(err, &e) {
		e = posthouse.Errorf(posthouse.CodeInternal, "%w", err)
	}
	status := statusOf(e.Code)
	body, _ := json.Marshal(problem{http.StatusText(status), status, e.Code, e.Message, e.Problems}) // strings and numbers
	reply{kind: "application/problem+json", body: string(body) + "\n"}.send(w, status)
}

// problem is the one form of an error that is not a provider's.
type problem struct {
	Title    string              `json:"title"`
	Status   int                 `json:"status"`
	Code     posthouse.Code      `json:"code"`
	Detail   string              `json:"detail"`
	Problems []posthouse.Problem `json:"problems,omitempty"`
}
