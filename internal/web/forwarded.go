package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Proxies are those in front of a server.
type Proxies struct {
	// Trusted are the addresses whose X-Forwarded-For is believed.
	Trusted []netip.Prefix
	Log     *slog.Logger

	said      sync.Once
	untrusted atomic.Bool
}

// Untrusted reports whether requests came from a proxy inside that is not trusted: everybody behind it has one address here.
func (p *Proxies) Untrusted() bool { return p.untrusted.Load() }

// Forwarded lets a handler see the address of the client behind the proxies that are trusted, instead of the proxy's.
// Only what they say counts: each hop of X-Forwarded-For is believed as far as the one behind it is trusted.
func (p *Proxies) Forwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if IsForwarded(r) {
			remote := AddressOf(r)
			client, believed := clientOf(p.Trusted, remote, strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ","))
			if !believed {
				p.note(remote)
				r = r.WithContext(context.WithValue(r.Context(), sharedAddress{}, true))
			}
			if client != remote {
				r = r.WithContext(r.Context()) // a copy: others may hold the request
				r.RemoteAddr = net.JoinHostPort(client, "0")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// note remembers a request that was forwarded by nobody whom we trust. Anybody on the internet can say so of a request; one from
// inside is the word of a proxy.
func (p *Proxies) note(remote string) {
	p.said.Do(func() {
		p.Log.Warn("a request says for whom it was forwarded, and comes from no trusted proxy: if it is yours, name it in trusted_proxies; this is said once", "from", remote)
	})
	if at, err := netip.ParseAddr(remote); err == nil && (at.Unmap().IsPrivate() || at.Unmap().IsLoopback() || at.IsLinkLocalUnicast()) {
		p.untrusted.Store(true)
	}
}

// forwarding are the headers by which proxies say that a request came through them, beside all that begin with X-Forwarded-.
var forwarding = []string{
	"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip",
}

// IsForwarded reports whether a request says that it came through a proxy.
func IsForwarded(r *http.Request) bool {
	for name, values := range r.Header {
		if len(values) > 0 && (strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(forwarding, name)) {
			return true
		}
	}
	return false
}

// sharedAddress marks requests whose address is that of a proxy which is not trusted.
type sharedAddress struct{}

// Peer is who is at the other end of a request, as far as the network says.
type Peer struct {
	// Address is without a port.
	Address string
	// Shared says that it is the address of a proxy that is not trusted: many may have it.
	Shared bool
}

// PeerOf is who is at the other end of a request.
func PeerOf(r *http.Request) Peer {
	shared, _ := r.Context().Value(sharedAddress{}).(bool)
	return Peer{AddressOf(r), shared}
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
