package media

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Store keeps files.
type Store interface {
	reads
	writes
}

type reads interface {
	Media(ctx context.Context, now time.Time, tenant, id string) (work.Media, error)
	MediaBody(ctx context.Context, now time.Time, tenant, id string) (work.Media, []byte, error)
	MediaList(ctx context.Context, now time.Time, tenant, cursor string, limit int) (list []work.Media, next string, err error)
}

type writes interface {
	PutMedia(ctx context.Context, now time.Time, m work.Media, body []byte, keep time.Duration, most int64) (stored work.Media, created bool, err error)
	KeepMedia(ctx context.Context, now time.Time, tenant, id string, until time.Time) error
	DeleteMedia(ctx context.Context, now time.Time, tenant, id string) error
	PruneMedia(ctx context.Context, now time.Time, most int) (int, error)
}

// Options makes a Library. Store is required.
type Options struct {
	Store Store
	// Network decides from where files may be fetched. The zero value allows public addresses only.
	Network channel.Network
	// MaxFile bounds one file, in bytes. Defaults to 20 MiB.
	MaxFile int64
	// MaxTenant bounds the files of one tenant, in bytes. Defaults to 1 GiB; negative bounds nothing.
	MaxTenant int64
	// Keep is how long a file is kept. Defaults to 30 days.
	Keep time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Library has the files of all tenants.
type Library struct {
	o      Options
	client *channel.Client
	slots  chan struct{} // of files that are in memory
}

// atOnce is how many files are taken at once: each is in memory whole.
const atOnce = 8

// sentAfter is how long a file that a message names is kept beyond the moment from which it is sent.
const sentAfter = 7 * 24 * time.Hour

// New makes a library.
func New(o Options) (*Library, error) {
	if o.Store == nil {
		return nil, errors.New("media: Store is required")
	}
	o.MaxFile, o.MaxTenant = cmp.Or(o.MaxFile, 20<<20), cmp.Or(o.MaxTenant, 1<<30)
	o.Keep, o.Log = cmp.Or(o.Keep, 30*24*time.Hour), cmp.Or(o.Log, slog.Default())
	client := channel.NewClient(channel.Env{Network: o.Network}, channel.ClientOptions{MaxBody: o.MaxFile + 1, Timeout: time.Minute})
	return &Library{o: o, client: client, slots: make(chan struct{}, atOnce)}, nil
}

// Close closes the connections that are idle.
func (l *Library) Close() error { return l.client.Close() }

// enter waits for a place in memory.
func (l *Library) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Add stores a file, or answers the one of the same name and bytes that is there.
func (l *Library) Add(ctx context.Context, tenant, name, kind string, from io.Reader) (stored work.Media, created bool, err error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return stored, false, err
	}
	defer leave()
	body, err := io.ReadAll(io.LimitReader(from, l.o.MaxFile+1))
	if err != nil {
		return stored, false, posthouse.Errorf(posthouse.CodeInvalid, "the file could not be read to its end: %w", err)
	}
	return l.put(ctx, tenant, name, kind, body)
}

func (l *Library) put(ctx context.Context, tenant, name, kind string, body []byte) (stored work.Media, created bool, err error) {
	switch n := int64(len(body)); {
	case n > l.o.MaxFile:
		return stored, false, posthouse.Errorf(posthouse.CodeTooLarge, "the file is larger than the %d bytes that are allowed", l.o.MaxFile)
	case n == 0:
		return stored, false, wrong("file", "is empty")
	}
	m := work.Media{ID: posthouse.NewID(), Tenant: tenant, Size: int64(len(body))}
	if m.Name, err = NameOf(name); err != nil {
		return stored, false, err
	}
	if m.Type, err = TypeOf(kind, body); err != nil {
		return stored, false, err
	}
	sum := sha256.Sum256(body)
	m.Sum = hex.EncodeToString(sum[:])
	return l.o.Store.PutMedia(ctx, time.Now(), m, body, l.o.Keep, max(l.o.MaxTenant, 0))
}

// Fetch stores the file that is at a URL. It is fetched once, without redirects, from where the network allows.
func (l *Library) Fetch(ctx context.Context, tenant, name, from string) (stored work.Media, created bool, err error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return stored, false, wrong("url", "is no URL of http or https with a host, without a password")
	}
	leave, err := l.enter(ctx)
	if err != nil {
		return stored, false, err
	}
	defer leave()
	reply := l.client.Do(ctx, channel.Request{Method: http.MethodGet, URL: u})
	switch {
	case reply.Code == channel.CodeBlocked:
		return stored, false, wrong("url", "leads to an address that is not allowed")
	case reply.Cut:
		return stored, false, posthouse.Errorf(posthouse.CodeTooLarge, "the file at the url is larger than the %d bytes that are allowed", l.o.MaxFile)
	case !reply.OK():
		return stored, false, wrong("url", "gives no file: %s", reply.Result(channel.Verdict{Class: posthouse.ClassTransient, Code: "NO_FILE"}).Error)
	}
	return l.put(ctx, tenant, cmp.Or(name, u.Path), reply.Header.Get("Content-Type"), reply.Body)
}

// List lists the files of a tenant, the newest first.
func (l *Library) List(ctx context.Context, tenant, cursor string, limit int) ([]work.Media, string, error) {
	return l.o.Store.MediaList(ctx, time.Now(), tenant, cursor, limit)
}

// Get is what is known of a file.
func (l *Library) Get(ctx context.Context, tenant, id string) (work.Media, error) {
	return l.o.Store.Media(ctx, time.Now(), tenant, id)
}

// Body reads a file.
func (l *Library) Body(ctx context.Context, tenant, id string) (work.Media, []byte, error) {
	return l.o.Store.MediaBody(ctx, time.Now(), tenant, id)
}

// Delete deletes a file. What still names it is not sent.
func (l *Library) Delete(ctx context.Context, tenant, id string) error {
	return l.o.Store.DeleteMedia(ctx, time.Now(), tenant, id)
}

// Held is a file that a message names, which is sent from a time on: it is kept until then and a while longer.
func (l *Library) Held(ctx context.Context, tenant, id string, from time.Time) (work.Media, error) {
	m, err := l.Get(ctx, tenant, id)
	if until := from.Add(sentAfter); err == nil && until.After(m.ExpiresAt) {
		err = l.o.Store.KeepMedia(ctx, time.Now(), tenant, id, until)
	}
	return m, err
}

// Of is the library for the drivers of a tenant.
func (l *Library) Of(tenant string) channel.Files { return files{l, tenant} }

type files struct {
	*Library
	tenant string
}

// File is channel.Files'.
func (f files) File(ctx context.Context, id string) (channel.File, error) {
	leave, err := f.enter(ctx)
	if err != nil {
		return channel.File{}, err
	}
	defer leave()
	m, body, err := f.Body(ctx, f.tenant, id)
	return channel.File{Name: m.Name, Type: m.Type, Body: body}, err
}

// The pruner's pace.
const (
	pruneEvery = 10 * time.Minute
	pruneMost  = 100
)

// Run deletes files whose time is over, until ctx ends.
func (l *Library) Run(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		for n := pruneMost; n == pruneMost && ctx.Err() == nil; {
			var err error
			if n, err = l.o.Store.PruneMedia(ctx, time.Now(), pruneMost); err != nil && ctx.Err() == nil {
				l.o.Log.Warn("files whose time is over cannot be deleted now", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
