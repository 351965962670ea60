// Package files has the files of messages ready for a provider: fetched by URL or read from what was handed in, checked, and uploaded once
// by all processes of an account for as long as the provider keeps them.
package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// CodeMedia is our own code of a delivery whose file cannot be had, or that its provider would refuse.
const CodeMedia = "BAD_MEDIA"

// Rules are what a provider takes.
type Rules struct {
	// Provider is what it is called in errors.
	Provider string
	// Least and Most are the bytes of a file; Most by its type.
	Least int
	Most  map[posthouse.ContentType]int
	// Images are the media types of pictures, and Kinds what they are called.
	Images []string
	Kinds  string
}

// most is the most bytes of a file of any type.
func (r *Rules) most() (n int) {
	for _, m := range r.Most {
		n = max(n, m)
	}
	return n
}

// File is one that is had.
type File struct {
	Name string
	Body []byte
}

// keyOf stands for a file as a type, at an account: by its bytes, or by the id of an upload, whose bytes never change. It is
// short whatever the account is called: it is a key of a table.
func keyOf(account string, kind posthouse.ContentType, what []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", account, kind)
	sum.Write(what)
	return "media/" + hex.EncodeToString(sum.Sum(nil))
}

// Error is a file that could not be had. The result is of the delivery, of which nothing was sent.
type Error struct{ Result channel.Result }

// Error says why.
func (e *Error) Error() string { return e.Result.Error }

// Bad is the error of a file, or of a content, that no other try would make better.
func Bad(format string, args ...any) error {
	return &Error{channel.Result{Class: posthouse.ClassContent, Code: CodeMedia, Error: fmt.Sprintf(format, args...)}}
}

// fetcher fetches the files that contents name by URL.
type fetcher struct {
	client *channel.Client
	rules  Rules
}

func newFetcher(env channel.Env, rules Rules) fetcher {
	env.KeepAnswers = false // they are files
	return fetcher{channel.NewClient(env, channel.ClientOptions{MaxBody: int64(rules.most()) + 1}), rules}
}

// fetch gets a file of a type, within its bound.
func (f fetcher) fetch(ctx context.Context, from string, kind posthouse.ContentType, most int) (*File, error) {
	u, err := url.Parse(from)
	if err != nil {
		return nil, Bad("content.media[0].url is no URL")
	}
	reply := f.client.Do(ctx, channel.Request{Method: http.MethodGet, URL: u})
	switch {
	case reply.Code == channel.CodeBlocked:
		return nil, Bad("content.media[0].url: the file may not be fetched: %s", reply.Result(channel.Verdict{}).Error)
	case !reply.OK():
		return nil, f.unfetched(&reply)
	case reply.Cut:
		return nil, Bad("content.media[0].url: the file has more than the %d bytes that %s takes of type %s", most, f.rules.Provider, kind)
	}
	if wrong := f.rules.misfit(kind, http.DetectContentType(reply.Body), int64(len(reply.Body)), most); wrong != "" {
		return nil, Bad("content.media[0].url: the file %s", wrong)
	}
	return &File{Name: nameOf(u), Body: reply.Body}, nil
}

// misfit says why the provider would refuse a file as a type, or nothing.
func (r *Rules) misfit(kind posthouse.ContentType, is string, size int64, most int) string {
	switch {
	case size > int64(most):
		return fmt.Sprintf("has %d bytes, more than the %d bytes that %s takes of type %s", size, most, r.Provider, kind)
	case size < int64(r.Least):
		return fmt.Sprintf("has %d bytes: %s takes %d or more", size, r.Provider, r.Least)
	case kind == posthouse.ImageContent && !slices.Contains(r.Images, is):
		return fmt.Sprintf("is %s: %s takes %s", is, r.Provider, r.Kinds)
	}
	return ""
}

// Check says why the provider would refuse the upload that a content names: what it is was filled in when the message came.
func (r *Rules) Check(c posthouse.Content, kind posthouse.ContentType, most int) []posthouse.Problem {
	if !kind.HasMedia() || len(c.Media) == 0 || c.Media[0].Upload == "" || c.Media[0].Size == 0 {
		return nil
	}
	m := c.Media[0]
	major, _, _ := strings.Cut(m.Type, "/")
	wrong := r.misfit(kind, m.Type, m.Size, most)
	if want, is := map[posthouse.ContentType]string{posthouse.VoiceContent: "audio", posthouse.VideoContent: "video"}[kind]; wrong == "" && is && want != major {
		wrong = fmt.Sprintf("is %s: a content of type %s wants %s", m.Type, kind, want)
	}
	if wrong == "" {
		return nil
	}
	return []posthouse.Problem{{Path: "content.media[0].upload", Message: "names a file that " + wrong}}
}

// unfetched is the result where a file could not be fetched: that it is gone is the content's fault, and a server that
// fails may be asked again, since nothing was sent to anybody.
func (f fetcher) unfetched(reply *channel.Reply) error {
	result := reply.Result(channel.Verdict{Class: posthouse.ClassTransient, Code: CodeMedia})
	result.Error = "the file could not be fetched: " + result.Error
	switch reply.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized:
		result.Class = posthouse.ClassContent
	}
	return &Error{result}
}

// nameOf is the name under which a file is uploaded.
func nameOf(u *url.URL) string {
	name := path.Base(u.Path)
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r == '/' || r == 0x7f {
			return -1
		}
		return r
	}, name)
	if name == "" || name == "." {
		return "file"
	}
	return name
}

