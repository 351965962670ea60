package channel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Egress bounds what the driver of one channel may call, beside what Network bounds for all of them: the origins (scheme, host
// and port) that its configuration names, and what the channel's own setting allows. A URL of another kind, such as a
// recipient's address, a file of a content or a placeholder that was filled, reaches nothing else. Nil bounds nothing.
type Egress struct {
	own        []origin
	hosts      []string // in small letters; "*" is any, "*.example.com" all below it
	ports      []string
	recipients bool
}

// origin is where one URL of a configuration leads.
type origin struct {
	scheme, authority string // as they stand in the URL
	host, port        string // in one spelling
}

// ErrEgress is the cause of a call that an Egress forbids.
var ErrEgress = errors.New("the channel may not call it")

// Egress is what a channel of this type with a configuration and a setting may call.
func (t Type) Egress(c Config, setting *posthouse.Egress) *Egress {
	e := &Egress{ports: []string{"80", "443"}}
	for _, f := range t.Fields {
		if u, err := url.Parse(c.String(f.Name)); f.Kind == KindURL && err == nil && u.Host != "" {
			e.own = append(e.own, origin{u.Scheme, u.Host, plainHost(u), portOf(u)})
			e.ports = append(e.ports, portOf(u))
		}
	}
	if setting == nil {
		return e
	}
	e.recipients = setting.RecipientURLs
	for _, host := range setting.Hosts {
		e.hosts = append(e.hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
	}
	if len(setting.Ports) > 0 {
		e.ports = nil
	}
	for _, port := range setting.Ports {
		e.ports = append(e.ports, strconv.Itoa(port))
	}
	return e
}

// RecipientURLs reports whether recipients' addresses may be URLs to call.
func (e *Egress) RecipientURLs() bool { return e == nil || e.recipients }

// check says why a URL may not be called.
func (e *Egress) check(u *url.URL) error {
	if e == nil || slices.ContainsFunc(e.own, func(o origin) bool { return o.scheme == u.Scheme && o.authority == u.Host }) {
		return nil
	}
	host, port := plainHost(u), portOf(u)
	if slices.ContainsFunc(e.own, func(o origin) bool { return o.scheme == u.Scheme && o.host == host && o.port == port }) {
		return nil
	}
	switch {
	case !slices.ContainsFunc(e.hosts, func(pattern string) bool { return covers(pattern, host) }):
		return fmt.Errorf("%w: the host %s is not among its egress.hosts%s", ErrEgress, host, listed(e.hosts))
	case !slices.Contains(e.ports, port):
		return fmt.Errorf("%w: the port %s is not among its egress.ports%s", ErrEgress, port, listed(e.ports))
	}
	return nil
}

// CheckFile says why a file that a content names by URL may not be fetched, as far as that can be said without asking anybody: the
// URL itself, what the channel may call, and an address that stands in the URL. What a name leads to is found out when it is dialled.
func (e *Egress) CheckFile(n Network, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("is no URL of http or https with a host")
	}
	if err := e.check(u); err != nil {
		return fmt.Errorf("may not be fetched: %w", err)
	}
	to, err := netip.ParseAddrPort(net.JoinHostPort(plainHost(u), portOf(u)))
	if err == nil && !n.Allows(to) && !n.AllowsHost(plainHost(u)) {
		return fmt.Errorf("may not be fetched: %s is not an address that this server may connect to; its setting allow_networks says which it may", to.Addr())
	}
	return nil
}

func listed(allowed []string) string {
	if len(allowed) == 0 {
		return ""
	}
	return ", " + strings.Join(allowed, " ")
}

// covers reports whether a pattern of hosts stands for a host.
func covers(pattern, host string) bool {
	below, wild := strings.CutPrefix(pattern, "*")
	return pattern == host || pattern == "*" || wild && strings.HasSuffix(host, below) && host != below
}

// plainHost is a URL's host in one spelling.
func plainHost(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return host
}

// portOf is the port that a URL names, or means.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

// CheckEgress finds what is wrong with a channel's egress, with paths below the channel.
func (t Type) CheckEgress(c Config, setting *posthouse.Egress) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if setting == nil {
		setting = new(posthouse.Egress)
	}
	for i, host := range setting.Hosts {
		if !hostPattern(host) {
			add(fmt.Sprintf("egress.hosts[%d]", i), "%.100q is not a host such as hooks.example.com, *.example.com for all below it, or * for any", host)
		}
	}
	for i, port := range setting.Ports {
		if port < 1 || port > 65535 {
			add(fmt.Sprintf("egress.ports[%d]", i), "%d is not a port from 1 to 65535", port)
		}
	}
	own := len(t.Egress(c, nil).own) > 0
	switch {
	case setting.RecipientURLs && !t.RecipientURLs:
		add("egress.recipient_urls", "has no effect: the driver %s never calls what a recipient's address names", t.Name)
	case setting.RecipientURLs && own:
		add("egress.recipient_urls", "has no effect beside a URL in the config; leave one of them out")
	case setting.RecipientURLs && len(setting.Hosts) == 0:
		add("egress.hosts", "is missing: name the hosts that recipients' addresses may name, or * for any that the server may dial")
	case t.RecipientURLs && !own && !setting.RecipientURLs:
		add("config.url", "is missing; give a URL, or set egress.recipient_urls to call each recipient's address")
	case len(setting.Ports) > 0 && len(setting.Hosts) == 0:
		add("egress.ports", "are those of egress.hosts, of which none is named")
	}
	return problems
}

// hostPattern reports whether a text is a host, a pattern of hosts, or an address.
func hostPattern(s string) bool {
	if s == "*" {
		return true
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	name := strings.TrimPrefix(s, "*.")
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "*/:@[]% \t\r\n")
}
