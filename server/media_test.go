package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// picture is a PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stored stores a file and returns its id.
func (h *house) stored(name string, body []byte) wire.StoredMedia {
	h.Helper()
	m, err := h.api.Media.Add(h.Context(), name, "", bytes.NewReader(body))
	h.must(err)
	return m
}

// FLEET-1: a file that was handed in is uploaded to the provider once for an account, and again where the provider has
// forgotten it; a file is there once for each tenant, name and content.
func TestFLEET_AFileIsSentByItsId(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.wecom()
		body := append(picture(h.T), bytes.Repeat([]byte{7}, 1_300_000)...) // more than two rows of the database
		m := h.stored("a.png", body)
		sum := sha256.Sum256(body)
		if m.Type != "image/png" || m.Size != int64(len(body)) || m.Sum != hex.EncodeToString(sum[:]) || m.ExpiresAt.Sub(m.CreatedAt) != 30*24*time.Hour {
			h.Errorf("stored is %+v", m)
		}
		if same := h.stored("a.png", body); same.ID != m.ID {
			h.Errorf("the same file is stored twice: %s and %s", m.ID, same.ID)
		}
		if other := h.stored("b.png", body); other.ID == m.ID {
			h.Error("a file of another name has the same id")
		}
		var out bytes.Buffer
		h.must(h.api.Media.Content(h.Context(), m.ID, &out))
		if !bytes.Equal(out.Bytes(), body) {
			h.Errorf("%d bytes come back, and others", out.Len())
		}
		send := func(user string) {
			h.Helper()
			sent := h.hand(posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: user}}, Content: &posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{Upload: m.ID}}}})
			id := sent.Deliveries[0].ID
			h.eventually("the picture goes to "+user, func() bool { return !h.delivery(id).State.Open() })
			if d := h.delivery(id); d.State != posthouse.Sent {
				h.Errorf("%s: %s, %s", user, d.State, d.Error)
			}
			list := h.sim.Arrivals(simulator.Filter{Provider: "wecom", User: user})
			if want := fmt.Sprintf("[image a.png, %d bytes]", len(body)); len(list) == 0 || list[len(list)-1].Text != want {
				h.Errorf("%s got %+v, want %s", user, list, want)
			}
		}
		send("u1")
		send("u2")
		h.sim.Clear() // the provider has forgotten the file before its time
		send("u3")
		if n := len(h.sim.Arrivals(simulator.Filter{Provider: "wecom", User: "u3"})); n != 1 {
			h.Errorf("%d calls reached u3, want one that was taken", n)
		}
		h.must(h.api.Media.Delete(h.Context(), m.ID))
		_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{Upload: m.ID}}}})
		if err == nil || !strings.Contains(err.Error(), "content.media[0].upload") {
			h.Errorf("a deleted file: got %v", err)
		}
		page, err := h.api.Media.List(h.Context(), client.Filter{})
		h.must(err)
		if len(page.Items) != 1 || page.Items[0].Name != "b.png" {
			h.Errorf("left are %+v, want b.png", page.Items)
		}
		if n := h.count("posthouse_media_parts"); n != 3 {
			h.Errorf("%d parts are left, want 3 of b.png", n)
		}
	})
}

