package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// Who opens the link in a mail by which one unsubscribes sees a page with a button, in the browser's language. Looking at it changes
// nothing; the button suppresses the mailbox, in whichever case its address is written.
func TestThePageBehindAMailsLinkUnsubscribes(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		const mailbox, mailToken = "Li.Na@example.org", "a token of 16 or more"
		h.put(posthouse.Channel{Name: "mail", Driver: "email", Config: map[string]any{
			"host": "127.0.0.1", "port": 2525, "tls": "opportunistic", "from": "desk@example.com", "callback_url": "https://push.example.com/v1/callbacks/x", "callback_token": mailToken,
		}})
		sum := hmac.New(sha256.New, []byte(mailToken))
		io.WriteString(sum, "unsubscribe\n"+mailbox)
		link := h.hook("mail", "") + "?" + url.Values{"to": {mailbox}, "sum": {base64.RawURLEncoding.EncodeToString(sum.Sum(nil))}}.Encode()
		ask := func(method, path, accept, language string) (status int, kind, text string) {
			h.Helper()
			req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, http.NoBody)
			h.must(err)
			req.Header.Set("Accept", accept)
			req.Header.Set("Accept-Language", language)
			resp, err := http.DefaultClient.Do(req)
			h.must(err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			h.must(err)
			return resp.StatusCode, resp.Header.Get("Content-Type"), string(body)
		}
		suppressed := func() int {
			list, err := h.api.Suppressions.List(h.Context(), "mail", "", client.Filter{})
			h.must(err)
			return len(list.Items)
		}
		const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
		for language, want := range map[string]string{"zh-CN,zh;q=0.9": "确认不再接收", "en-GB": "Do you want to get no more"} {
			status, kind, text := ask(http.MethodGet, link, browser, language)
			if status != http.StatusOK || !strings.HasPrefix(kind, "text/html") || !strings.Contains(text, want) || !strings.Contains(text, `<form method="post">`) || !strings.Contains(text, mailbox) {
				h.Errorf("%s: %d %s\n%s", language, status, kind, text)
			}
		}
		if status, kind, text := ask(http.MethodGet, link, "*/*", ""); status != http.StatusOK || !strings.HasPrefix(kind, "text/plain") || strings.Contains(text, "<") {
			h.Errorf("what is no browser gets %d %s %q", status, kind, text)
		}
		if status, kind, text := ask(http.MethodGet, "/v1/callbacks/style.css", "text/css", ""); status != http.StatusOK || !strings.HasPrefix(kind, "text/css") || !strings.Contains(text, "button") {
			h.Errorf("the style is %d %s", status, kind)
		}
		if n := suppressed(); n != 0 {
			h.Errorf("a look at the page has suppressed %d", n)
		}
		if status, _, text := ask(http.MethodPost, strings.Replace(link, "sum=", "sum=x", 1), browser, "zh"); status != http.StatusForbidden || strings.Contains(text, "<") {
			h.Errorf("a link for somebody else: %d %s", status, text)
		}
		if status, _, text := ask(http.MethodPost, link, browser, "zh"); status != http.StatusOK || !strings.Contains(text, "已退订") || strings.Contains(text, "<form") {
			h.Errorf("the button: %d\n%s", status, text)
		}
		if n := suppressed(); n != 1 {
			h.Errorf("the button has suppressed %d", n)
		}
		done := h.hand(posthouse.Draft{Channel: "mail", To: []posthouse.Recipient{{User: "li.na", Address: "li.na@example.org"}}, Content: &posthouse.Content{Title: "News", Text: "hello"}})
		h.eventually("the mailbox in small letters is suppressed", func() bool { return h.delivery(done.Deliveries[0].ID).State == posthouse.Suppressed })
	})
}
