package preset

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/httpapi"
)

// Shapes are recorded requests and answers of a provider, good and bad.
type Shapes struct {
	// Fields are what the user of the shapes has given. None of it belongs to anybody.
	Fields map[string]string
	List   []Shape
}

// Evidence says how a shape came to be known.
type Evidence string

// The evidence there is.
const (
	Documented Evidence = "documented" // on the provider's own pages
	FromSDK    Evidence = "sdk"        // in, or captured from, the provider's SDK or its own server's source
	Unverified Evidence = "unverified" // by others, or by what is usual
)

// Of says what a shape is about.
type Of string

// What a shape may be about.
const (
	OfMessage Of = "message"
	OfToken   Of = "token"
	OfReceipt Of = "receipt"
)

// Shape is one request with its answer.
type Shape struct {
	Line     int
	Name     string
	Of       Of
	Evidence Evidence
	Source   string
	Send     []channel.Outgoing
	At       httpapi.Moment
	Request  leaves // its leaves; nil for a shape of an answer alone
	Answer   *httpapi.Answer
	Receipt  *channel.Callback
	Want     []Want // one for each recipient, or one for all of them
	Lasts    posthouse.Duration
	Reports  []channel.Report
	Reply    string // to a receipt
	Refused  bool   // the receipt is forged
}

// Want is what an answer means.
type Want struct {
	Class posthouse.Class
	Code  string
	Ref   string
	After posthouse.Duration
	Error string // that the error holds
	Token string
}

// moment is the time of shapes that name none, and id their UUID.
const (
	moment = "2026-11-26T08:00:00Z"
	id     = "3f0d2a52-8f0e-4c5b-9a2c-6d1f0e7b9c11"
)

// frame is what all shapes of a file share.
type frame struct {
	send []channel.Outgoing
	at   httpapi.Moment
}

func parseShapes(name, text string) (*Shapes, error) {
	r := &reader{}
	s := &Shapes{Fields: map[string]string{}}
	f := frame{at: httpapi.Moment{UUID: id}}
	f.at.Now, _ = time.Parse(time.RFC3339, moment)
	if root := r.document(text); root != nil {
		var preset string
		var list []*yaml.Node
		r.members(root, "", map[string]func(*yaml.Node, string){
			"preset": r.text(&preset),
			"fields": func(n *yaml.Node, path string) {
				v, _ := r.setting(n, path, channel.KindMap)
				s.Fields = texts(v)
			},
			"send": func(n *yaml.Node, path string) { f.send = r.send(n, path) },
			"at":   r.time(&f.at.Now), "uuid": r.text(&f.at.UUID), "token": r.text(&f.at.Token),
			"shapes": func(n *yaml.Node, path string) {
				r.items(n, path, func(n *yaml.Node, _ string) { list = append(list, n) })
			},
		})
		if preset != name {
			r.wrong(0, "preset", "is %q, and the preset is %q", preset, name)
		}
		for i, n := range list {
			s.List = append(s.List, r.shape(n, fmt.Sprintf("shapes[%d]", i), f))
		}
	}
	return s, posthouse.Invalid("the shapes cannot be used", r.problems)
}

func (r *reader) time(to *time.Time) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		at, err := time.Parse(time.RFC3339Nano, n.Value)
		if err != nil {
			r.wrong(n.Line, path, "must be a time such as %s", moment)
			return
		}
		*to = at
	}
}