// What cannot be sent as a type, or is none of what it says, is refused with its field and bound, and nothing is stored.
func TestFLEET_FilesThatCannotBeSentAreRefused(t *testing.T) {
	h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.MaxMedia, o.MaxTenantMedia = 12<<20, 16<<20 })
	h.wecom()
	h.put(posthouse.Channel{Name: "robot", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k"}})
	text := h.stored("a.txt", []byte("no picture at all"))
	large := h.stored("a.png", append(picture(t), make([]byte, 11<<20)...))
	for name, c := range map[string]struct {
		channel string
		kind    posthouse.ContentType
		upload  string
		want    string
	}{
		"a text as a picture":   {"wecom", posthouse.ImageContent, text.ID, "content.media[0].upload: names a file that is text/plain: WeCom takes JPG and PNG"},
		"a large picture":       {"wecom", posthouse.ImageContent, large.ID, "more than the 10485760 bytes"},
		"a picture for a robot": {"robot", posthouse.ImageContent, large.ID, "more than the 2097152 bytes"},
		"a text as a voice":     {"wecom", posthouse.VoiceContent, text.ID, "a content of type voice wants audio"},
		"no such file":          {"wecom", posthouse.FileContent, "nothing", "there is no such file"},
	} {
		_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: c.channel, To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Type: c.kind, Media: []posthouse.Media{{Upload: c.upload}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		file, kind string
		body       []byte
		want       string
	}{
		"too large":              {"x.bin", "", make([]byte, 13<<20), "larger than the 12582912 bytes"},
		"no room":                {"x.bin", "", make([]byte, 6<<20), "there is no room"},
		"empty":                  {"x.bin", "", nil, "file: is empty"},
		"another type":           {"x.png", "image/png", []byte("hello"), "type: is image/png, and the file is text/plain"},
		"a sound that is a page": {"x.mp3", "audio/mpeg", []byte("<html></html>"), "type: is audio/mpeg, and the file is text/html"},
		"a name that is none":    {"a\x01.png", "", []byte("hello"), "name"},
	} {
		_, err := h.api.Media.Add(t.Context(), c.file, c.kind, bytes.NewReader(c.body))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if n := h.count("posthouse_media"); n != 2 {
		t.Errorf("%d files are stored, want 2", n)
	}
}

// A file comes as a form too, or by URL, within what the server may fetch.
func TestFLEET_FilesComeInOtherWays(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	h.must(w.WriteField("note", "x"))
	part, err := w.CreateFormFile("file", "../报告.pdf")
	h.must(err)
	_, err = part.Write([]byte("%PDF-1.7 hello"))
	h.must(err)
	h.must(w.Close())
	status, answer := h.call(http.MethodPost, "/v1/media", w.FormDataContentType(), form.String())
	if status != 201 || answer["name"] != "报告.pdf" || answer["type"] != "application/pdf" {
		t.Errorf("a form: %d %v", status, answer)
	}
	if status, answer := h.call(http.MethodPost, "/v1/media", w.FormDataContentType(), "--"+w.Boundary()+"--\r\n"); status != 422 {
		t.Errorf("a form without a file: %d %v", status, answer)
	}
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.png":
			w.Header().Set("Content-Type", "image/png")
			w.Write(picture(t))
		case "/elsewhere":
			http.Redirect(w, r, "/a.png", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer files.Close()
	m, err := h.api.Media.Fetch(t.Context(), wire.FetchMedia{URL: files.URL + "/a.png"})
	if err != nil || m.Name != "a.png" || m.Type != "image/png" {
		t.Errorf("by URL: %+v, %v", m, err)
	}
	guarded := open(t, dbtest.SQLite(t), func(o *server.Options) {
		o.AllowPrivate, o.AllowNetworks = false, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} // of providers
	})
	for name, c := range map[string]struct {
		h         *house
		url, want string
	}{
		"a file that is gone": {h, files.URL + "/gone", "url: gives no file"},
		"a redirect":          {h, files.URL + "/elsewhere", "url: gives no file"},
		"no URL":              {h, "ftp://x/a", "url: is no URL"},
		"an inner address":    {guarded, files.URL + "/a.png", "url: leads to an address that is not allowed"},
	} {
		if _, err := c.h.api.Media.Fetch(t.Context(), wire.FetchMedia{URL: c.url}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A file whose time is over is gone, but not while a message that is still to be sent names it.
func TestFLEET_FilesAreKeptForTheirMessages(t *testing.T) {
	h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.KeepMedia = time.Hour })
	h.wecom()
	m, free := h.stored("a.txt", []byte("hello, all")), h.stored("b.txt", []byte("nobody names me"))
	later := time.Now().Add(30 * 24 * time.Hour)
	_, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "wecom", To: []posthouse.Recipient{{User: "u"}}, NotBefore: later, Content: &posthouse.Content{Type: posthouse.FileContent, Media: []posthouse.Media{{Upload: m.ID}}}})
	h.must(err)
	held, err := h.api.Media.Get(t.Context(), m.ID)
	h.must(err)
	if held.ExpiresAt.Before(later.Add(24 * time.Hour)) {
		t.Errorf("it is kept until %s, and sent at %s", held.ExpiresAt, later)
	}
	_, err = h.db.ExecContext(t.Context(), "UPDATE posthouse_media SET expires_at = 1 WHERE id = '"+free.ID+"'")
	h.must(err)
	if _, err := h.api.Media.Get(t.Context(), free.ID); err == nil {
		t.Error("a file whose time is over is still there")
	}
}
