package inbound

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Fields are the texts of a request by name: those of its query, and above them those of its body, which is a form or a JSON object.
// Of a JSON object, what is no text or number is left out. It is empty where the body is none of both.
func (r *Request) Fields() map[string]string {
	if r.parsed == nil {
		r.parsed = map[string]string{}
		for name, list := range r.URL.Query() {
			r.parsed[name] = list[0]
		}
		r.readFields()
	}
	return r.parsed
}

// Field is the first of some fields that is not empty.
func (r *Request) Field(names ...string) string {
	fields := r.Fields()
	for _, name := range names {
		if fields[name] != "" {
			return fields[name]
		}
	}
	return ""
}

func (r *Request) readFields() {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	text := bytes.TrimSpace(r.Body)
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		var object map[string]any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&object) == nil {
			for name, v := range object {
				switch v.(type) {
				case string, json.Number, bool:
					r.parsed[name] = fmt.Sprint(v)
				}
			}
		}
	case kind == "multipart/form-data":
		form, err := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"]).ReadForm(int64(len(r.Body)))
		if err != nil {
			return
		}
		defer func() { _ = form.RemoveAll() }() // nothing of it is on disk: it is smaller than its bound
		for name, list := range form.Value {
			r.parsed[name] = list[0]
		}
	case kind == "application/x-www-form-urlencoded" || kind == "" && strings.Contains(string(text), "="):
		values, err := url.ParseQuery(string(text))
		if err != nil {
			return
		}
		for name, list := range values {
			r.parsed[name] = list[0]
		}
	}
}

// Scale is the priority of a number, where low is the highest that is low and high the lowest that is high. A text that is no number has
// none.
func Scale(text string, low, high int) posthouse.Priority {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil:
		return ""
	case n >= high:
		return posthouse.High
	case n <= low:
		return posthouse.Low
	}
	return posthouse.Normal
}
