package simulator

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

func TestPageSaysWhenNothingArrived(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for lang, want := range map[string][]string{
		"en": {`lang="en"`, "Nothing has arrived yet.", "curl " + url + "/tianyuan/api/message/send", "lost-answer", ">中文</a>", `http-equiv="refresh"`},
		"zh": {`lang="zh-CN"`, "还没有消息到达。", "天元", "招呼", ">English</a>"},
	} {
		got := call(t, "GET", url+"/?lang="+lang, "")
		for _, part := range want {
			if got.status != 200 || !strings.Contains(got.body, part) {
				t.Errorf("%s: the page (%d) lacks %q", lang, got.status, part)
			}
		}
	}
}

func TestPageFollowsTheBrowsersLanguage(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	got := call(t, "GET", url+"/", "", "Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	if !strings.Contains(got.body, "Posthouse 模拟器") {
		t.Error("a Chinese browser gets no Chinese page")
	}
}

func TestPageShowsArrivalsAndFaultsNewestFirst(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	send(t, url, "first-user", "second-user", "fail-recipient")
	call(t, "POST", url+"/oa/messages", "to=third-user&body="+strings.Repeat("long", 1000))
	must(t, sim.Behave("oa", Behaviour{
		Faults: []Fault{{Kind: ServerError, Status: 502, Probability: new(0.25), Recipient: "u*", Times: 3, Latency: seconds1()}},
		Limit:  &Limit{Max: 5, Per: seconds1(), Lockout: seconds1()},
	}))
	body := call(t, "GET", url+"/?lang=en&still=1", "").body
	for _, part := range []string{"server_error 502 1s 25% → u* ×3", "limit 5 / 1s lockout 1s", "unknown_user", "Refresh every 3 s"} {
		if !strings.Contains(body, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Contains(body, `http-equiv="refresh"`) {
		t.Error("a still page refreshes itself")
	}
	if first, second := strings.Index(body, "first-user"), strings.Index(body, "second-user"); first < second || second < 0 {
		t.Errorf("first-user at %d, second-user at %d; want the newest first", first, second)
	}
	if len(body) > 20_000 {
		t.Errorf("the page has %d bytes: a long text is not cut", len(body))
	}
	if body = call(t, "GET", url+"/?provider=oa", "").body; strings.Contains(body, "first-user") || !strings.Contains(body, "third-user") {
		t.Error("the page of one provider shows another's arrivals")
	}
}

func TestPageEscapesWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	evil := `<script>alert(1)</script>`
	call(t, "POST", url+"/generic/send", `{"to":"`+evil+`","title":"`+evil+`","text":"`+evil+`","id":"`+evil+`"}`)
	got := call(t, "GET", url+"/", "")
	if strings.Contains(got.body, "<script") || strings.Count(got.body, "&lt;script&gt;") != 4 {
		t.Errorf("the page holds a script: %s", got.body)
	}
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("got policy %q", policy)
	}
	for _, inline := range []string{"<style", " style=", " on", "javascript:"} {
		if strings.Contains(got.body, inline+"=") || strings.Contains(got.body, inline+">") {
			t.Errorf("the page holds inline %q, which its policy forbids", inline)
		}
	}
}

func TestPageServesItsStyle(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	got := call(t, "GET", url+"/style.css", "")
	if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/css") {
		t.Errorf("got %d %s", got.status, got.header.Get("Content-Type"))
	}
}

func TestPageHasEachWordInBothLanguages(t *testing.T) {
	t.Parallel()
	var source []byte
	for _, name := range []string{"page.html", "phones.html"} {
		text, err := assets.ReadFile(name)
		must(t, err)
		source = append(source, text...)
	}
	for _, w := range pageWords {
		if w.en == "" || w.zh == "" {
			t.Errorf("%s: a language is missing", w.name)
		}
		if !strings.Contains(string(source), ".Text."+w.name) {
			t.Errorf("%s: the page does not use it", w.name)
		}
	}
	used := strings.Split(string(source), ".Text.")[1:]
	words := wordsOf(false)
	for _, rest := range used {
		name := rest[:strings.IndexFunc(rest, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })]
		if words[name] == "" {
			t.Errorf("the page uses %q, which has no words", name)
		}
	}
}

func TestFaultLinesAreShort(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]Fault{
		"hang":                     {Kind: Hang},
		"business too_fast ×2":     {Kind: Business, Code: TooFast, Times: 2},
		"latency 1s ±1m":           {Kind: Latency, Latency: seconds1(), Jitter: 60 * seconds1()},
		"redirect 307 12.5% → a-?": {Kind: Redirect, Status: 307, Probability: new(0.125), Recipient: "a-?"},
	} {
		if got := (Behaviour{Faults: []Fault{fault}}).lines()[0]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := optional("x", posthouse.Duration(0)); got != "" {
		t.Errorf("got %q for no duration", got)
	}
}
