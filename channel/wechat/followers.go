package wechat

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// followers is a page of an account's followers, as user/get answers it.
type followers struct {
	Total *int64 `json:"total"` // of all
	Data  struct {
		OpenIDs []string `json:"openid"`
	} `json:"data"`
	Next string `json:"next_openid"` // empty behind the last
}

// List lists followers of the account, up to 10,000 of them. WeChat lets an account ask 500 times a day.
func (d *driver) List(ctx context.Context, behind string) (openIDs []string, more bool, err error) {
	var result channel.Result
	var page followers
	wrong := d.access.Call(ctx, func(token string) access.Answer {
		query := url.Values{"access_token": {token}}
		if behind != "" {
			query.Set("next_openid", behind)
		}
		reply := d.client.Do(ctx, channel.Request{Method: http.MethodGet, URL: d.below("/cgi-bin/user/get", query)})
		var v channel.Verdict
		var code string
		v, code, page = d.readFollowers(&reply)
		v.Message = strings.ReplaceAll(v.Message, token, channel.Mask)
		result = reply.Result(v)
		switch {
		case v.Class != posthouse.ClassAuth:
			return access.Fine
		case code == "":
			return access.Refused
		}
		return access.Again
	})
	if wrong != nil {
		result = access.Without(wrong, d.client)
	}
	if result.Class != posthouse.ClassOK {
		return nil, false, errors.New("WeChat does not list the followers: " + strings.TrimSpace(result.Code+" "+result.Error))
	}
	return page.Data.OpenIDs, page.Next != "" && len(page.Data.OpenIDs) > 0, nil
}

// readFollowers reads an answer, which names no code on success.
func (d *driver) readFollowers(r *channel.Reply) (v channel.Verdict, code string, page followers) {
	if r.OK() && !r.Cut && json.Unmarshal(r.Body, &page) == nil && page.Total != nil {
		return channel.Verdict{Class: posthouse.ClassOK}, "0", page
	}
	v, code = sendCodes.Read(r, "WeChat", d.codes, &page)
	if v.Class == posthouse.ClassOK || v.Class == posthouse.ClassUnknown {
		v = channel.Verdict{Class: posthouse.ClassTransient, Message: "the answer could not be read"}
	}
	return v, code, page
}