// Form is a form with a file as one of its parts, and with other fields before it.
func (f *File) Form(part string, fields ...[2]string) (kind string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, field := range fields {
		if err := w.WriteField(field[0], field[1]); err != nil {
			return "", nil, err
		}
	}
	into, err := w.CreateFormFile(part, f.Name)
	if err != nil {
		return "", nil, err
	}
	if _, err := into.Write(f.Body); err != nil {
		return "", nil, err
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return w.FormDataContentType(), b.Bytes(), nil
}

// uploads knows the provider's ids of files by their URL, for a few minutes, so that a message to many is fetched once.
type uploads struct {
	mu   sync.Mutex
	byID map[string]uploaded
}

type uploaded struct {
	id    string
	until time.Time
}

// The bounds of what uploads knows.
const (
	knownFor  = 5 * time.Minute
	mostKnown = 1000
)

func (u *uploads) find(key string, now time.Time) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known := u.byID[key]; now.Before(known.until) {
		return known.id
	}
	return ""
}

func (u *uploads) keep(key, id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byID == nil || len(u.byID) >= mostKnown {
		u.byID = map[string]uploaded{}
	}
	u.byID[key] = uploaded{id, now.Add(knownFor)}
}

// Library has the provider's ids of files: each is uploaded once by all processes of an account, as long as the provider keeps it.
type Library struct {
	fetcher fetcher
	files   channel.Files
	tokens  channel.Tokens
	name    string // of the account
	upload  func(ctx context.Context, kind posthouse.ContentType, file *File) (id string, lasts time.Duration, err error)
	uploads uploads
}

// New is the library of an account that a name stands for. upload uploads a file, and says for how long the provider keeps it.
func New(env channel.Env, name string, rules Rules, upload func(context.Context, posthouse.ContentType, *File) (string, time.Duration, error)) *Library {
	if env.Tokens == nil {
		env.Tokens = new(channel.MemoryTokens)
	}
	return &Library{fetcher: newFetcher(env, rules), files: env.Files, tokens: env.Tokens, name: name, upload: upload}
}

// ID is the provider's id of a file: as given, or of an upload that it still keeps, or of one now. One that it has refused
// is stale: it is not returned again. The error is a *Error, or one of the access.
func (l *Library) ID(ctx context.Context, kind posthouse.ContentType, m posthouse.Media, stale string) (string, error) {
	if m.ID != "" {
		return m.ID, nil
	}
	known := string(kind) + " " + m.URL + " " + m.Upload
	if id := l.uploads.find(known, time.Now()); id != "" && id != stale {
		return id, nil
	}
	var of *File
	key := keyOf(l.name, kind, []byte("upload "+m.Upload))
	if m.Upload == "" {
		var err error
		if of, err = l.File(ctx, kind, m, l.fetcher.rules.Most[kind]); err != nil {
			return "", err
		}
		key = keyOf(l.name, kind, of.Body)
	}
	id, err := l.tokens.Token(ctx, key, stale, func(ctx context.Context) (_ string, _ time.Duration, err error) {
		if of == nil { // only now are its bytes needed
			if of, err = l.File(ctx, kind, m, l.fetcher.rules.Most[kind]); err != nil {
				return "", 0, err
			}
		}
		return l.upload(ctx, kind, of)
	})
	if err == nil {
		l.uploads.keep(known, id, time.Now())
	}
	return id, err
}

// File is the file that a content names, within a bound, by URL or by upload.
func (l *Library) File(ctx context.Context, kind posthouse.ContentType, m posthouse.Media, most int) (*File, error) {
	if m.Upload == "" {
		return l.fetcher.fetch(ctx, m.URL, kind, most)
	}
	if l.files == nil {
		return nil, Bad("content.media[0].upload: there are no files here")
	}
	f, err := l.files.File(ctx, m.Upload)
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound:
		return nil, Bad("content.media[0].upload: %v", err)
	case err != nil:
		return nil, &Error{channel.Result{Class: posthouse.ClassTransient, Code: CodeMedia, Error: "the file could not be read: " + err.Error()}}
	}
	if wrong := l.fetcher.rules.misfit(kind, f.Type, int64(len(f.Body)), most); wrong != "" {
		return nil, Bad("content.media[0].upload: the file %s", wrong)
	}
	return &File{Name: f.Name, Body: f.Body}, nil
}

// Uploaded reads the answer to an upload: the id that it gives, and how long that lasts. An upload reaches nobody, so what may have arrived may be repeated.
func Uploaded(reply *channel.Reply, v channel.Verdict, id string, lasts time.Duration) (string, time.Duration, error) {
	if v.Class == posthouse.ClassOK && id != "" {
		return id, lasts, nil
	}
	if v.Class == posthouse.ClassOK || v.Class == posthouse.ClassUnknown {
		v.Class = posthouse.ClassTransient
	}
	result := reply.Result(v)
	result.Request, result.Error = "", "the file could not be uploaded: "+result.Error
	return "", 0, &Error{result}
}

// FailedBy is the result of a message whose file could not be had.
func FailedBy(err error, client *channel.Client) channel.Result {
	var media *Error
	if errors.As(err, &media) {
		return media.Result
	}
	return access.Without(err, client)
}

// Close closes the connections by which files are fetched.
func (l *Library) Close() error { return l.fetcher.client.Close() }
