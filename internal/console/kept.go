package console

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// keptForm is a form that came when its session was over. It goes with the browser through the sign-in, and is sent by whoever signs in: the
// server keeps nothing of it.
type keptForm struct {
	Action string     `json:"action"`
	Here   string     `json:"here"`
	Values url.Values `json:"values"`
	// Lost are secrets that were typed: they are typed again.
	Lost []lostSecret `json:"lost,omitempty"`
}

// lostSecret is a secret that was typed in a form that is kept without it.
type lostSecret struct {
	Name  string `json:"name"`
	Lines bool   `json:"lines,omitempty"` // it has several
}

const (
	// unkeptField lists fields of a form that hold secrets.
	unkeptField = "unkept"
	// maxKept bounds a form that is kept, in bytes of its values.
	maxKept = 256 << 10
)

// ended answers a request whose session is over, or that has none: a form with the page of the sign-in that holds it, else by leading there.
// A browser drops the cookie of a session that was too old, so a form without one is kept too; that another site sent it was ruled out before.
func (v *visit) ended() {
	q := url.Values{"back": {backTo(v.here())}}
	switch {
	case v.r.Method == http.MethodPost && v.keepThrough():
		return
	case v.r.Method == http.MethodPost:
		q.Set("why", "form_lost")
	case tokenOf(v.r) != "":
		q.Set("why", "session_ended")
	}
	leadTo(v, Root+"sign-in?"+q.Encode())
}

// keepThrough draws the page of the sign-in with the form that was sent; false says that the form cannot be kept: it has a file, or is long.
func (v *visit) keepThrough() bool {
	kind, _, _ := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" || v.tenantless() || readForm(v.r) != nil {
		return false
	}
	f := keptForm{Action: v.r.URL.RequestURI(), Here: backTo(v.here()), Values: maps.Clone(v.r.PostForm)}
	for _, name := range v.r.PostForm[unkeptField] {
		if text := f.Values.Get(name); text != "" {
			f.Lost = append(f.Lost, lostSecret{name, strings.Contains(text, "\n")})
		}
		f.Values.Del(name)
	}
	sealed := f.text()
	if len(sealed) > maxKept {
		return false
	}
	in := signingIn{Back: f.Here, Kept: sealed, Why: "form_kept", Provided: v.o.Provider != nil}
	if err := v.draw(http.StatusUnauthorized, "sign-in", "sign_in", in); err != nil {
		v.o.Log.Error("a page of the console could not be drawn", "error", err)
		return false
	}
	return true
}

// tenantless reports whether a request is for no page of a tenant: what people send there are passwords and codes.
func (v *visit) tenantless() bool { return !strings.HasPrefix(v.r.URL.Path, Root+"t/") }

// text is the form as a field of the sign-in carries it.
func (f keptForm) text() string {
	text, err := json.Marshal(f)
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(text)
}

// readKept reads what a sign-in carries; false where it is nothing that we would have written.
func readKept(text string) (f keptForm, ok bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(plain, &f) != nil {
		return f, false
	}
	return f, strings.HasPrefix(f.Action, Root+"t/") && backTo(f.Action) == f.Action && backTo(f.Here) == f.Here
}

// resume shows a form that was kept, for the person who has signed in to send it.
func resume(v *visit, f keptForm) error { return v.show("resume", "form_kept_title", f) }

// goOnKept shows a form that was kept to who has signed in elsewhere meanwhile: by a link, which opens a page of its own.
func goOnKept(v *visit) error {
	f, ok := readKept(v.form("kept"))
	if !ok {
		return v.show("sign-in", "sign_in", signingIn{Back: Root, Provided: v.o.Provider != nil})
	}
	if err := v.enter(); err != nil {
		in := signingIn{Back: f.Here, Kept: v.form("kept"), Why: "form_kept", Wrong: "not_in_yet", Provided: v.o.Provider != nil}
		return v.draw(http.StatusUnauthorized, "sign-in", "sign_in", in)
	}
	return resume(v, f)
}

// Does says what the form does and to what, by the parts of its address: a channel's name, and the word for what is done.
func (f keptForm) Does() []string {
	path, _, _ := strings.Cut(strings.TrimPrefix(f.Action, Root+"t/"), "?")
	parts := strings.Split(path, "/")
	for i := range parts {
		if text, err := url.PathUnescape(parts[i]); err == nil {
			parts[i] = text
		}
	}
	return parts[1:]
}

// keptField is a value of a form that was kept.
type keptField struct {
	Name, Value string
	Shown       bool // somebody has typed or chosen it
}

// Fields are the values of a form in the order of their names.
func (f keptForm) Fields() (list []keptField) {
	unseen := []string{"version", "once", "confirm", "seen", unkeptField}
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		if name == "here" || name == "click" { // each form has its own
			continue
		}
		for _, value := range f.Values[name] {
			list = append(list, keptField{name, value, value != "" && !slices.Contains(unseen, name)})
		}
	}
	return list
}

// pausing reports whether a field of a form says how long something is paused.
func (f keptForm) pausing(field keptField) bool {
	path, _, _ := strings.Cut(f.Action, "?")
	return field.Name == "for" && strings.HasSuffix(path, "/pause")
}

// KeptName is a field of a form that was kept, as the form calls it.
func (f frame) KeptName(form keptForm, field keptField) string {
	if form.pausing(field) {
		return f.T("pause_for")
	}
	return f.Member(field.Name)
}

// KeptValue is the value of such a field, as the form shows it.
func (f frame) KeptValue(form keptForm, field keptField) string {
	if form.pausing(field) {
		if at, err := time.Parse(time.RFC3339, field.Value); err == nil {
			return f.T("until") + " " + f.Clock(at)
		}
		if length, err := time.ParseDuration(field.Value); err == nil {
			return f.Span(length)
		}
	}
	return f.Short(field.Value)
}

// Fleeting says that nothing keeps the page.
func (f keptForm) Fleeting() bool { return true }
