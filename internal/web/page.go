package web

import (
	"net/http"
	"strings"
)

// LinkedPage sets the headers of a page behind a link that only its recipient has: no one keeps it, and it runs nothing.
func LinkedPage(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
}

// Language is that of a browser: Chinese, unless it prefers English.
func Language(r *http.Request) string {
	accept := strings.ToLower(r.Header.Get("Accept-Language"))
	zh, en := strings.Index(accept, "zh"), strings.Index(accept, "en")
	if zh < 0 && en >= 0 || en >= 0 && en < zh {
		return "en"
	}
	return "zh"
}
