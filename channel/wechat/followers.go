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
	query := url.Values{}
	if behind != "" {
		query.Set("next_openid", behind)
	}
	var page followers
	if err := d.ask(ctx, "the followers", "/cgi-bin/user/get", query, &page, func() bool { return page.Total != nil }); err != nil {
		return nil, false, err
	}
	return page.Data.OpenIDs, page.Next != "" && len(page.Data.OpenIDs) > 0, nil
}

// ask reads what the account has at WeChat into a value. An answer on success names no code, or 0: is says whether it is one. what is
// what an error says that WeChat does not list.
func (d *driver) ask(ctx context.Context, what, path string, query url.Values, into any, is func() bool) error {
	var result channel.Result
	err := d.access.Call(ctx, func(token string) access.Answer {
		query.Set("access_token", token)
		reply := d.client.Do(ctx, channel.Request{Method: http.MethodGet, URL: d.below(path, query)})
		var v channel.Verdict
		code := "0"
		if reply.OK() && !reply.Cut && json.Unmarshal(reply.Body, into) == nil && is() {
			v = channel.Verdict{Class: posthouse.ClassOK}
		} else if v, code = sendCodes.Read(&reply, "WeChat", d.codes, into); v.Class == posthouse.ClassOK || v.Class == posthouse.ClassUnknown {
			v = channel.Verdict{Class: posthouse.ClassTransient, Message: "the answer could not be read"}
		}
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
	if err != nil {
		result = access.Without(err, d.client)
	}
	if result.Class != posthouse.ClassOK {
		return errors.New("WeChat does not list " + what + ": " + strings.TrimSpace(result.Code+" "+result.Error))
	}
	return nil
}
