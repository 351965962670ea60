package fcm

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/clock"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/push"
)

// scope is what the access token is for.
const scope = "https://www.googleapis.com/auth/firebase.messaging"

// Google takes an assertion that lasts an hour at most, and gives a token that does.
const lasts = time.Hour

// tokens has the access token of a service account: RFC 7523, developers.google.com/identity/protocols/oauth2/service-account.
func tokens(c channel.Config, env channel.Env, client *channel.Client, account push.Account) (*access.Access, error) {
	key, err := push.NewKey(account.KeyID, push.RS256, account.Key)
	if err != nil {
		return nil, err
	}
	endpoint, err := url.Parse(c.String("token_url"))
	if err != nil {
		return nil, err
	}
	return access.New(env, "fcm/"+account.Email, endpoint.Host, []string{endpoint.String(), c.String("url"), account.Key}, func(ctx context.Context) (string, time.Duration, error) {
		now := time.Now()
		signed, err := key.Sign(map[string]any{
			"iss": account.Email, "scope": scope, "aud": usualTokenURL, "iat": now.Unix(), "exp": now.Add(lasts).Unix(),
		})
		if err != nil {
			return "", 0, err
		}
		form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}}
		reply := client.Do(ctx, channel.Request{
			URL: endpoint, Body: []byte(form.Encode()), Hide: []string{signed},
			Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}},
		})
		var said struct {
			Token string        `json:"access_token"`
			Lasts errcode.Value `json:"expires_in"` // a number, or its text
			Error string        `json:"error"`
			Why   string        `json:"error_description"`
		}
		v := channel.Verdict{Class: reply.Class()}
		if unread := json.Unmarshal(reply.Body, &said) != nil; v.Class == posthouse.ClassOK && (unread || said.Token == "" || !channel.ValidHeader("Authorization", said.Token)) {
			v.Class, v.Message = posthouse.ClassTransient, "the answer has no access_token that can be sent"
		}
		if said.Error != "" {
			v.Code, v.Message = said.Error, "the token was not given: "+said.Error+" "+said.Why
			if reply.Status/100 == 2 || reply.Status == http.StatusBadRequest || reply.Status == http.StatusUnauthorized || reply.Status == http.StatusForbidden {
				v.Class = posthouse.ClassAccount // and not where its server has a fault of its own
			}
			if why := clock.Off(&reply, now); said.Error == "invalid_grant" && why != "" {
				v.Class, v.Code, v.Message = posthouse.ClassLocal, clock.Code, "Google refuses the time of the assertion: "+why
			}
		}
		seconds, _ := strconv.ParseFloat(string(said.Lasts), 64) // RFC 6749 lets it be missing
		return access.Fetched(&reply, v, said.Token, min(lasts, max(time.Minute, time.Duration(min(seconds, lasts.Seconds()))*time.Second)))
	}), nil
}
