package server

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/inbound"
)

// frontRoots puts kinds of fronts at the roots of host names of their own, before everything else. Such a host has nothing but its kind:
// what several have at one path (/message, /:topic, /:key) can never collide.
func frontRoots(hosts map[string]string, desk *inbound.Desk, next http.Handler) http.Handler {
	roots := map[string]http.Handler{}
	for host, kind := range hosts {
		roots[strings.ToLower(host)] = desk.AtRoot(kind)
	}
	if len(roots) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if root := roots[hostName(r.Host)]; root != nil {
			root.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostName is the name in a Host header, without a port and the dot that may end it.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// checkFrontHosts says what is wrong with the host names of fronts: each kind has a host to itself, and none takes the console's.
func checkFrontHosts(o *Options, kinds []string) error {
	var public string
	if u, err := url.Parse(o.PublicURL); err == nil {
		public = hostName(u.Host)
	}
	var problems []error
	seen := map[string]bool{}
	for _, host := range slices.Sorted(maps.Keys(o.FrontHosts)) {
		kind, name := o.FrontHosts[host], hostName(host)
		switch {
		case name == "" || len(name) > 253 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || len(name) != len(host):
			problems = append(problems, fmt.Errorf("front_hosts names the host %.80q: want a host name such as push.example.com, without scheme, port and path", host))
		case !slices.Contains(kinds, kind):
			problems = append(problems, fmt.Errorf("front_hosts has the kind %.60q at %s: want one of %s", kind, host, strings.Join(kinds, ", ")))
		case seen[name]:
			problems = append(problems, fmt.Errorf("front_hosts names the host %s twice: the paths of two kinds would overlap, give each a host of its own", name))
		case name == public:
			problems = append(problems, fmt.Errorf("front_hosts names %s, which is the host of public_url: the paths of the kind %s would overlap the API's and the console's", name, kind))
		}
		seen[name] = true
	}
	return errors.Join(problems...)
}

// rootOf is the URL of a kind of fronts at a host name of its own, as the server's URL says scheme and port; empty where it has none.
func rootOf(hosts map[string]string, kind, base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		if hosts[host] != kind {
			continue
		}
		at := url.URL{Scheme: u.Scheme, Host: host}
		if port := u.Port(); port != "" {
			at.Host = net.JoinHostPort(host, port)
		}
		return at.String()
	}
	return ""
}
