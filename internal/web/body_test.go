package web

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// manyKeys is an object of n different keys, and a last one.
func manyKeys(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":{"k%d":1},`, i, i)
	}
	return `{"payload":{` + b.String() + last + `}}`
}

func TestTheReaderNamesEachPlace(t *testing.T) {
	t.Parallel()
	twice, half := "stands twice in its object", `holds half of a surrogate pair (\ud800 to \udfff), which is no character`
	for name, test := range map[string]struct {
		text string
		want []posthouse.Problem
	}{
		"fine":                     {`{"channel":"x","to":null,"payload":{"any":[1,{"thing":null}]},"not_before":"2026-10-01T08:30:00Z"}`, nil},
		"a key twice":              {`{"kind":"a","kind":"a"}`, []posthouse.Problem{{Path: "kind", Message: twice}}},
		"a key twice by an escape": {`{"kind":"a","k\u0069nd":"b"}`, []posthouse.Problem{{Path: "kind", Message: twice}}},
		"the second of two keys":   {manyKeys(1, `"k0":2`), []posthouse.Problem{{Path: "payload.k0", Message: twice}}},
		"the last of 40 keys":      {manyKeys(40, `"k0":2`), []posthouse.Problem{{Path: "payload.k0", Message: twice}}},
		"40 different keys":        {manyKeys(40, `"k40":{"k0":1}`), nil},
		"an odd key":               {`{"payload":{"a.b\n":{"":1,"":2}}}`, []posthouse.Problem{{Path: `payload["a.b\n"][""]`, Message: twice}}},
		"a pair of surrogates":     {`{"kind":"\ud83d\ude00"}`, nil},
		"half a pair":              {`{"kind":"\ude00","ref":"\ud83dx"}`, []posthouse.Problem{{Path: "kind", Message: half}, {Path: "ref", Message: half}}},
		"an escaped backslash":     {`{"kind":"\\ud83d"}`, nil},
	} {
		_, problems, err := sendReader.Read([]byte(test.text))
		if diff := cmp.Diff(test.want, problems); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestWhatIsWrongIsLeftOutOfTheValue(t *testing.T) {
	t.Parallel()
	got, problems, err := sendReader.Read([]byte(`{"channel":7,"kind":"k","to":[{"user":"u","address":{}},5],"content":{"text":"x","title":[]}}`))
	if err != nil || len(problems) != 4 {
		t.Fatalf("got %v and %v, want 4 problems", problems, err)
	}
	want := posthouse.Draft{Kind: "k", To: []posthouse.Recipient{{User: "u"}, {}}, Content: &posthouse.Content{Text: "x"}}
	if diff := cmp.Diff(want, got.Draft); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// refusal is what a reader says of a text, and how many bytes it takes to find it.
func refusal[T any](b Body[T]) func(text []byte) (string, uint64) {
	return func(text []byte) (string, uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := b.Read(text)
		runtime.ReadMemStats(&after)
		said := ""
		for _, p := range ProblemsOf(err) {
			said += p.Path + " " + p.Message
		}
		return said, after.TotalAlloc - before.TotalAlloc
	}
}

// A body of a few megabytes holds more than a million empty objects. None is made before there are known to be too many.
// Not parallel: what others allocate meanwhile would count.
func TestALongListCostsNoMemory(t *testing.T) {
	list := func(open, element string, n int, end string) string {
		return open + strings.Repeat(element+",", n-1) + element + end
	}
	for _, test := range []struct {
		read func([]byte) (string, uint64)
		text string
		want string
	}{
		{refusal(reportReader), list(`{"reports":[`, `{}`, 1_000_000, `]}`), "reports has 1000000 reports: want 1 to 500"},
		{refusal(reportReader), list(`{"reports":[`, `{"report_id":"}],\"{","retry":null}`, 501, ` ] }`), "reports has 501 reports: want 1 to 500"},
		{refusal(sendReader), list(`{"messages":[`, `null`, 1_000_000, `]}`), "messages has 1000000 messages: want 1 to 1000"},
		{refusal(sendReader), list(`{"to":[`, `{}`, 1_000_000, `]}`), "to has 1000000 entries: at most 10000 are allowed"},
		{refusal(sendReader), list(`{"messages":[`, list(`{"to":[`, `{}`, 1500, `]}`), 900, `]}`), "messages[66].to has too many entries: all lists of a request have at most 100000 together"},
		{refusal(eventReader), list(`{"events":[`, `[]`, 1_000_000, `]}`), "events has 1000000 events: want 1 to 1000"},
		{refusal(eventReader), list(`{"events":[`, list(`{"task":{"nodes":[`, `{}`, 9999, `]}}`), 100, `]}`), "events has too many entries: all lists of a request have at most 100000 together"},
		{refusal(holdsReader), list(`{"handouts":[`, "\t1 ", 1_000_000, `]}`), "handouts has 1000000 hand-outs: want 1 to 500"},
		{refusal(usersReader), list(`{"users":[`, `{}`, 1_000_000, `]}`), "users has 1000000 users: want 1 to 10000"},
		{refusal(rosterReader), list(`{"days":{"1":[`, `""`, 1_000_000, `]}}`), "days.1 has 1000000 entries: at most 10000 are allowed"},
		{refusal(jobStatusReader), list(`{"bizIds":[`, `1`, 1_000_000, `]}`), "bizIds has 1000000 entries: at most 10000 are allowed"},
	} {
		got, taken := test.read([]byte(test.text))
		if got != test.want || taken > 1<<20 {
			t.Errorf("%.40s…: got %q with %d bytes of memory, want %q with less than a mebibyte", test.text, got, taken, test.want)
		}
	}
}

// same reads a text with the reader and with encoding/json, and wants one value of both.
func same[T any](t *testing.T, text string) {
	t.Helper()
	got, problems, err := BodyOf[T]().Read([]byte(text))
	if err != nil || problems != nil {
		t.Errorf("%.80s: %v, %v", text, problems, err)
	}
	var want T
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%.80s (-encoding/json +reader):\n%s", text, diff)
	}
}

func TestTheReaderSetsWhatEncodingJSONSets(t *testing.T) {
	t.Parallel()
	type all struct {
		posthouse.Draft
		Pointer *string            `json:"pointer"`
		Deep    **int              `json:"deep"`
		Small   int8               `json:"small"`
		Count   uint16             `json:"count"`
		Share   float64            `json:"share"`
		Yes     *bool              `json:"yes"`
		Maps    map[string]*string `json:"maps"`
		Lists   [][]int            `json:"lists"`
		Free    map[string]any     `json:"free"`
		Raw     []json.RawMessage  `json:"raw"`
		Late    *time.Time         `json:"late"`
		Every   posthouse.Duration `json:"every"`
	}
	same[all](t, ` { } `)
	same[all](t, `null`)
	same[all](t, `{"to":null,"payload":null,"pointer":null,"deep":null,"maps":null,"lists":null,"late":null,"free":null,"every":null,"content":null}`)
	same[all](t, `{"to":[],"maps":{},"lists":[ ],"free":{ },"raw":[],"content":{}}`)
	same[all](t, `{"pointer":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é","deep":-7,"small":-128,"count":65535,"share":-1.5E+2,"yes":true,"every":"90s"}`)
	same[all](t, `{"maps":{"a":"b","":null,"\u0041":"c"},"lists":[null,[],[1,-0,3]],"free":{"a":[1.5,{"b":null}],"c":"d"},"raw":[ 1 ,{"a" : 2},null],"late":"2026-10-01T08:30:00.5+08:00"}`)
	same[all](t, `{"channel":"c","to":[{"user":"u"},null,{"address":"a"}],"content":{"text":"`+strings.Repeat("长", atOnce)+`","media":[{"url":"x"}]},"payload":{"a" : [1]},"priority":"high"}`)
}

func TestANumberThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	type small struct {
		Small int8   `json:"small"`
		Count uint16 `json:"count"`
	}
	want := []posthouse.Problem{{Path: "small", Message: "is 128: want a whole number"}, {Path: "count", Message: "is -1: want a whole number"}}
	got, problems, err := BodyOf[small]().Read([]byte(`{"small":128,"count":-1}`))
	if diff := cmp.Diff(want, problems); diff != "" || err != nil || got != (small{}) {
		t.Errorf("%v, %v (-want +got):\n%s", got, err, diff)
	}
}

func TestTheReaderTakesWhatIsJSONAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`0`, `-0`, `01`, `-`, `+1`, `.5`, `1.`, `1.0`, `1e`, `1e+`, `1E-07`, `0x1`, `NaN`, `1 2`, `"`, `"a`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u00e9"`, "\"\t\"", "\"\x7f\"",
		`nul`, `null`, `nulll`, `tru`, `true`, `false`, `False`, `{`, `{}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1}}`,
		`[`, `[]`, `[,]`, `[1,]`, `[1 2]`, `[1]]`, `[1}`, `{"a":1]`, "\x00", `/**/1`, `'a'`, "\"\xc3\"", "\"\xc3\xa9\"", "\xef\xbb\xbf1",
	} {
		for _, text := range []string{value, ` {"payload" : ` + value + ` } `} {
			_, _, err := sendReader.Read([]byte(text))
			if want := json.Valid([]byte(text)) && utf8.ValidString(text); want != (err == nil) {
				t.Errorf("%q: the error is %v, valid: %t", text, err, want)
			}
		}
	}
}
