package console

import (
	"context"
	"io"
	"mime"
	"net/http"
	"time"
)

// download is a file that goes out as it is read. Before its first byte, what goes wrong is a page.
type download struct {
	v       *visit
	name    string
	started bool
}

// downloadOf begins a CSV with a name.
func downloadOf(v *visit, name string) *download { return &download{v: v, name: name} }

// ctx is for a call of the API whose answer is the file: it goes out as it comes, and is never held in memory.
func (d *download) ctx() context.Context {
	return context.WithValue(d.v.ctx(), fileKey{}, io.Writer(d))
}

// untilSaved is how long a browser may take between two pieces of a file.
const untilSaved = time.Minute

// Write sends a piece.
func (d *download) Write(p []byte) (int, error) {
	if !d.started {
		d.started = true
		h := d.v.w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.name}))
		d.v.w.WriteHeader(http.StatusOK)
		_, _ = d.v.w.Write([]byte("\ufeff")) // else Excel reads it in the encoding of the machine
	}
	_ = http.NewResponseController(d.v.w).SetWriteDeadline(time.Now().Add(untilSaved)) // what has none keeps the server's
	return d.v.w.Write(p)
}

// end finishes the file. One that breaks off is broken off for the browser too, so that nobody takes a part for all.
func (d *download) end(err error) error {
	if err != nil && d.started {
		d.v.o.Log.Warn("a file of the console broke off", "file", d.name, "error", err)
		panic(http.ErrAbortHandler)
	}
	if err == nil && !d.started {
		_, err = d.Write(nil)
	}
	return err
}
