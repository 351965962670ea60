package suppressions_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/wire"
)

// upload sends the form of the import with a file.
func upload(h *consoletest.House, session, file string, fields url.Values, change ...func(*http.Request)) consoletest.Reply {
	h.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name := range fields {
		if err := w.WriteField(name, fields.Get(name)); err != nil {
			h.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "left.csv")
	if err == nil {
		_, err = io.WriteString(part, file)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		h.Fatal(err)
	}
	return h.Ask(session, at+"/import", url.Values{}, func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(&body), int64(body.Len())
		r.Header.Set("Content-Type", w.FormDataContentType())
		for _, f := range change {
			f(r)
		}
	})
}

// sure is the form of a look, to be sent as it is.
func sure(page string) url.Values {
	form := url.Values{"note": {"list of May"}}
	_, page, _ = strings.Cut(page, `<article id="look">`)
	for _, name := range []string{"sure", "csv", "channel", "until", "reason"} {
		form.Set(name, consoletest.Hidden(page, name))
	}
	return form
}

// A file in any encoding is looked at, and stored when that is confirmed: what it does not say is of the form.
func TestAFileIsImportedAfterALook(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	h.API("POST", "/v1/suppressions", `{"address":"13800138000","channel":"sms","reason":"before"}`, nil)
	text := "手机号,reason,until\n13800138000,五月退订,\n13900139000,,2099-01-01T00:00:00Z\n,,\n13700137000,,yesterday\n"
	gbk, err := simplifiedchinese.GB18030.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	fields := url.Values{"channel": {"sms"}, "reason": {"文件"}}
	var look consoletest.Reply
	for name, file := range map[string]string{"GBK": gbk, "UTF-16": wide, "UTF-8": text} {
		look = upload(h, "admin", file, fields)
		if look.Status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", name, look.Status, look.Body)
		}
		h.Shows(look.Body, "Lines that will be stored: <strong>2</strong>", "are replaced: <strong>1</strong>", "left out: <strong>2</strong>", "五月退订", "2099-01-01 08:00:00", "yesterday", `<td class="lead">5</td>`)
	}
	if got := fmt.Sprint(stored(h)); got != "map[13800138000@sms:before]" {
		t.Fatalf("a look has stored: %s", got)
	}
	if got := h.Ask("operator", at+"/import", sure(look.Body)); got.Status != http.StatusForbidden {
		t.Errorf("an operator imports: %d", got.Status)
	}
	form := sure(look.Body)
	form.Set("click", "1")
	for range 2 {
		if got := h.Ask("admin", at+"/import", form); got.To() != at+"?said=stored&source=import" {
			t.Fatalf("storing: %d %s", got.Status, got.Body)
		}
	}
	if got := fmt.Sprint(stored(h)); got != "map[13800138000@sms:五月退订 13900139000@sms:文件]" {
		t.Errorf("stored: %s", got)
	}
	var log struct{ Items []wire.AuditEntry }
	if h.API("GET", "/v1/audit?key=person:admin", "", &log); len(log.Items) != 1 || log.Items[0].Note != "list of May" || log.Items[0].Action != "suppressions.import" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// What the page saves is read again as it was, also what it has guarded from spreadsheets.
func TestAFileThatWasSavedIsReadAgain(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	h.API("POST", "/v1/suppressions", `{"address":"+8613800138000","channel":"sms","reason":"=left","until":"2099-01-01T00:00:00Z"}`, nil)
	h.API("POST", "/v1/suppressions", `{"address":"a@example.com"}`, nil)
	before := listed(h)
	file := h.Ask("viewer", at+".csv", nil)
	h.Shows(file.Body, "'+8613800138000,sms,'=left,2099-01-01T00:00:00Z")
	for _, s := range before {
		h.API("DELETE", "/v1/suppressions?address="+url.QueryEscape(s.Address)+"&channel="+s.Channel, "", nil)
	}
	if got := h.Ask("admin", at+"/import", sure(upload(h, "admin", file.Body, nil).Body)); got.Status != http.StatusSeeOther {
		t.Fatalf("storing: %d %s", got.Status, got.Body)
	}
	after := listed(h)
	if len(after) != 2 || len(before) != 2 {
		t.Fatalf("before %+v, after %+v", before, after)
	}
	for i := range after {
		if a, b := after[i], before[i]; a.Address != b.Address || a.Channel != b.Channel || a.Reason != b.Reason || !a.Until.Equal(b.Until) {
			t.Errorf("got %+v, want %+v", a, b)
		}
	}
}

