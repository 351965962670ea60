package dingtalk

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// tokenCodes are those that the interfaces for access tokens answer. A fetch sends nothing, so what may
// have arrived may be repeated.
var tokenCodes = codes{
	"-1":    {Class: posthouse.ClassTransient},
	"90018": {Class: posthouse.ClassRate, After: time.Second},
	"90002": {Class: posthouse.ClassRate, After: time.Second},

	"88":                         {Class: posthouse.ClassAccount},
	"40001":                      {Class: posthouse.ClassAccount},
	"40013":                      {Class: posthouse.ClassAccount},
	"40056":                      {Class: posthouse.ClassAccount},
	"40089":                      {Class: posthouse.ClassAccount}, // the key or the secret is wrong
	"40096":                      {Class: posthouse.ClassAccount},
	"60020":                      {Class: posthouse.ClassAccount}, // our address is not allowed
	"invalidClientIdOrSecret":    {Class: posthouse.ClassAccount},
	"Forbidden.IpNotInWhiteList": {Class: posthouse.ClassAccount},
}

// tokenSource fetches access tokens, by the older interface or the newer one.
type tokenSource struct {
	client  *channel.Client
	request channel.Request
	newer   bool
}

func newTokenSource(c channel.Config, client *channel.Client) (tokenSource, error) {
	key, secret := c.String("app_key"), c.String("app_secret")
	if c.String("token_from") == "oauth2" {
		u, err := url.Parse(c.String("api_url"))
		if err != nil {
			return tokenSource{}, err
		}
		return tokenSource{client: client, newer: true, request: channel.Request{
			URL: below(u, "/v1.0/oauth2/accessToken"), Header: http.Header{"Content-Type": {"application/json"}},
			Body: errcode.Encoded(map[string]string{"appKey": key, "appSecret": secret}),
		}}, nil
	}
	u, err := url.Parse(c.String("url"))
	if err != nil {
		return tokenSource{}, err
	}
	u = below(u, "/gettoken")
	u.RawQuery = url.Values{"appkey": {key}, "appsecret": {secret}}.Encode()
	return tokenSource{client: client, request: channel.Request{Method: http.MethodGet, URL: u}}, nil
}

// below is a path of an interface whose root is at a URL.
func below(root *url.URL, path string) *url.URL {
	u := *root
	u.Path, u.RawPath = strings.TrimSuffix(root.Path, "/")+path, ""
	return &u
}

// fetch gets a token.
func (s tokenSource) fetch(ctx context.Context) (token string, lasts time.Duration, err error) {
	reply := s.client.Do(ctx, s.request)
	var v channel.Verdict
	var a answer
	if s.newer {
		v, a = readNewToken(&reply)
	} else {
		v, a = tokenCodes.read(&reply, nil)
	}
	return access.Fetched(&reply, v, a.Token, time.Duration(a.Lasts)*time.Second)
}

// readNewToken reads the newer interface, which answers errors with an HTTP status, a code and a message.
func readNewToken(r *channel.Reply) (channel.Verdict, answer) {
	var in struct {
		Token   string `json:"accessToken"`
		Lasts   int    `json:"expireIn"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	read := json.Unmarshal(r.Body, &in) == nil
	switch {
	case r.OK() && read && in.Token != "":
		return channel.Verdict{Class: posthouse.ClassOK}, answer{Token: in.Token, Lasts: in.Lasts}
	case r.Status/100 != 2 && read && strings.Contains(in.Code, "Limit"):
		return channel.Verdict{Class: posthouse.ClassRate, After: time.Second, Code: in.Code, Message: in.Message}, answer{}
	case r.Status/100 != 2 && read && in.Code != "":
		if m, known := tokenCodes[in.Code]; known {
			return channel.Verdict{Class: m.Class, After: m.After, Code: in.Code, Message: in.Message}, answer{}
		}
		return channel.Verdict{Class: r.Class(), Code: in.Code, Message: in.Message}, answer{}
	}
	return channel.Verdict{Class: r.Class()}, answer{}
}
