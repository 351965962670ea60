package preset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// leavesOf takes a request apart into what can be compared and mutated by itself: the method, the URL without its query, each parameter, each header and
// each value of the body, also within JSON that stands in a text where deep says so of its path.
func leavesOf(method, address string, header http.Header, body []byte, form bool, deep func(path string) bool) (leaves, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%.100q is not a URL with a host", address)
	}
	l := picked{leaves{"method": method, "url": u.Scheme + "://" + u.Host + u.EscapedPath()}, deep}
	for name, values := range u.Query() {
		l.leaves["query."+name] = strings.Join(values, "\n")
	}
	for name, values := range header {
		l.leaves["header."+http.CanonicalHeaderKey(name)] = strings.Join(values, "\n")
	}
	switch {
	case len(body) == 0:
	case form && json.Valid(body):
		l.json("body", body)
	default:
		l.text("body", string(body))
	}
	return l.leaves, nil
}

// leaves are the values of a request by where they stand.
type leaves map[string]string

// everywhere looks into every text.
func everywhere(string) bool { return true }

// leavesIn are those of a request that is about to be sent, or has come.
func leavesIn(r channel.Request, deep func(path string) bool) (leaves, error) {
	body, form := r.Body, strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	if form {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, fmt.Errorf("the body is not a form: %w", err)
		}
		flat := map[string]string{}
		for name := range values {
			flat[name] = strings.Join(values[name], "\n")
		}
		body, _ = json.Marshal(flat) // texts have a JSON form
	}
	return leavesOf(r.Method, r.URL.String(), r.Header, body, form, deep)
}

// picked collects leaves.
type picked struct {
	leaves
	deep func(path string) bool
}

// inner is behind the path of a text that is JSON.
const inner = "»"

// text adds a text, or what is in it where it is JSON.
func (l picked) text(path, text string) {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if l.deep(path) && json.Valid([]byte(trimmed)) {
			l.json(path, []byte(trimmed))
			return
		}
	}
	l.leaves[path] = text
}

func (l picked) json(path string, raw []byte) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		l.value(path, v)
	}
}

func (l picked) value(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			l.leaves[path] = "{}"
		}
		for name, member := range v {
			l.value(path+"."+name, member)
		}
	case []any:
		if len(v) == 0 {
			l.leaves[path] = "[]"
		}
		for i, item := range v {
			l.value(fmt.Sprintf("%s[%d]", path, i), item)
		}
	case string:
		below := picked{leaves{}, l.deep}
		if below.text(path+inner, v); below.leaves[path+inner] != v {
			maps.Copy(l.leaves, below.leaves)
			return
		}
		l.leaves[path] = `"` + v + `"`
	default:
		l.leaves[path] = fmt.Sprint(v)
	}
}

// compare says how a request differs from the one that was recorded. Content-Type and User-Agent count where they were recorded.
func compare(want, got leaves) (differences []string) {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		switch value, there := got[path]; {
		case !there:
			differences = append(differences, fmt.Sprintf("%s is missing, want %s", path, want[path]))
		case value != want[path]:
			differences = append(differences, fmt.Sprintf("%s is %s, want %s", path, value, want[path]))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[path]; !there && path != "header.Content-Type" {
			differences = append(differences, fmt.Sprintf("%s is %s, and is not in the shape", path, got[path]))
		}
	}
	return differences
}
