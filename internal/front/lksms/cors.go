package lksms

import (
	"net/http"
	"slices"
)

// sharing lets the pages of some origins call the front door, as the browser asks for it. Others go on to next, where a
// browser that comes from another site is refused.
func (d *door) sharing(shared, next http.Handler) http.Handler {
	if len(d.Origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" || !slices.Contains(d.Origins, "*") && !slices.Contains(d.Origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id, X-Sms-Parts, X-Sms-Encoding")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, X-Request-Id")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del("Sec-Fetch-Site") // it is another site, and may be
		shared.ServeHTTP(w, r)
	})
}
