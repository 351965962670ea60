package web

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Forwarded lets a handler see the address of the client behind the proxies that are trusted, instead of the proxy's.
// Only what they say counts: each hop of X-Forwarded-For is believed as far as the one behind it is trusted.
func Forwarded(trusted []netip.Prefix, log *slog.Logger, next http.Handler) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hops := r.Header.Values("X-Forwarded-For")
		if len(hops) > 0 {
			remote := AddressOf(r)
			client, believed := clientOf(trusted, remote, strings.Split(strings.Join(hops, ","), ","))
			if !believed {
				once.Do(func() {
					log.Warn("a request says for whom it was forwarded, and comes from no trusted proxy: if it is yours, name it in trusted_proxies; this is said once", "from", remote)
				})
			}
			if client != remote {
				r = r.WithContext(r.Context()) // a copy: others may hold the request
				r.RemoteAddr = net.JoinHostPort(client, "0")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf goes back from an address over the hops, the last of which it added, as far as each is trusted.
func clientOf(trusted []netip.Prefix, remote string, hops []string) (client string, believed bool) {
	client = remote
	for i := len(hops) - 1; i >= 0; i-- {
		at, err := netip.ParseAddr(client)
		if err != nil || !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(at.Unmap().WithZone("")) }) {
			break
		}
		believed = true
		hop, ok := hopOf(hops[i])
		if !ok {
			break
		}
		client = hop
	}
	return client, believed
}

// hopOf is an address as proxies write it: alone, in brackets, or with a port.
func hopOf(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().String(), true
	}
	at, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return at.Unmap().String(), err == nil
}
