package dingtalk

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errPayload = errors.New("the payload is not a JSON object, so it has no parameters")

// encoded is a value as JSON, with < and > as they are: DingTalk counts bytes.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts, numbers and lists of them
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
