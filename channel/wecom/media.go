package wecom

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
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// WeCom forgets an uploaded file after three days. A file has at least five bytes.
const (
	mediaLasts = 3 * 24 * time.Hour
	mediaLeast = 5
	mediaMost  = 20 << 20 // of any type
)

// mediaBytes are the most bytes of a file, by its type.
var mediaBytes = map[posthouse.ContentType]int{
	posthouse.ImageContent: 10 << 20, posthouse.VoiceContent: 2 << 20, posthouse.VideoContent: 10 << 20, posthouse.FileContent: mediaMost,
}

// file is one that was fetched.
type file struct {
	name string
	body []byte
}

// keyOf stands for a file as a type, at an account: by its bytes, or by the id of an upload, whose bytes never change. It is
// short whatever the account is called: it is a key of a table.
func keyOf(account string, kind posthouse.ContentType, what []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", account, kind)
	sum.Write(what)
	return "media/" + hex.EncodeToString(sum.Sum(nil))
}

// mediaError is a file that could not be had. The result is of the delivery, of which nothing was sent.
type mediaError struct{ result channel.Result }

func (e *mediaError) Error() string { return e.result.Error }

func badMedia(format string, args ...any) error {
	return &mediaError{channel.Result{Class: posthouse.ClassContent, Code: codeMedia, Error: fmt.Sprintf(format, args...)}}
}

// fetcher fetches the files that contents name by URL.
type fetcher struct{ client *channel.Client }

func newFetcher(env channel.Env) fetcher {
	env.KeepAnswers = false // they are files
	return fetcher{channel.NewClient(env, channel.ClientOptions{MaxBody: mediaMost + 1})}
}

// fetch gets a file of a type, within its bound.
func (f fetcher) fetch(ctx context.Context, from string, kind posthouse.ContentType, most int) (*file, error) {
	u, err := url.Parse(from)
	if err != nil {
		return nil, badMedia("content.media[0].url is no URL")
	}
	reply := f.client.Do(ctx, channel.Request{Method: http.MethodGet, URL: u})
	switch {
	case reply.Code == channel.CodeBlocked:
		return nil, badMedia("content.media[0].url: the file may not be fetched: %s", reply.Result(channel.Verdict{}).Error)
	case !reply.OK():
		return nil, f.unfetched(&reply)
	case reply.Cut:
		return nil, badMedia("content.media[0].url: the file has more than the %d bytes that WeCom takes of type %s", most, kind)
	}
	if wrong := misfit(kind, http.DetectContentType(reply.Body), int64(len(reply.Body)), most); wrong != "" {
		return nil, badMedia("content.media[0].url: the file %s", wrong)
	}
	return &file{name: nameOf(u), body: reply.Body}, nil
}

// misfit says why WeCom would refuse a file as a type, or nothing.
func misfit(kind posthouse.ContentType, is string, size int64, most int) string {
	switch {
	case size > int64(most):
		return fmt.Sprintf("has %d bytes, more than the %d bytes that WeCom takes of type %s", size, most, kind)
	case size < mediaLeast:
		return fmt.Sprintf("has %d bytes: WeCom takes %d or more", size, mediaLeast)
	case kind == posthouse.ImageContent && is != "image/png" && is != "image/jpeg":
		return fmt.Sprintf("is %s: WeCom takes JPG and PNG", is)
	}
	return ""
}

// checkFile says why WeCom would refuse the upload that a content names: what it is was filled in when the message came.
func checkFile(c posthouse.Content, kind posthouse.ContentType, most int) []posthouse.Problem {
	if !kind.HasMedia() || len(c.Media) == 0 || c.Media[0].Upload == "" || c.Media[0].Size == 0 {
		return nil
	}
	m := c.Media[0]
	major, _, _ := strings.Cut(m.Type, "/")
	wrong := misfit(kind, m.Type, m.Size, most)
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
	result := reply.Result(channel.Verdict{Class: posthouse.ClassTransient, Code: codeMedia})
	result.Error = "the file could not be fetched: " + result.Error
	switch reply.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized:
		result.Class = posthouse.ClassContent
	}
	return &mediaError{result}
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

