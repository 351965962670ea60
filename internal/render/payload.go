package render

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Fields reads the fields of a payload, each as it is written. It is empty for nothing and null. The
// error is a sentence for the sender.
func Fields(payload json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(payload)) == 0 {
		return fields, nil
	}
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, errors.New("the payload must be a JSON object")
	}
	if fields == nil { // null
		fields = map[string]json.RawMessage{}
	}
	return fields, nil
}

// Object writes a payload's fields, in the order of their names, each as it is.
func Object(fields map[string]json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(fields)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
