package console

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// inner carries requests to the API within the process: who asks, from where and why stands in their context.
type inner struct{ api http.Handler }

type (
	addressKey struct{}
	noteKey    struct{}
	fileKey    struct{}
)

// actingFor is a context for calls of the API on behalf of a person, from where the person's browser asks and at the address by which it
// came.
func actingFor(ctx context.Context, key posthouse.Key, r *http.Request) context.Context {
	return context.WithValue(web.From(web.As(ctx, key), web.Origin(r)), addressKey{}, r.RemoteAddr)
}

// withNote is a context whose calls say why something is changed.
func withNote(ctx context.Context, note string) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// RoundTrip serves a request.
func (i inner) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr, _ = ctx.Value(addressKey{}).(string)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if note, _ := ctx.Value(noteKey{}).(string); note != "" {
		in.Header.Set(web.NoteHeader, note)
	}
	old := asOfOf(ctx)
	old.asks(in.Header)
	w := &answer{header: http.Header{}, status: http.StatusOK}
	w.file, _ = ctx.Value(fileKey{}).(io.Writer)
	i.api.ServeHTTP(w, in)
	old.answered(in.Method, w.header)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answer keeps what a handler answers.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	sent   bool
	file   io.Writer // takes what is no error, as it comes; nil for none
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.sent {
		a.status, a.sent = status, true
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.sent = true
	if a.file != nil && a.status/100 == 2 {
		return a.file.Write(b)
	}
	return a.body.Write(b)
}