func listed(h *consoletest.House) []posthouse.Suppression {
	h.Helper()
	var page wire.Page[posthouse.Suppression]
	h.API("GET", "/v1/suppressions", "", &page)
	return page.Items
}

// A file that is none, that is too long or has no line to store says so in the visitor's language, beside its field.
func TestAFileThatCannotBeImportedSaysSo(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	for name, c := range map[string]struct{ file, zh, en string }{
		"none":      {"", "请选择文件", "choose a file"},
		"a picture": {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "不是表格", "and no table"},
		"long":      {"address\n" + strings.Repeat("someone@example.com\n", 50_000), "超过 900 KB", "longer than 900 KB"},
	} {
		for lang, want := range map[string]string{"zh-CN": c.zh, "en": c.en} {
			got := upload(h, "admin", c.file, url.Values{"reason": {"来电要求"}}, func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
			if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, want) || !strings.Contains(got.Body, `data-problem="file"`) {
				t.Errorf("%s in %s: %d, want %q\n%.3000s", name, lang, got.Status, want, got.Body)
			}
		}
	}
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	odd := "address,channel,until\na,none,\nb,,2001-01-01T00:00:00Z\nc,,soon\nd,5,\n"
	zh := upload(h, "admin", odd, nil, chinese).Body
	h.Shows(zh, "生效渠道：没有渠道 &#34;none&#34;", "有效期至：为 2001-01-01T00:00:00Z，已经过去", "有效期至：为 &#34;soon&#34;，应为时间", "1")
	h.Shows(upload(h, "admin", odd, nil).Body, "Holds for: there is no channel", "Until: is 2001-01-01T00:00:00Z, which has passed", "Until: is &#34;soon&#34;: want a time such as")
	look := upload(h, "admin", "address\n\"\"\n", nil)
	if strings.Contains(look.Body, `<button>Confirm`) {
		t.Error("what stores nothing is offered to be stored")
	}
	if len(stored(h)) != 0 {
		t.Errorf("stored: %v", stored(h))
	}
}

// A workbook of several sheets is kept by the form until its sheet is chosen: what was not looked at is not stored.
func TestASheetIsChosen(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	book := consoletest.Workbook(t, consoletest.Sheet{Name: "说明", Rows: [][]any{{"字段", "说明"}, {"手机号", "必填"}}},
		consoletest.Sheet{Name: "五月", Rows: [][]any{{"手机号"}, {"13800138000"}}}, consoletest.Sheet{Name: "六月", Rows: [][]any{{"电话"}, {"13900139000"}}})
	look := upload(h, "admin", book, url.Values{"reason": {"文件"}})
	h.Shows(look.Body, "13800138000", `<option value="五月" selected>`, `<option value="六月">`)
	form := sure(look.Body)
	form.Set("book", consoletest.Hidden(look.Body, "book"))
	form.Set("seen", consoletest.Hidden(look.Body, "seen"))
	form.Set("sheet", "六月")
	look = h.Ask("admin", at+"/import", form)
	h.Shows(look.Body, "13900139000", `<option value="六月" selected>`, `name="seen" value="六月"`)
	form.Set("sheet", "说明")
	h.Shows(h.Ask("admin", at+"/import", form).Body, `data-problem`, `<option value="说明" selected="">`)
	if len(stored(h)) != 0 {
		t.Fatalf("stored: %v", stored(h))
	}
	form.Set("sheet", "六月")
	form.Set("seen", "六月")
	if got := h.Ask("admin", at+"/import", form); got.Status != http.StatusSeeOther {
		t.Fatalf("storing: %d %s", got.Status, got.Body)
	}
	if got := fmt.Sprint(stored(h)); got != "map[+8613900139000@:文件]" {
		t.Errorf("stored: %s", got)
	}
}
