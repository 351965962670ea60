package limittext_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse/internal/limittext"
)

func TestACharacterThatIsNoJSONIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"甲{}":           "invalid character '甲' looking for beginning of value",
		`{"a":1 甲}`:     "invalid character '甲' after object key:value pair",
		`{"a":“b”}`:     "invalid character '“' looking for beginning of value",
		"x":             "invalid character 'x' looking for beginning of value",
		"{":             "unexpected end of JSON input",
		"{}\"":          `invalid character '"' after top-level value`,
		"{\"a\":\"\x01": `invalid character '\x01' in string literal`,
	} {
		var syntax *json.SyntaxError
		var ignored any
		if err := json.Unmarshal([]byte(text), &ignored); !errors.As(err, &syntax) {
			t.Fatalf("%q is no wrong JSON: %v", text, err)
		}
		if got := limittext.Syntax([]byte(text), syntax); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
