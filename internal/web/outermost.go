package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
)

// requestID is where a request carries its id.
type requestID struct{}

// RequestIDHeader names a request, in answers and in the log.
const RequestIDHeader = "X-Request-Id"

// Outermost is what every request to a server passes first: it gets an id, its caller's where that has sent a good one, and each
// answer says it.
func Outermost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(RequestIDHeader)
		if !isRequestID(id) {
			id = posthouse.NewID()
		}
		h := w.Header()
		h[RequestIDHeader] = []string{id}
		if len(r.TransferEncoding) > 0 {
			// With a Content-Length beside it, which net/http leaves out, two servers may not agree where the body ends: nothing may follow
			// on the connection (RFC 9112, section 6.1). Nobody can tell any more whether there was one.
			h["Connection"] = []string{"close"}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestID{}, id)))
	})
}

// RequestID is the id of the request that a context is of, empty for none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestID{}).(string)
	return id
}

// isRequestID reports whether a caller's id may stand in the log.
func isRequestID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_") == ""
}
