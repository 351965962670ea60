package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// targets are the URLs that recipients' addresses may be.
type targets struct {
	hosts []string // empty for any; one that begins with "*." stands for all below it
	ports []string
}

func newTargets(c channel.Config) targets {
	t := targets{ports: c.List("ports")}
	for _, host := range c.List("hosts") {
		t.hosts = append(t.hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
	}
	return t
}

// endpoint reads a recipient's address as a URL that is allowed.
func (t targets) endpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("the recipient's address is not an http or https URL without a user name in it")
	}
	if port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]); !slices.Contains(t.ports, port) {
		return nil, fmt.Errorf("the recipient's address names port %s; the channel allows %s", port, strings.Join(t.ports, ", "))
	}
	if !t.allows(u.Hostname()) {
		return nil, fmt.Errorf("the recipient's address names host %s; the channel allows %s", u.Hostname(), strings.Join(t.hosts, ", "))
	}
	return u, nil
}

func (t targets) allows(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return len(t.hosts) == 0 || slices.ContainsFunc(t.hosts, func(allowed string) bool {
		below, wild := strings.CutPrefix(allowed, "*")
		return host == allowed || wild && strings.HasSuffix(host, below) && host != below
	})
}

// checkTargets finds what is wrong about where the channel posts to.
func checkTargets(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case !c.Has("url") && !c.Bool("recipient_urls"):
		add("url", "is missing; give a URL, or set recipient_urls to post to each recipient's address")
	case c.Has("url") && c.Bool("recipient_urls"):
		add("recipient_urls", "has no effect beside a url; leave one of them out")
	case c.Has("url") && c.Has("hosts"):
		add("hosts", "are for recipients' addresses; a channel with a url posts there only")
	}
	for i, port := range c.List("ports") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			add(fmt.Sprintf("ports[%d]", i), "%q is not a port from 1 to 65535", port)
		}
	}
	for i, host := range c.List("hosts") {
		if name := strings.TrimPrefix(host, "*."); name == "" || strings.ContainsAny(name, "*/:@ \t\r\n") && !strings.HasPrefix(name, "[") {
			add(fmt.Sprintf("hosts[%d]", i), "%q is not a host such as hooks.example.com or *.example.com", host)
		}
	}
	return problems
}
