package inbound

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// File is something attached to a message.
type File struct {
	Name, Type string
	Body       []byte
	// Upload names a file that was kept before at the same front ([Request.Keep]), whose Name, Type and Body are not given.
	Upload string

	size int64 // of an upload
}

// Files keeps what is to be sent beside texts.
type Files interface {
	Add(ctx context.Context, tenant, name, kind string, from io.Reader) (stored work.Media, created bool, err error)
	Get(ctx context.Context, tenant, id string) (work.Media, error)
}

// errNotKept is a file that cannot be kept now.
var errNotKept = errors.New("the file cannot be kept now")

// Keep keeps a file that a later call names, and returns its name: the id, and what shows that it was kept here, since whoever knows the token
// of a front may send what came by it, and no other file of the tenant. An error that is not the caller's has the call answered as unavailable.
func (r *Request) Keep(f File) (id string, err error) {
	if r.keep == nil {
		return "", errors.New("no files are kept here")
	}
	r.Kept, err = r.keep(f)
	return r.Kept, err
}

// keepFor is Request.Keep for the calls of a request's front.
func (d *Desk) keepFor(in *Request) func(File) (string, error) {
	if d.o.Files == nil {
		return nil
	}
	return func(f File) (string, error) {
		stored, err := d.store(in, &f)
		switch {
		case err == nil:
			in.Note("a file was uploaded: " + Cut(OneLine(f.Name), 100))
			return stored.ID + "." + shows(in, stored.ID), nil
		case refusedFile(err):
			return "", errors.New(Cut(err.Error(), 300))
		}
		d.o.Log.Warn("a file that came at a front cannot be kept", "front", in.Front.Name, "error", err)
		return "", errNotKept
	}
}

// shows is what shows that a file was kept at the front of a request.
func shows(in *Request, id string) string {
	return HashToken(in.Front.Tenant + "/" + in.Front.Name + "/" + in.Token + "/" + id)[:32]
}

// upload is the id of a file that was kept at the front of a request, by its name.
func upload(in *Request, name string) (id string, err error) {
	id, shown, _ := strings.Cut(name, ".")
	if subtle.ConstantTimeCompare([]byte(shown), []byte(shows(in, id))) != 1 {
		return "", posthouse.Errorf(posthouse.CodeNotFound, "no file of this name was uploaded at the front")
	}
	return id, nil
}

// store keeps a file, as what it is where that is another type than its sender says.
func (d *Desk) store(in *Request, f *File) (work.Media, error) {
	stored, _, err := d.o.Files.Add(in.Context(), in.Front.Tenant, fileName(f.Name), f.Type, bytes.NewReader(f.Body))
	if err != nil && posthouse.CodeOf(err) == posthouse.CodeInvalid {
		stored, _, err = d.o.Files.Add(in.Context(), in.Front.Tenant, fileName(f.Name), "", bytes.NewReader(f.Body))
	}
	return stored, err
}

// refusedFile reports whether a file was not kept for what it is.
func refusedFile(err error) bool {
	return slices.Contains([]posthouse.Code{posthouse.CodeInvalid, posthouse.CodeTooLarge, posthouse.CodeQuota, posthouse.CodeNotFound}, posthouse.CodeOf(err))
}

// maxFiles bounds the files of one message that are sent, and maxNamed those that are named as left out.
const (
	maxFiles = 20
	maxNamed = 20
)

// attach makes messages of the files of a message that its channel sends, and names the others in its text. Of a message that follows a route
// that is all of them: a file is nothing to acknowledge. An error says that they cannot be kept now.
func (d *Desk) attach(form *Form, in *Request, m *Message) (beside []posthouse.Draft, err error) {
	if len(m.Files) == 0 {
		return nil, nil
	}
	var left []string
	for i := range m.Files {
		f := &m.Files[i]
		out := blank(form, in, m)
		out.Digest = "" // it gathers texts
		why := fmt.Sprintf("there are more than %d files", maxFiles)
		if out.Route != "" {
			why = "a route tells a text"
		} else if len(beside) < maxFiles {
			if out.Content, why, err = d.carry(in, out.Channel, m, f); err != nil {
				return nil, err
			}
		}
		if why != "" {
			left = append(left, fmt.Sprintf("%s (%s)", Cut(OneLine(f.Name), 100), bytesOf(max(len(f.Body), int(f.size)))))
			in.Note(fmt.Sprintf("the file %s is left out: %s", Cut(OneLine(f.Name), 100), why))
			continue
		}
		if out.DedupKey != "" {
			out.DedupKey += fmt.Sprint(".", i+1)
		}
		beside = append(beside, out)
	}
	nameLeft(in, m, left, blank(form, in, m).Route != "")
	return beside, nil
}

