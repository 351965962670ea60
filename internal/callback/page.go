package callback

import (
	"embed"
	"log/slog"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse/internal/web"
)

//go:embed page.html
var files embed.FS

// page is what a person sees who opens the link in a mail by which one unsubscribes. Looking at it changes nothing: that takes its button.
var page = web.NewLinkedPage(Path, files)

// styled answers for the style of the page, and reports whether it was asked for.
func styled(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || r.PathValue("address") != web.LinkedStyle {
		return false
	}
	page.Begin(w, r)
	return true
}

// show draws the page for a browser, and reports whether it did: a mail program that unsubscribes by one click wants no page.
func show(w http.ResponseWriter, r *http.Request, a reply, log *slog.Logger) bool {
	if a.page == nil || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	if _, ok := page.Begin(w, r); !ok {
		return true
	}
	lang := web.Language(r)
	page.Draw(w, a.status, struct {
		Lang, State, Address string
		T                    map[string]string
	}{lang, stateOf(a), a.page.Address, texts[lang]}, log)
	return true
}

func stateOf(a reply) string {
	switch {
	case a.status != http.StatusOK:
		return "broken"
	case a.page.Asks:
		return "leave"
	}
	return "left"
}

var texts = map[string]map[string]string{
	"zh": {
		"title": "退订邮件", "leave": "确认不再接收这类邮件吗？", "button": "退订", "left": "已退订，您不会再收到这类邮件。", "broken": "暂时无法退订，请稍后再试。", "address": "邮箱",
	},
	"en": {
		"title": "Unsubscribe", "leave": "Do you want to get no more of these mails?", "button": "Unsubscribe", "left": "You are unsubscribed and get no more of these mails.",
		"broken": "You cannot be unsubscribed now. Try again in a moment.", "address": "Mailbox",
	},
}
