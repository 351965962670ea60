package feishu

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/files"
)

// keptFor is how long the key of an upload is used. Feishu names no end of one.
const keptFor = 30 * 24 * time.Hour

// mediaRules are what Feishu takes: open.feishu.cn, "Upload image" and "Upload file".
func mediaRules() files.Rules {
	return files.Rules{
		Provider: "Feishu", Least: 1, Kinds: "JPG, PNG, WEBP, GIF and BMP",
		Images: []string{"image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp"},
		Most:   map[posthouse.ContentType]int{posthouse.ImageContent: 10 << 20, posthouse.FileContent: 30 << 20},
	}
}

// upload hands a file to Feishu. It reaches no recipient by itself.
func (d *driver) upload(ctx context.Context, kind posthouse.ContentType, file *files.File) (key string, lasts time.Duration, err error) {
	to, part, fields := d.images, "image", [][2]string{{"image_type", "message"}}
	if kind == posthouse.FileContent {
		to, part, fields = d.files, "file", [][2]string{{"file_type", "stream"}, {"file_name", file.Name}}
	}
	form, body, err := file.Form(part, fields...)
	if err != nil {
		return "", 0, err
	}
	var uploaded error
	err = d.call(ctx, to, http.Header{"Content-Type": {form}}, body, func(reply *channel.Reply) string {
		said, v := d.verdict(reply)
		key, lasts, uploaded = files.Uploaded(reply, v, said.Data.Image+said.Data.File, keptFor)
		return said.code()
	})
	if err != nil {
		return "", 0, err
	}
	return key, lasts, uploaded
}

// forgotten are the codes of a key that Feishu does not know.
func forgotten(code string) bool { return code == "230055" || code == "234007" }

// uploads are the places of files and of pictures.
type uploads struct{ images, files *url.URL }
