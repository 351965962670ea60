package email

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// usualLife is how long a token is used whose life is not told; RFC 6749, 5.1 recommends to tell it.
const usualLife = time.Hour

// tokens has the access token of the mailbox, by RFC 6749: for a refresh token, or for the client's own credentials.
func tokens(c channel.Config, env channel.Env, client *channel.Client) *access.Access {
	endpoint := parsed(c.String("oauth_url"))
	form := url.Values{"client_id": {c.String("oauth_client_id")}, "client_secret": {c.String("oauth_client_secret")}, "grant_type": {"client_credentials"}}
	if c.Has("oauth_refresh_token") {
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", c.String("oauth_refresh_token"))
	}
	if c.Has("oauth_scope") {
		form.Set("scope", c.String("oauth_scope"))
	}
	name := "oauth/" + c.String("oauth_client_id") + "/" + c.String("username")
	return access.New(env, name, endpoint.Host, []string{endpoint.String(), form.Encode()}, func(ctx context.Context) (string, time.Duration, error) {
		reply := client.Do(ctx, channel.Request{
			URL: endpoint, Body: []byte(form.Encode()),
			Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}},
		})
		var said struct {
			Token string `json:"access_token"`
			Lasts int64  `json:"expires_in"`
			Error string `json:"error"`
		}
		v := channel.Verdict{Class: reply.Class()}
		if json.Unmarshal(reply.Body, &said) != nil && v.Class == posthouse.ClassOK || v.Class == posthouse.ClassOK && said.Token == "" {
			v.Class, v.Message = posthouse.ClassTransient, "the answer has no access_token"
		}
		if said.Error != "" {
			v.Class, v.Code, v.Message = posthouse.ClassAccount, said.Error, "the token was refused: "+said.Error
		}
		lasts := time.Duration(min(said.Lasts, int64(24*time.Hour/time.Second))) * time.Second
		if lasts <= 0 {
			lasts = usualLife
		}
		return access.Fetched(&reply, v, said.Token, lasts)
	})
}
