package web

import (
	"context"
	"net/http"
	"strings"
)

type originKey struct{}

// From is a context for requests within the process on behalf of somebody who sees the server at an address, as Origin says it.
func From(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// Origin is where whoever asks sees the server, such as https://post.example.com: scheme and host of the request, or of the one on whose
// behalf it is made. It is for addresses that are shown to the caller alone, who can lie about it only to itself.
func Origin(r *http.Request) string {
	if at, _ := r.Context().Value(originKey{}).(string); at != "" {
		return at
	}
	if Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Secure reports whether a caller came by TLS, to us or to a proxy. A caller that lies about it harms itself alone.
func Secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
