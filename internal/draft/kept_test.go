package draft_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

func TestAPayloadIsOneThatEveryDatabaseReads(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		``: "", `null`: "", `{}`: "", `{"a":"😀 \ud83d\ude00 \u00e9 \\u0000 \\ud83d \" \/"}`: "",
		`{"a":"\u0000"}`:                "holds the character U+0000",
		`{"a":{"x\u0000":1}}`:           "holds the character U+0000",
		`{"a":[1,"\\\u0000"]}`:          "holds the character U+0000",
		`{"a":"\ud83d"}`:                "half of a surrogate pair",
		`{"\uDE00":1}`:                  "half of a surrogate pair",
		`{"a":"\ud83d\u0041"}`:          "half of a surrogate pair",
		`{"a":"\ud83dx\ude00"}`:         "half of a surrogate pair",
		`{"a":"\ud83d","b":"\ude00"}`:   "half of a surrogate pair",
		`{"a":"\ud83d\ude00\ud83d\\u"}`: "half of a surrogate pair",
		"{\"a\":\"\xff\"}":              "is not valid UTF-8",
		`[1]`:                           "must be a JSON object",
		`{"a`:                           "must be a JSON object",
		`{"a":"` + strings.Repeat("x", 1<<18) + `"}`: "at most 262144 are allowed",
	} {
		d := posthouse.Draft{Channel: "c", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "x"}, Payload: json.RawMessage(payload)}
		p := &draft.Problems{}
		draft.Check(&d, 1, time.Now(), p)
		got := ""
		if len(p.List) > 0 {
			got = p.List[0].Path + ": " + p.List[0].Message
		}
		if len(p.List) > 1 || (want == "") != (got == "") || !strings.Contains(got, want) || want != "" && !strings.HasPrefix(got, "payload: ") {
			t.Errorf("%.60s: got %q, want payload: %q", payload, got, want)
		}
	}
}
