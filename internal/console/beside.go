package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/beside"
	"github.com/posthouse/posthouse/internal/web"
)

// sent is the form of the visit.
func (v *visit) sent() beside.Sent {
	return beside.Sent{To: v.r.URL.Path, Values: v.r.PostForm, Unkept: v.r.PostForm[unkeptField], Own: []string{"click", "here"}, Where: func(path string) string { return frame{v: v}.Where(path).Said }}
}

// beside is a page that refuses a form, with what is wrong beside its fields. Of a part of a page that is asked for by itself the form is not
// drawn anew: there it stays together.
func (v *visit) beside(page []byte) []byte {
	if v.r.Header.Get("HX-Request") != "" {
		return page
	}
	return v.sent().Place(page)
}

// refuse shows the page of a form that the API has refused, where the form's own handler has no page for that: as it is now, with what was typed,
// and what is wrong beside its fields or, where that is about none of them, at the top. False says that this is no such form.
func (v *visit) refuse(err error) bool {
	var coded *posthouse.Error
	if v.console.serve == nil || v.tenant == "" || v.r.Method != http.MethodPost || v.r.Header.Get("HX-Request") != "" || !errors.As(err, &coded) || !refused(err) {
		return false
	}
	to, err := url.Parse(v.here())
	if err != nil || v.here() == "" || backTo(v.here()) != v.here() || !strings.HasPrefix(to.EscapedPath(), v.at()) {
		return false
	}
	page, ok := v.page(shownAt(to, ""))
	if !ok {
		return false
	}
	said, _ := v.says(coded.Message)
	problems := slices.Clone(coded.Problems)
	for i := range problems {
		problems[i].Message = frame{v: v}.Says(problems[i].Message)
	}
	sent := v.sent()
	sent.Stale = coded.Code != posthouse.CodeInvalid
	if page = sent.Refuse(page, said, problems); page == nil {
		return false
	}
	status, _ := v.troubleOf(coded)
	v.w.Header().Set("Content-Language", frame{v: v}.Lang())
	v.answer(status, web.Marked(page), nil)
	return true
}

// page is a page of the console as it is drawn for the visitor now; false where it is not there to be seen.
func (v *visit) page(address string) ([]byte, bool) {
	r := v.r.Clone(v.r.Context())
	r.Method, r.Body, r.ContentLength, r.PostForm, r.Form, r.MultipartForm = http.MethodGet, http.NoBody, 0, nil, nil, nil
	r.Header.Del("Content-Type")
	var err error
	if r.URL, err = url.Parse(address); err != nil {
		return nil, false
	}
	r.RequestURI = r.URL.RequestURI()
	w := &answer{header: http.Header{}, status: http.StatusOK}
	v.console.serve.ServeHTTP(w, r)
	return w.body.Bytes(), w.status == http.StatusOK
}
