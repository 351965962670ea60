package channel_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// caller is a type that calls the URLs of its configuration.
func caller() channel.Type {
	return channel.Type{Name: "caller", Fields: []channel.Field{
		{Name: "url", Kind: channel.KindURL, Default: "https://api.example.com/v1"}, {Name: "token_url", Kind: channel.KindURL}, {Name: "note", Kind: channel.KindString},
	}}
}

// callable reports whether a URL may be called, without calling it: the call is given up before it begins.
func callable(t *testing.T, egress *channel.Egress, to string) (bool, string) {
	t.Helper()
	c := newClient(t, channel.Env{Egress: egress}, channel.ClientOptions{})
	u := parse(t, to)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is to be looked up
	r := c.Do(ctx, channel.Request{URL: u})
	return r.Code != channel.CodeBlocked, r.Result(channel.Verdict{Class: r.Class()}).Error
}

func TestAChannelCallsWhatItsConfigurationNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to      string
		setting *posthouse.Egress
		says    string // empty where it may be called
	}{
		{"https://api.example.com/v2?x=1", nil, ""},
		{"https://API.example.com.:443/", nil, ""},
		{"https://login.example.net:8443/token", nil, ""},
		{"http://api.example.com/v1", nil, "api.example.com is not among its egress.hosts"},
		{"http://api.example.com:443/v1", nil, "egress.hosts"},
		{"https://api.example.com:8443/", nil, "egress.hosts"},
		{"https://login.example.net/", nil, "egress.hosts"},
		{"https://api.example.com.evil.net/", nil, "egress.hosts"},
		{"https://evil.net/?api.example.com", nil, "egress.hosts"},
		{"https://note.example.org/", nil, "egress.hosts"},
		{"https://127.0.0.1/", nil, "egress.hosts"},
		{"https://files.example.org/a.png", &posthouse.Egress{Hosts: []string{"files.example.org"}}, ""},
		{"http://files.example.org./a.png", &posthouse.Egress{Hosts: []string{"Files.Example.Org."}}, ""},
		{"https://files.example.org:8443/", &posthouse.Egress{Hosts: []string{"files.example.org"}}, ""},
		{"https://files.example.org:8444/", &posthouse.Egress{Hosts: []string{"files.example.org"}}, "8444 is not among its egress.ports, 80 443 443 8443"},
		{"https://files.example.org:8443/", &posthouse.Egress{Hosts: []string{"files.example.org"}, Ports: []int{443}}, "egress.ports, 443"},
		{"https://a.b.example.org/", &posthouse.Egress{Hosts: []string{"*.example.org"}}, ""},
		{"https://example.org/", &posthouse.Egress{Hosts: []string{"*.example.org"}}, "egress.hosts, *.example.org"},
		{"https://evilexample.org/", &posthouse.Egress{Hosts: []string{"*.example.org"}}, "egress.hosts"},
		{"https://anything.example/", &posthouse.Egress{Hosts: []string{"*"}}, ""},
		{"http://[2001:DB8:0::1]/", &posthouse.Egress{Hosts: []string{"2001:db8::1"}}, ""},
		{"http://2130706433/", &posthouse.Egress{Hosts: []string{"127.0.0.1"}}, "egress.hosts"},
	} {
		config, _ := caller().Validate(map[string]any{"token_url": "https://login.example.net:8443/token", "note": "https://note.example.org/"})
		ok, says := callable(t, caller().Egress(config, c.setting), c.to)
		if ok != (c.says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s with %+v: may be called %t, %q; want %q", c.to, c.setting, ok, says, c.says)
		}
	}
	if ok, says := callable(t, nil, "https://anything.example/"); !ok {
		t.Errorf("without an egress: %q", says)
	}
}

// A provider that redirects does not lead a channel anywhere, also where the egress would let it go there.
func TestARedirectLeadsNowhere(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inner.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		provider := httptest.NewServer(http.RedirectHandler(inner.URL, status))
		t.Cleanup(provider.Close)
		port, _ := strconv.Atoi(parse(t, inner.URL).Port())
		config, _ := caller().Validate(map[string]any{"url": provider.URL})
		env := house
		env.Egress = caller().Egress(config, &posthouse.Egress{Hosts: []string{"*"}, Ports: []int{port}})
		r := newClient(t, env, channel.ClientOptions{}).Do(t.Context(), channel.Request{URL: parse(t, provider.URL)})
		if r.Status != status || r.Class() != posthouse.ClassAccount || reached.Load() != 0 {
			t.Errorf("HTTP %d: got %+v, and %d calls behind it", status, r, reached.Load())
		}
	}
}

