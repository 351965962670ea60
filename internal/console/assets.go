package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// The files of pages: htmx, Pico CSS and uPlot as their authors publish them on npm, with their licences, and our own few lines.
//
//go:embed assets pages
var files embed.FS

// asset is a file as it goes out.
type asset struct {
	kind          string
	plain, packed []byte
}

type assets map[string]asset

// readAssets reads the files and packs them, once a process.
var readAssets = sync.OnceValues(func() (assets, error) {
	list, err := fs.ReadDir(files, "assets")
	if err != nil {
		return nil, err
	}
	out := assets{}
	for _, f := range list {
		text, err := files.ReadFile("assets/" + f.Name())
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err = z.Write(text); err == nil {
			err = z.Close()
		}
		if err != nil {
			return nil, err
		}
		out[f.Name()] = asset{kindOf(f.Name()), text, packed.Bytes()}
	}
	return out, nil
})

func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return mime.TypeByExtension(".svg")
	}
	return "text/plain; charset=utf-8"
}

// serve answers with a file. Its address ends with the version of the program, so browsers keep it.
func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	file, ok := a[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "public, max-age=86400")
	body := file.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.packed
	}
	_, _ = w.Write(body) // a browser that left is no error of ours
}
