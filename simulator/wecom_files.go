package simulator

import (
	"crypto/md5" //nolint:gosec // WeCom's own check
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// The most bytes of an upload, and how many files are remembered.
const (
	wecomUpload = 20 << 20
	maxFiles    = 10_000
)

// files are what was uploaded to WeCom, by the media id.
type files struct {
	mu    sync.Mutex
	given int
	byID  recent[string, stored]
}

type stored struct {
	kind, name string
	size       int
}

func (f *files) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID = newRecent[string, stored](maxFiles)
}

// take answers an upload.
func (f *files) take(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Query().Get("type")
	switch kind {
	case "image", "voice", "video", "file":
	default:
		errorLine("40004", "invalid media type").send(w, http.StatusOK)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, wecomUpload+(1<<20))
	part, head, err := r.FormFile("media")
	if err != nil {
		errorLine("41005", "media data missing").send(w, http.StatusOK)
		return
	}
	defer part.Close()
	size, err := io.Copy(io.Discard, part)
	switch {
	case err != nil:
		errorLine("41005", "media data missing").send(w, http.StatusOK)
		return
	case size > wecomUpload || kind == "image" && size > 10<<20 || kind == "voice" && size > 2<<20:
		errorLine("45001", "media size out of limit").send(w, http.StatusOK)
		return
	}
	f.mu.Lock()
	f.given++
	id := fmt.Sprintf("media-%d", f.given)
	f.byID.put(id, stored{kind, head.Filename, int(size)})
	f.mu.Unlock()
	inJSON(fmt.Sprintf(`{"errcode":0,"errmsg":"ok","type":%q,"media_id":%q,"created_at":"0"}`, kind, id)).send(w, http.StatusOK)
}

// words stand for a file: its name and size. A picture of a robot comes with its bytes.
func (f *files) words(kind string, file wecomFile) (title, text string, ref *refusal) {
	if file.Bytes != "" {
		body, err := base64.StdEncoding.DecodeString(file.Bytes)
		sum := md5.Sum(body) //nolint:gosec // as above
		if err != nil || hex.EncodeToString(sum[:]) != file.Sum {
			return "", "", strange("301019", "file md5 not match")
		}
		return file.Title, fmt.Sprintf("[%s %d bytes]", kind, len(body)), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.byID.byKey[file.ID]
	if !ok || known.kind != kind {
		return "", "", strange("40007", "invalid media_id")
	}
	return file.Title, fmt.Sprintf("[%s %s, %d bytes]", kind, known.name, known.size), nil
}
