package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/people"

	"github.com/posthouse/posthouse/internal/web"
)

const (
	sessionCookie = "posthouse"
	// hostCookie is bound by browsers to the very host, and to TLS.
	hostCookie = "__Host-posthouse"
	langCookie = "posthouse-lang"
)

func cookieName(r *http.Request) string {
	if web.Secure(r) {
		return hostCookie
	}
	return sessionCookie
}

// tokenOf is what the browser keeps of a session, empty for none.
func tokenOf(r *http.Request) string {
	if c, err := r.Cookie(cookieName(r)); err == nil {
		return c.Value
	}
	return ""
}

// keep gives the browser a session's token; an empty one takes it away.
func keep(w http.ResponseWriter, r *http.Request, token string) {
	age := int(people.Absolute / time.Second)
	if token == "" {
		age = -1
	}
	setCookie(w, r, cookieName(r), token, age)
}

// setCookie gives the browser a cookie for so many seconds. No page of ours needs to read it.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the browser came by TLS: over plain HTTP it would be dropped
		Name: name, Value: value, Path: "/", MaxAge: age, Secure: web.Secure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// backTo is an address of the console that a form names, its beginning where it names another.
func backTo(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, Root) || strings.Contains(address, "\\") {
		return Root
	}
	return u.RequestURI()
}