// form is a file as WeCom's upload wants it.
func (f *file) form() (kind string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("media", f.name)
	if err != nil {
		return "", nil, err
	}
	if _, err := part.Write(f.body); err != nil {
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

// library has the provider's ids of files: each is uploaded once by all processes of an account, as long as WeCom keeps it.
type library struct {
	fetcher fetcher
	files   channel.Files
	tokens  channel.Tokens
	name    string // of the account
	upload  func(ctx context.Context, kind posthouse.ContentType, file *file) (id string, lasts time.Duration, err error)
	uploads uploads
}

func newLibrary(env channel.Env, name string, upload func(context.Context, posthouse.ContentType, *file) (string, time.Duration, error)) library {
	if env.Tokens == nil {
		env.Tokens = new(channel.MemoryTokens)
	}
	return library{fetcher: newFetcher(env), files: env.Files, tokens: env.Tokens, name: name, upload: upload}
}

// id is WeCom's id of a file: as given, or of an upload within the last three days, or of one now. One that WeCom has refused
// is stale: it is not returned again. The error is a *mediaError, or one of the access.
func (l *library) id(ctx context.Context, kind posthouse.ContentType, m posthouse.Media, stale string) (string, error) {
	if m.ID != "" {
		return m.ID, nil
	}
	known := string(kind) + " " + m.URL + " " + m.Upload
	if id := l.uploads.find(known, time.Now()); id != "" && id != stale {
		return id, nil
	}
	var of *file
	key := keyOf(l.name, kind, []byte("upload "+m.Upload))
	if m.Upload == "" {
		var err error
		if of, err = l.file(ctx, kind, m, mediaBytes[kind]); err != nil {
			return "", err
		}
		key = keyOf(l.name, kind, of.body)
	}
	id, err := l.tokens.Token(ctx, key, stale, func(ctx context.Context) (_ string, _ time.Duration, err error) {
		if of == nil { // only now are its bytes needed
			if of, err = l.file(ctx, kind, m, mediaBytes[kind]); err != nil {
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

// file is the file that a content names, by URL or by upload.
func (l *library) file(ctx context.Context, kind posthouse.ContentType, m posthouse.Media, most int) (*file, error) {
	if m.Upload == "" {
		return l.fetcher.fetch(ctx, m.URL, kind, most)
	}
	if l.files == nil {
		return nil, badMedia("content.media[0].upload: there are no files here")
	}
	f, err := l.files.File(ctx, m.Upload)
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound:
		return nil, badMedia("content.media[0].upload: %v", err)
	case err != nil:
		return nil, &mediaError{channel.Result{Class: posthouse.ClassTransient, Code: codeMedia, Error: "the file could not be read: " + err.Error()}}
	}
	if wrong := misfit(kind, f.Type, int64(len(f.Body)), most); wrong != "" {
		return nil, badMedia("content.media[0].upload: the file %s", wrong)
	}
	return &file{name: f.Name, body: f.Body}, nil
}

// forgotten is WeCom's code for a media id that it does not know, such as one that it has forgotten before its time.
const forgotten = "40007"

// again says whether a call was refused since WeCom has forgotten a file that is ours to upload anew.
func again(c posthouse.Content, v channel.Verdict) bool {
	return v.Code == forgotten && len(c.Media) > 0 && c.Media[0].ID == ""
}

// uploadedAs reads the answer to an upload. An upload reaches nobody, so what may have arrived may be repeated.
func uploadedAs(reply *channel.Reply, v channel.Verdict, said answer) (string, time.Duration, error) {
	if v.Class == posthouse.ClassOK && said.Media != "" {
		return said.Media, mediaLasts, nil
	}
	if v.Class == posthouse.ClassOK || v.Class == posthouse.ClassUnknown {
		v.Class = posthouse.ClassTransient
	}
	result := reply.Result(v)
	result.Request, result.Error = "", "the file could not be uploaded: "+result.Error
	return "", 0, &mediaError{result}
}

// failedBy is the result of a message whose file could not be had.
func failedBy(err error, client *channel.Client) channel.Result {
	var media *mediaError
	if errors.As(err, &media) {
		return media.result
	}
	return access.Without(err, client)
}