func (r *reader) shape(n *yaml.Node, path string, f frame) (s Shape) {
	s.Line, s.Of, s.Send, s.At = n.Line, OfMessage, f.send, f.at
	var of, evidence string
	r.members(n, path, map[string]func(*yaml.Node, string){
		"name": r.text(&s.Name), "of": r.text(&of), "evidence": r.text(&evidence), "source": r.text(&s.Source),
		"at": r.time(&s.At.Now), "uuid": r.text(&s.At.UUID), "token": r.text(&s.At.Token),
		"send":    func(n *yaml.Node, path string) { s.Send = r.send(n, path) },
		"request": func(n *yaml.Node, path string) { s.Request = r.request(n, path) },
		"answer":  func(n *yaml.Node, path string) { s.Answer = r.answer(n, path) },
		"receipt": func(n *yaml.Node, path string) { s.Receipt = r.receipt(n, path) },
		"want":    func(n *yaml.Node, path string) { r.want(n, path, &s) },
	})
	s.Evidence = Evidence(evidence)
	if of != "" {
		s.Of = Of(of)
	}
	switch {
	case s.Name == "":
		r.wrong(n.Line, path+".name", "is missing")
	case !slices.Contains([]Of{OfMessage, OfToken, OfReceipt}, s.Of):
		r.wrong(n.Line, path+".of", "is %q: want message, token or receipt", of)
	case !slices.Contains([]Evidence{Documented, FromSDK, Unverified}, s.Evidence):
		r.wrong(n.Line, path+".evidence", "is %q: want documented, sdk or unverified", evidence)
	case s.Evidence != Unverified && s.Source == "":
		r.wrong(n.Line, path+".source", "is missing: say where it is documented")
	case (s.Of == OfReceipt) != (s.Receipt != nil):
		r.wrong(n.Line, path+".receipt", "belongs to a shape of: receipt, and to no other")
	case s.Of != OfReceipt && s.Answer == nil:
		r.wrong(n.Line, path+".answer", "is missing")
	case s.Of != OfReceipt && len(s.Want) == 0:
		r.wrong(n.Line, path+".want", "is missing: say what the answer means")
	case s.Of == OfMessage && len(s.Send) == 0:
		r.wrong(n.Line, path+".send", "is missing, here or for all shapes")
	case len(s.Want) > 1 && len(s.Want) != len(s.Send):
		r.wrong(n.Line, path+".want", "has %d results for %d recipients", len(s.Want), len(s.Send))
	}
	return s
}

// send reads what is sent: one delivery, or several of one message.
func (r *reader) send(n *yaml.Node, path string) (list []channel.Outgoing) {
	if n.Kind == yaml.SequenceNode {
		r.items(n, path, func(n *yaml.Node, path string) { list = append(list, r.outgoing(n, path)) })
		return list
	}
	return []channel.Outgoing{r.outgoing(n, path)}
}

func (r *reader) outgoing(n *yaml.Node, path string) channel.Outgoing {
	out := channel.Outgoing{Message: "01M8MESSAGE", Delivery: "01M8DELIVERY", Channel: "shapes", Attempt: 1}
	r.members(n, path, map[string]func(*yaml.Node, string){
		"address": r.text(&out.Recipient.Address), "user": r.text(&out.Recipient.User), "type": r.text(&out.Recipient.Type),
		"title": r.text(&out.Content.Title), "text": r.text(&out.Content.Text), "kind": r.text(&out.Kind), "ref": r.text(&out.Ref),
		"key": r.text(&out.IdemKey), "template": r.text(&out.Template),
		"payload": func(n *yaml.Node, _ string) { out.Payload = asJSON(n) },
	})
	return out
}

// request reads the leaves of a request.
func (r *reader) request(n *yaml.Node, path string) leaves {
	method, address := http.MethodPost, ""
	header := http.Header{}
	var body []byte
	var form bool
	r.members(n, path, map[string]func(*yaml.Node, string){
		"method": r.text(&method), "url": r.text(&address), "headers": r.headers(header), "body": func(n *yaml.Node, _ string) { body = r.body(n) },
		"form": func(n *yaml.Node, path string) {
			v, _ := r.setting(n, path, channel.KindMap)
			body, _ = json.Marshal(texts(v)) // texts have a JSON form
			form = true
		},
	})
	all, err := leavesOf(method, address, header, body, form, everywhere)
	if err != nil {
		r.wrong(n.Line, path, "%s", err)
	}
	return all
}