func TestAnswersAreKeptOnlyWhereTheChannelSaysSo(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inner secrets") }))
	t.Cleanup(s.Close)
	for keep, want := range map[bool]string{true: "inner secrets", false: ""} {
		env := house
		env.KeepAnswers = keep
		r := newClient(t, env, channel.ClientOptions{}).Do(t.Context(), channel.Request{URL: parse(t, s.URL)})
		if r.Response != want || string(r.Body) != "inner secrets" {
			t.Errorf("kept %t: response %q, want %q; body %q", keep, r.Response, want, r.Body)
		}
	}
}

func TestAnEgressThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	poster := channel.Type{Name: "poster", RecipientURLs: true, Fields: []channel.Field{{Name: "url", Kind: channel.KindURL}}}
	for _, c := range []struct {
		of   channel.Type
		raw  map[string]any
		set  *posthouse.Egress
		path string
	}{
		{caller(), nil, nil, ""},
		{caller(), nil, &posthouse.Egress{Hosts: []string{"a.example", "*.b.example", "*", "::1", "10.0.0.1"}, Ports: []int{1, 65535}}, ""},
		{caller(), nil, &posthouse.Egress{Hosts: []string{"a.example", "https://a.example"}}, "egress.hosts[1]"},
		{caller(), nil, &posthouse.Egress{Hosts: []string{"a.*.example"}}, "egress.hosts[0]"},
		{caller(), nil, &posthouse.Egress{Hosts: []string{""}}, "egress.hosts[0]"},
		{caller(), nil, &posthouse.Egress{Hosts: []string{"a.example:80"}}, "egress.hosts[0]"},
		{caller(), nil, &posthouse.Egress{Hosts: []string{"a.example"}, Ports: []int{80, 0}}, "egress.ports[1]"},
		{caller(), nil, &posthouse.Egress{Ports: []int{80}}, "egress.ports"},
		{caller(), nil, &posthouse.Egress{Hosts: []string{"*"}, RecipientURLs: true}, "egress.recipient_urls"},
		{poster, nil, nil, "config.url"},
		{poster, map[string]any{"url": "https://a.example"}, nil, ""},
		{poster, map[string]any{"url": "https://a.example"}, &posthouse.Egress{Hosts: []string{"*"}, RecipientURLs: true}, "egress.recipient_urls"},
		{poster, nil, &posthouse.Egress{RecipientURLs: true}, "egress.hosts"},
		{poster, nil, &posthouse.Egress{Hosts: []string{"*"}, RecipientURLs: true}, ""},
	} {
		config, _ := c.of.Validate(c.raw)
		problems := c.of.CheckEgress(config, c.set)
		if c.path == "" && len(problems) > 0 || c.path != "" && (len(problems) != 1 || problems[0].Path != c.path) {
			t.Errorf("%s with %v and %+v: %+v, want one at %q", c.of.Name, c.raw, c.set, problems, c.path)
		}
	}
}

// FLEET-1: what of a file's URL can be judged without asking anybody is judged when the content is handed in: its form, the hosts and
// ports of the channel, and an address that stands in it.
func TestAFileThatMayNotBeFetchedIsNamedBefore(t *testing.T) {
	t.Parallel()
	c, problems := caller().Validate(map[string]any{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	every := caller().Egress(c, &posthouse.Egress{Hosts: []string{"*"}})
	some := caller().Egress(c, &posthouse.Egress{Hosts: []string{"*.files.example.com"}})
	none := caller().Egress(c, nil)
	for _, c := range []struct {
		e    *channel.Egress
		url  string
		want string
	}{
		{some, "https://a.files.example.com/x.png", ""},
		{some, "https://api.example.com/x.png", ""},
		{some, "https://other.example.com/x.png", "egress.hosts"},
		{some, "https://a.files.example.com:22/x.png", "egress.ports"},
		{none, "https://a.files.example.com/x.png", "egress.hosts"},
		{every, "https://anything.example/x.png", ""},
		{every, "http://169.254.169.254/latest", "169.254.169.254 is not an address"},
		{every, "http://127.0.0.1/x", "127.0.0.1 is not an address"},
		{every, "http://[::1]/x", "::1 is not an address"},
		{every, "http://[::ffff:10.0.0.1]/x", "10.0.0.1 is not an address"},
		{every, "http://93.184.216.34/x", ""},
		{every, "ftp://anything.example/x", "is no URL"},
		{every, "x.png", "is no URL"},
		{every, "http:///x", "is no URL"},
	} {
		err := c.e.CheckFile(channel.Network{}, c.url)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.url, err, c.want)
		}
	}
}