// carry is the content that has a file, or why a channel does not send it.
func (d *Desk) carry(in *Request, channel string, m *Message, f *File) (c *posthouse.Content, why string, err error) {
	tenant := in.Front.Tenant
	if d.o.Files == nil {
		return nil, "no files are kept here", nil
	}
	var stored work.Media
	var kind posthouse.ContentType
	if f.Upload != "" {
		var id string
		if id, err = upload(in, f.Upload); err == nil {
			stored, err = d.o.Files.Get(in.Context(), tenant, id)
		}
		f.Name, f.size = cmp.Or(stored.Name, "file"), stored.Size
	} else if kind, why = d.carried(tenant, channel, m, f, posthouse.Media{Upload: "x"}); kind == "" {
		return nil, why, nil
	} else {
		stored, err = d.store(in, f)
	}
	switch {
	case err == nil:
	case refusedFile(err):
		return nil, Cut(err.Error(), 300), nil
	default:
		return nil, "", err
	}
	at := posthouse.Media{Upload: stored.ID, Size: stored.Size, Type: stored.Type}
	if kind, why = d.carried(tenant, channel, m, f, at); kind == "" {
		return nil, why, nil
	}
	return content(kind, m, f, posthouse.Media{Upload: stored.ID}), "", nil
}

// carried is as what a channel sends a file: as what it is, or else as any file. It is empty where it sends neither.
func (d *Desk) carried(tenant, channel string, m *Message, f *File, at posthouse.Media) (kind posthouse.ContentType, why string) {
	kinds := []posthouse.ContentType{posthouse.FileContent}
	major, _, _ := strings.Cut(cmp.Or(at.Type, f.Type), "/")
	if is := map[string]posthouse.ContentType{"image": posthouse.ImageContent, "audio": posthouse.VoiceContent, "video": posthouse.VideoContent}[major]; is != "" {
		kinds = []posthouse.ContentType{is, posthouse.FileContent}
	}
	for _, kind := range kinds {
		problems := d.o.Refuses(tenant, channel, *content(kind, m, f, at))
		if len(problems) == 0 {
			return kind, ""
		}
		why = problems[0].Path + " " + problems[0].Message
	}
	return "", why
}

func content(kind posthouse.ContentType, m *Message, f *File, at posthouse.Media) *posthouse.Content {
	return &posthouse.Content{Type: kind, Title: Cut(OneLine(m.Title+": "+f.Name), 250), Media: []posthouse.Media{at}}
}

// fileName is a name under which a file can be kept.
func fileName(name string) string {
	return Cut(strings.ReplaceAll(OneLine(name), `"`, ""), 200)
}

// nameLeft names in the text of a message what is left out of it.
func nameLeft(in *Request, m *Message, left []string, routed bool) {
	if len(left) == 0 {
		return
	}
	if m.Payload == nil {
		m.Payload = map[string]any{}
	}
	m.Payload["left_out"] = strings.Join(left, ", ")
	if n := len(left) - maxNamed; n > 0 {
		left = append(left[:maxNamed:maxNamed], fmt.Sprintf("+%d", n))
	}
	line := "Left out, since the channel does not send it: " + strings.Join(left, ", ")
	switch {
	case routed && in.Chinese():
		line = "路由只发正文，附件未转发：" + strings.Join(left, "、")
	case routed:
		line = "Left out, since a route tells a text: " + strings.Join(left, ", ")
	case in.Chinese():
		line = "该渠道发不了，附件未转发：" + strings.Join(left, "、")
	}
	m.Tail += "\n\n" + line
}

// bytesOf is a size in words.
func bytesOf(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
