// Package media is the resource of files that are to be sent: they come as bodies and forms of any length, and go as downloads,
// not as JSON like the things of package api.
package media

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Media keeps the files that are to be sent.
type Media interface {
	mediaReads
	mediaWrites
}

type mediaReads interface {
	List(ctx context.Context, tenant, cursor string, limit int) (list []work.Media, next string, err error)
	Get(ctx context.Context, tenant, id string) (work.Media, error)
	Body(ctx context.Context, tenant, id string) (work.Media, []byte, error)
}

type mediaWrites interface {
	Add(ctx context.Context, tenant, name, kind string, from io.Reader) (stored work.Media, created bool, err error)
	Fetch(ctx context.Context, tenant, name, from string) (stored work.Media, created bool, err error)
	Delete(ctx context.Context, tenant, id string) error
}

// media is the resource of files.
type media struct{ Media }

// maxURL bounds a URL, in bytes.
const maxURL = 2048

var fetchBody = web.BodyOf[wire.FetchMedia]()

// Routes are the addresses of files.
func Routes(of Media) []web.Route {
	const reads, sends = posthouse.ScopeRead, posthouse.ScopeSend
	m := media{of}
	return web.Tagged("media",
		web.Act("/v1/media", sends, "Store a file that is to be sent: as the body itself, or as the part file of a form. The same file of the same name is stored once.", m.add).
			Query("name").TakesFile("multipart/form-data", "application/octet-stream").Answers(http.StatusCreated, http.StatusOK).Audited(),
		web.Post("/v1/media/fetch", sends, "Store the file that is at a URL.", fetchBody, m.fetch).Answers(http.StatusCreated, http.StatusOK).Audited(),
		web.Get("/v1/media", reads, "List the files, newest first.", m.list).Paged(),
		web.Get("/v1/media/{id}", reads, "What is known of a file.", m.get),
		web.Get("/v1/media/{id}/content", reads, "The file itself.", m.content),
		web.Delete("/v1/media/{id}", sends, "Delete a file. What still names it is not sent.", m.remove).Audited(),
	)
}

// add takes a file in either form.
func (m media) add(c *web.Call) (wire.StoredMedia, error) {
	name, kind, from := c.Query.Get("name"), c.Header.Get("Content-Type"), c.File()
	c.CheckWord("query.name", name, 255)
	if err := c.Wrong(); err != nil {
		return wire.StoredMedia{}, err
	}
	major, params, err := mime.ParseMediaType(kind)
	if kind != "" && err != nil {
		return wire.StoredMedia{}, web.Faultf(http.StatusUnsupportedMediaType, posthouse.CodeInvalid, "the Content-Type is %.80q: want the file's own, or multipart/form-data", kind)
	}
	if major == "multipart/form-data" {
		part, err := filePart(multipart.NewReader(from, params["boundary"]))
		if err != nil {
			return wire.StoredMedia{}, err
		}
		if name == "" {
			name = part.FileName()
		}
		kind, from = part.Header.Get("Content-Type"), part
	}
	return m.stored(c)(m.Add(c.Context(), c.Tenant(), name, kind, from))
}

// filePart finds the part of a form that is the file.
func filePart(form *multipart.Reader) (*multipart.Part, error) {
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, posthouse.Invalid("the file cannot be stored", []posthouse.Problem{{Path: "file", Message: "is required: the form has no part of this name"}})
		}
		if err != nil {
			return nil, web.Unreadable("the form cannot be read")
		}
		if part.FormName() == "file" {
			return part, nil
		}
	}
}

func (m media) fetch(c *web.Call, in wire.FetchMedia) (wire.StoredMedia, error) {
	c.CheckWord("name", in.Name, 255)
	c.CheckWord("url", in.URL, maxURL)
	if err := c.Wrong(); err != nil {
		return wire.StoredMedia{}, err
	}
	return m.stored(c)(m.Fetch(c.Context(), c.Tenant(), in.Name, in.URL))
}

// stored answers with a file that is there now.
func (media) stored(c *web.Call) func(m work.Media, created bool, err error) (wire.StoredMedia, error) {
	return func(m work.Media, created bool, err error) (wire.StoredMedia, error) {
		if err != nil {
			return wire.StoredMedia{}, err
		}
		out := shownMedia(m)
		c.Named(m.ID)
		if c.Status = http.StatusOK; created {
			c.Status = http.StatusCreated
			c.Changed(nil, out)
		}
		return out, nil
	}
}

func shownMedia(m work.Media) wire.StoredMedia {
	return wire.StoredMedia{ID: m.ID, Name: m.Name, Type: m.Type, Size: m.Size, Sum: m.Sum, CreatedAt: m.CreatedAt, ExpiresAt: m.ExpiresAt}
}

func (m media) list(c *web.Call) (wire.Page[wire.StoredMedia], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[wire.StoredMedia]{}, err
	}
	list, next, err := m.List(c.Context(), c.Tenant(), cursor, limit)
	items := make([]wire.StoredMedia, len(list))
	for i := range list {
		items[i] = shownMedia(list[i])
	}
	return wire.Page[wire.StoredMedia]{Items: items, Next: next}, err
}

func (m media) get(c *web.Call) (wire.StoredMedia, error) {
	found, err := m.Get(c.Context(), c.Tenant(), c.PathValue("id"))
	return shownMedia(found), err
}

// content is a download: nothing of it is shown in a browser as a page of ours.
func (m media) content(c *web.Call) (web.Raw, error) {
	found, body, err := m.Body(c.Context(), c.Tenant(), c.PathValue("id"))
	if err != nil {
		return web.Raw{}, err
	}
	c.Writer.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(found.Name))
	return web.Raw{Kind: "application/octet-stream", Text: body}, nil
}

func (m media) remove(c *web.Call) error {
	if before, err := m.get(c); err == nil {
		c.Changed(before, nil)
	}
	return m.Delete(c.Context(), c.Tenant(), c.PathValue("id"))
}
