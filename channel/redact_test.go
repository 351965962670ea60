package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posthouse/posthouse/channel"
)

func TestRedactorMasksSecretsWhereverTheyStand(t *testing.T) {
	t.Parallel()
	const secret = `s3"cr&t/ü 1`
	r := channel.NewRedactor(secret)
	for _, text := range []string{
		secret, "x" + secret + "y", `{"v":"s3\"cr&t/ü 1"}`, `{"v":"s3\"cr\u0026t/ü 1"}`, "/s3%22cr&t%2F%C3%BC%201", "?v=s3%22cr%26t%2F%C3%BC+1",
		"<v>s3&#34;cr&amp;t/ü 1</v>", `<v a="s3&quot;cr&amp;t/ü 1"/>`, `<v>s3"cr&amp;t/ü 1</v>`,
	} {
		got := r.Text(text)
		if strings.Contains(got, "cr") || !strings.Contains(got, channel.Mask) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	r = channel.NewRedactor(`p&ss'"<word>`)
	for _, text := range []string{
		"p&amp;ss&#39;&#34;&lt;word&gt;", "p&amp;ss&apos;&quot;&lt;word&gt;", "p&amp;ss&#39;&quot;&lt;word&gt;", "p&amp;ss&#x27;&quot;&lt;word&gt;",
		"p&amp;ss&#039;&quot;&lt;word&gt;", "p&amp;ss'&quot;&lt;word&gt;", `p&amp;ss'"&lt;word&gt;`,
	} {
		if got := r.Text(text); got != channel.Mask {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	r = channel.NewRedactor("longer-longer", "longer")
	if got := r.Text("longer-longer"); got != channel.Mask {
		t.Errorf("a secret that holds another becomes %q", got)
	}
	if got := channel.NewRedactor("abc").Text("abc"); got != "abc" {
		t.Errorf("a secret too short to be one is masked: %q", got)
	}
}

func TestRedactorMasksNamesThatSaySecret(t *testing.T) {
	t.Parallel()
	r := channel.NewRedactor()
	for text, want := range map[string]string{
		"POST https://x/send?access_token=abc&id=7":    "POST https://x/send?access_token=********&id=7",
		"/webhook/send?key=693a-91f6&x=1":              "/webhook/send?key=********&x=1",
		"a=1&sign=ZZ%3D&corpsecret=q&timestamp=5":      "a=1&sign=********&corpsecret=********&timestamp=5",
		`{"token":"a\"b","n":1}`:                       `{"token":"********","n":1}`,
		`{"app_secret" : "abc", "key":"kept"}`:         `{"app_secret" : "********", "key":"kept"}`,
		`{"password":12345}`:                           `{"password":********}`,
		`"{\"access_token\":\"abc\",\"a\":\"b\"}"`:     `"{\"access_token\":\"********\",\"a\":\"b\"}"`,
		"Authorization: Bearer a b c\r\nAccept: */*":   "Authorization: ********\r\nAccept: */*",
		"Set-Cookie: sid=1; Path=/\nX: y":              "Set-Cookie: ********\nX: y",
		"X-Api-Key: abc":                               "X-Api-Key: ********",
		"<token>abc</token><code>0</code>":             "<token>********</token><code>0</code>",
		`{"token":"cut off he`:                         `{"token":"********`,
		`{"idempotency_key":"01K0","msgid":"1","c":0}`: `{"idempotency_key":"01K0","msgid":"1","c":0}`,
		"secret=":                        "secret=",
		"https://example.com:8080/a?b=c": "https://example.com:8080/a?b=c",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestRedactorShortensPhoneNumbers(t *testing.T) {
	t.Parallel()
	r := channel.NewRedactor()
	for text, want := range map[string]string{
		"13812345678":                "138****5678",
		"to=13812345678,13912345678": "to=138****5678,139****5678",
		"+8613812345678":             "+86138****5678",
		`{"mobile":"13812345678"}`:   `{"mobile":"138****5678"}`,
		"1381234567":                 "1381234567",
		"138123456789":               "138123456789",
		"1760000000000":              "1760000000000",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestExcerptShowsNoHalfSecret(t *testing.T) {
	t.Parallel()
	r := channel.NewRedactor("correct-horse-battery-staple")
	text := strings.Repeat("a", 90) + " correct-horse-battery-staple " + strings.Repeat("b", 90)
	for max := 80; max < 130; max++ {
		got := r.Excerpt([]byte(text), max)
		if strings.Contains(got, "correct") || len(got) > max+len("…") {
			t.Errorf("cut at %d: %q", max, got)
		}
	}
}

func TestRedactedTextsFitADatabaseAndALine(t *testing.T) {
	t.Parallel()
	r := channel.NewRedactor()
	if got := r.Text("a\x00b\xff中"); got != "a\uFFFDb\uFFFD中" {
		t.Errorf("Text: %q", got)
	}
	if got := r.Line(" a\r\nb\x1b[1m\u2028c ", 100); got != "a  b [1m c" {
		t.Errorf("Line: %q", got)
	}
	if got := r.Excerpt([]byte("中中中"), 4); got != "中…" {
		t.Errorf("Excerpt: %q", got)
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("token=abc&x=1", 10)
	f.Add(`{"secret":"a\"b","mobile":"13812345678"}`, 20)
	f.Add("Authorization: x\n<sign>k</sign>hunter2hunter2", 40)
	r := channel.NewRedactor("hunter2")
	f.Fuzz(func(t *testing.T, s string, max int) {
		max = max & 0xfff
		got := r.Excerpt([]byte(s), max)
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") || strings.Contains(got, "hunter2") || len(got) > max+len("…") {
			t.Errorf("%q becomes %q at %d", s, got, max)
		}
	})
}

func ExampleRedactor() {
	r := channel.NewRedactor("hunter2")
	fmt.Println(r.Text(`POST /send?access_token=8fa1 {"to":"13812345678","note":"hunter2"}`))
	// Output: POST /send?access_token=******** {"to":"138****5678","note":"********"}
}

func BenchmarkExcerpt(b *testing.B) {
	r := channel.NewRedactor("k-5f2b9c71d8e04", "another-secret")
	body := []byte(`POST https://gateway.example.com/send
{"to":"13812345678","title":"值班提醒","text":"` + strings.Repeat("Please call back. ", 12) + `","attempt":1}`)
	b.ReportAllocs()
	for b.Loop() {
		r.Excerpt(body, 2048)
	}
}