func (r *reader) headers(into http.Header) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, _ := r.setting(n, path, channel.KindMap)
		for name, value := range texts(v) {
			into.Set(name, value)
		}
	}
}

// body is a text as it is written, and anything else as JSON.
func (r *reader) body(n *yaml.Node) []byte {
	if n.Kind == yaml.ScalarNode {
		return []byte(n.Value)
	}
	return asJSON(n)
}

func (r *reader) answer(n *yaml.Node, path string) *httpapi.Answer {
	a := &httpapi.Answer{Status: http.StatusOK, Header: http.Header{}}
	r.members(n, path, map[string]func(*yaml.Node, string){
		"status": r.whole(&a.Status), "headers": r.headers(a.Header), "body": func(n *yaml.Node, _ string) { a.Body = r.body(n) },
	})
	return a
}

func (r *reader) receipt(n *yaml.Node, path string) *channel.Callback {
	c := &channel.Callback{Method: http.MethodPost, Header: http.Header{}, Query: map[string][]string{}}
	r.members(n, path, map[string]func(*yaml.Node, string){
		"method": r.text(&c.Method), "headers": r.headers(c.Header), "body": func(n *yaml.Node, _ string) { c.Body = r.body(n) },
		"query": func(n *yaml.Node, path string) {
			v, _ := r.setting(n, path, channel.KindMap)
			for name, value := range texts(v) {
				c.Query.Set(name, value)
			}
		},
	})
	return c
}

// want reads what an answer means: of a message one result or one for each recipient.
func (r *reader) want(n *yaml.Node, path string, s *Shape) {
	if n.Kind == yaml.SequenceNode {
		r.items(n, path, func(n *yaml.Node, path string) { r.want(n, path, s) })
		return
	}
	var w Want
	var class string
	r.members(n, path, map[string]func(*yaml.Node, string){
		"class": r.text(&class), "code": r.text(&w.Code), "ref": r.text(&w.Ref), "after": r.duration(&w.After), "error": r.text(&w.Error),
		"token": r.text(&w.Token), "lasts": r.duration(&s.Lasts), "reply": r.text(&s.Reply), "refused": r.truth(&s.Refused),
		"reports": func(n *yaml.Node, path string) {
			r.items(n, path, func(n *yaml.Node, path string) { s.Reports = append(s.Reports, r.report(n, path)) })
		},
	})
	w.Class = posthouse.Class(class)
	if class != "" && !w.Class.Valid() {
		r.wrong(n.Line, path+".class", "is %q: want one of %v", class, posthouse.Classes())
	}
	s.Want = append(s.Want, w)
}

func (r *reader) report(n *yaml.Node, path string) channel.Report {
	out := channel.Report{Receipt: channel.Receipt{Known: true}}
	r.members(n, path, map[string]func(*yaml.Node, string){
		"ref": r.text(&out.Ref), "address": r.text(&out.Address), "delivered": r.truth(&out.Delivered), "code": r.text(&out.Code),
	})
	return out
}

// asJSON is a node as JSON: numbers and truths as they are written, and all other scalars as texts.
func asJSON(n *yaml.Node) json.RawMessage {
	var b strings.Builder
	writeJSON(&b, n)
	return json.RawMessage(b.String())
}

func writeJSON(b *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quoted(n.Content[i].Value))
			b.WriteByte(':')
			writeJSON(b, n.Content[i+1])
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case yaml.AliasNode:
		writeJSON(b, n.Alias)
	default:
		switch tag := n.ShortTag(); {
		case (tag == "!!int" || tag == "!!float" || tag == "!!bool" || tag == "!!null") && json.Valid([]byte(n.Value)):
			b.WriteString(n.Value)
		default:
			b.Write(quoted(n.Value))
		}
	}
}

func quoted(s string) []byte {
	out, _ := json.Marshal(s) // a text has a JSON form
	return out
}
