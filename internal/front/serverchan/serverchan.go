// Package serverchan is the front for clients that send by ServerChan. Its senders have its address built in: they are for scripts that
// can name another.
package serverchan

import (
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://sct.ftqq.com, https://doc.sc3.ft07.com).
func Form() inbound.Form {
	return inbound.Form{Kind: "serverchan", Paths: []string{"/*.send"}, Title: "ServerChan", TitleZH: "Server 酱", MaxBody: 64 << 10, Read: read, Answer: answer, Setup: setup, Shown: shown}
}

// shown is the token in an address that ends with .send, or in a key of the newer form, sctp, a number and t before it, which some clients
// ask for: they read the number for the host, and are led here by name.
func shown(part string) string {
	part = strings.TrimSuffix(part, ".send")
	if rest, is := strings.CutPrefix(part, "sctp"); is {
		if digits, token, has := strings.Cut(rest, "t"); has && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return token
		}
	}
	return part
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	title, desp := r.Field("title", "text"), r.Field("desp")
	if title == "" {
		return nil, errors.New("title is required")
	}
	m := inbound.Message{Title: title, Text: desp, Markdown: desp, Labels: map[string]string{"tags": r.Field("tags")}, Payload: map[string]any{"short": r.Field("short"), "tags": r.Field("tags")}}
	if desp == "" {
		m.Text = r.Field("short")
	}
	return []inbound.Message{m}, nil
}

func answer(w http.ResponseWriter, _ *inbound.Request, out inbound.Result) {
	status := out.Status.HTTP()
	switch out.Status {
	case inbound.Accepted:
		inbound.AnswerJSON(w, status, map[string]any{"code": 0, "message": "", "data": map[string]any{"pushid": out.ID(), "readkey": out.ID(), "error": "SUCCESS", "errno": 0}})
	case inbound.Unauthorized:
		inbound.AnswerJSON(w, status, map[string]any{"code": 40001, "message": "[AUTH]错误的Key", "info": "错误的Key", "args": []any{nil}, "scode": 461})
	default:
		inbound.AnswerJSON(w, status, map[string]any{"code": 40000 + status%100, "message": out.Reason, "info": out.Reason, "args": []any{nil}, "scode": status})
	}
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the address", Text: s.Address() + ".send\n"},
		{Title: "a try by hand", Text: "curl -d title=try -d desp=hello " + s.Address() + ".send\n"},
	}
}
