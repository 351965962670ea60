// Package pushplus is the front for clients that send by PushPlus.
package pushplus

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://www.pushplus.plus/doc/guide/api.html).
func Form() inbound.Form {
	return inbound.Form{Kind: "pushplus", Paths: []string{"/send"}, Title: "PushPlus", TitleZH: "PushPlus 推送加", MaxBody: 128 << 10, Read: read, Answer: answer, Setup: setup, Tokens: tokens}
}

func tokens(r *inbound.Request) []string { return []string{r.Field("token")} }

// tags are those of HTML, which is what its contents are unless they say otherwise.
var tags = regexp.MustCompile(`<[^>]{1,200}>`)

var breaks = strings.NewReplacer("<br>", "\n", "<br/>", "\n", "<br />", "\n", "</p>", "\n", "&nbsp;", " ", "&lt;", "‹", "&gt;", "›", "&amp;", "&")

func read(r *inbound.Request) ([]inbound.Message, error) {
	content := r.Field("content")
	if content == "" {
		return nil, errors.New("content is required")
	}
	if ms, err := strconv.ParseInt(r.Field("timestamp"), 10, 64); err == nil && time.UnixMilli(ms).Before(r.Now) {
		r.Note("its timestamp has passed: it asks for no message")
		return nil, nil
	}
	m := inbound.Message{Title: r.Field("title"), Text: content, Labels: map[string]string{"topic": r.Field("topic"), "channel": r.Field("channel")}, Payload: map[string]any{"topic": r.Field("topic")}}
	switch r.Field("template") {
	case "", "html":
		m.Text = strings.TrimSpace(tags.ReplaceAllString(breaks.Replace(content), ""))
	case "markdown":
		m.Markdown = content
	}
	return []inbound.Message{m}, nil
}

func answer(w http.ResponseWriter, _ *inbound.Request, out inbound.Result) {
	status, code, text := http.StatusOK, 200, "请求成功" // it answers 200 whatever happens
	switch out.Status {
	case inbound.Accepted:
	case inbound.Unauthorized:
		code, text = 903, "无效的用户令牌"
	case inbound.Unavailable: // who looks at the status alone must not take it for done
		status, code, text = http.StatusServiceUnavailable, 500, out.Reason
	default:
		code, text = 999, out.Reason
	}
	inbound.AnswerJSON(w, status, map[string]any{"code": code, "msg": text, "data": out.ID(), "count": nil})
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the address, and the token", Text: s.URL + "/send\n" + s.Token + "\n"},
		{Title: "a try by hand", Text: "curl -H 'Content-Type: application/json' -d '{\"token\":\"" + s.Token + "\",\"title\":\"try\",\"content\":\"hello\"}' " + s.URL + "/send\n"},
	}
}
