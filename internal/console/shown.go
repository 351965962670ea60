package console

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// A page that answers a form is kept, and the browser led to it: whoever goes back to it, or loads it again, sends nothing a second time.
// What is kept is sealed by what only the browser has, its session and the address that it is led to.

const (
	// clickShown is where pages that answer forms are kept.
	clickShown = "console.shown"
	// shownParam is the value of an address that names such a page.
	shownParam = "shown"
	// maxShownPage bounds a page that is kept, in bytes before it is made small. A longer one answers its form itself.
	maxShownPage = 4 << 20
)

// answerPage is a page that answered a form.
type answerPage struct {
	Status   int    `json:"status"`
	Language string `json:"language"`
	Page     string `json:"page"`
}

// fleeting is what a page shows that may be secret, so that nothing keeps it.
type fleeting interface{ Fleeting() bool }

// leadsTo keeps the page that answers a form, and leads the browser to it; false says that it has to be the answer itself: its form does
// not say on which page it stands, or it cannot be kept now.
func (v *visit) leadsTo(status int, page []byte, data any) bool {
	secret, some := data.(fleeting)
	switch {
	case v.r.Method != http.MethodPost, v.person.Name == "", some && secret.Fleeting():
		return false
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests, len(page) > maxShownPage:
		return false
	}
	to, err := url.Parse(v.here())
	if err != nil || v.here() == "" || backTo(v.here()) != v.here() || v.tenant != "" && !strings.HasPrefix(to.EscapedPath(), v.at()) {
		return false
	}
	id := posthouse.NewID()
	sealed, err := v.seal(id, answerPage{Status: status, Language: v.w.Header().Get("Content-Language"), Page: string(page)})
	if err == nil {
		_, err = v.o.Clicks.KeepAnswer(context.WithoutCancel(v.r.Context()), v.keptIn(), clickShown, markOf(id), "", sealed)
	}
	if err != nil {
		v.o.Log.Warn("a page that answers a form could not be kept: it answers the form itself", "path", v.r.URL.Path, "error", err)
		return false
	}
	v.w.Header().Del("Content-Language")
	http.Redirect(v.w, v.r, shownAt(to, id), http.StatusSeeOther)
	return true
}

// shownAt is the address of a page that answers a form, empty id for the page where the form stands.
func shownAt(where *url.URL, id string) string {
	q := where.Query()
	q.Del("said")
	if q.Del(shownParam); id != "" {
		q.Set(shownParam, id)
	}
	at := url.URL{Path: where.Path, RawPath: where.RawPath, RawQuery: q.Encode()}
	return at.RequestURI()
}

// keptIn is the tenant that pages are kept in; those outside of tenants are the default's.
func (v *visit) keptIn() string { return cmp.Or(v.tenant, posthouse.DefaultTenant) }

// shown answers with the page that answered a form, if the address names one; false says that it names none. One that is there no more, or
// not for this session, leads to where the form stands.
func (v *visit) shown() (bool, error) {
	id := v.query(shownParam)
	if v.r.Method != http.MethodGet || id == "" {
		return false, nil
	}
	sealed, found, err := v.o.Clicks.Answer(v.r.Context(), v.keptIn(), clickShown, markOf(id), "")
	if err != nil {
		return false, err
	}
	p, err := v.unseal(id, sealed)
	if !found || err != nil {
		http.Redirect(v.w, v.r, shownAt(v.r.URL, ""), http.StatusSeeOther)
		return true, nil //nolint:nilerr // a stranger is told as little as of a page that is not there
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Content-Language", p.Language)
	v.w.WriteHeader(p.Status)
	_, _ = io.WriteString(v.w, p.Page) // a browser that left is no error of ours
	return true, nil
}

// markOf is the name that a page is kept by: whoever reads the database cannot tell its address.
func markOf(id string) string {
	sum := sha256.Sum256([]byte("console.shown\x00" + id))
	return hex.EncodeToString(sum[:])
}

// sealer seals what is kept by the session and the address.
func (v *visit) sealer(id string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(tokenOf(v.r)+"\x00"+id), nil, "console.shown of "+v.person.Name, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (v *visit) seal(id string, p answerPage) ([]byte, error) {
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	by, err := v.sealer(id)
	if err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(by.Seal(nil, nil, small.Bytes(), nil))), nil //nolint:gosec // the nonce is random: NewGCMWithRandomNonce takes none
}

func (v *visit) unseal(id string, sealed []byte) (p answerPage, err error) {
	text, err := base64.StdEncoding.DecodeString(string(sealed))
	if err != nil {
		return p, err
	}
	by, err := v.sealer(id)
	if err != nil {
		return p, err
	}
	small, err := by.Open(nil, nil, text, nil)
	if err != nil {
		return p, fmt.Errorf("open a page that was kept: %w", err)
	}
	return p, json.NewDecoder(io.LimitReader(flate.NewReader(bytes.NewReader(small)), 2*maxShownPage)).Decode(&p)
}
