package simulator

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/preset"
	"github.com/posthouse/posthouse/presets"
)

// presetPath is where presets are played, and presetPrefix is before their names where providers are named.
const (
	presetPath   = "/presets/"
	presetPrefix = "preset-"
)

// stages are the presets that are played: each once it is first called, by its files.
type stages struct {
	files []fs.FS
	o     Options

	mu  sync.Mutex
	all map[string]*fake
}

func newStages(o Options) *stages {
	s := &stages{files: []fs.FS{presets.Files()}, o: o, all: map[string]*fake{}}
	if o.Presets != nil {
		s.files = append(s.files, o.Presets)
	}
	return s
}

// fake is a preset at work, nil where there is none of this name.
func (s *stages) fake(name string) (*fake, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.all[name]; f != nil {
		return f, nil
	}
	for _, files := range s.files {
		p, err := preset.One(files, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		player, err := preset.NewPlayer(p, presetPath+name)
		if err != nil {
			return nil, fmt.Errorf("the preset %s cannot be played: %w", name, err)
		}
		st := &stage{Player: player}
		f := newFake(st.provider(p), s.o)
		s.all[name] = f
		return f, nil
	}
	return nil, posthouse.Errorf(posthouse.CodeNotFound, "there is no preset %.80q", name)
}

// played are those that were called or told how to behave.
func (s *stages) played() []*fake {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*fake
	for _, f := range s.all {
		list = append(list, f)
	}
	return list
}

// stage plays one preset.
type stage struct {
	*preset.Player
	tokens tokens
}

func (s *stage) provider(p *preset.Preset) provider {
	prefix := strings.NewReplacer("-", "", "_", "").Replace(p.Name)
	if s.Numbered() {
		prefix = ""
	}
	return provider{
		name: presetPrefix + p.Name, title: p.Title, titleZH: p.TitleZH, path: presetPath + p.Name + "/", prefix: prefix,
		read: s.read, status: s.status, answer: s.answer, more: &more{settle: func([]*refusal) {}, forget: func() {}, token: s.token},
	}
}

// request is what came, as the player reads it.
func request(r *http.Request, body []byte) channel.Request {
	u, _ := url.Parse(preset.PlayedAt + r.URL.RequestURI()) // it was parsed before
	return channel.Request{Method: r.Method, URL: u, Header: r.Header.Clone(), Body: body}
}

func (s *stage) read(r *http.Request, body []byte) (order, *refusal) {
	outs, token, err := s.Message(request(r, body))
	if err == nil && token != "" && !s.tokens.has(token) {
		err = fmt.Errorf("%w: the access token is not known, or is over", preset.ErrAccount)
	}
	switch {
	case errors.Is(err, preset.ErrAccount):
		return order{}, &refusal{code: Unauthorized, text: err.Error()}
	case err != nil:
		return order{}, malformed("%s", err.Error())
	}
	ord := order{together: len(outs) > 1}
	for i := range outs {
		o := &outs[i]
		user := o.Recipient.Address
		if user == "" {
			user = o.Recipient.User
		}
		ord.messages = append(ord.messages, message{user: user, title: o.Content.Title, text: o.Content.Text, key: o.IdemKey})
	}
	return ord, nil
}

// token answers a request for a token, and reports whether it was one.
func (s *stage) token(w http.ResponseWriter, r *http.Request, body []byte) bool {
	is, err := s.IsToken(request(r, body))
	if !is {
		return false
	}
	shape := s.TokenReply()
	if err == nil {
		given := s.tokens.give(strconv.FormatInt(time.Now().UnixNano(), 36))
		s.send(w, shape, shape.Token(given, time.Now()))
		return true
	}
	if shape = s.Reply(preset.OfToken, posthouse.ClassAccount, posthouse.ClassAuth, posthouse.ClassRequest); shape == nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return true
	}
	s.send(w, shape, shape.Body())
	return true
}

func (s *stage) send(w http.ResponseWriter, shape *preset.Shape, body []byte) {
	a := reply{kind: shape.ContentType(), body: string(body)}
	a.send(w, shape.Answer.Status)
}

// shape is the one that says what a code means, nil for none.
func (s *stage) shape(code Code) *preset.Shape {
	return s.Reply(preset.OfMessage, map[Code][]posthouse.Class{
		"":             {posthouse.ClassOK},
		UnknownUser:    {posthouse.ClassRecipient},
		RefusedContent: {posthouse.ClassContent},
		TooFast:        {posthouse.ClassRate},
		Busy:           {posthouse.ClassTransient},
		Malformed:      {posthouse.ClassRequest},
		Unauthorized:   {posthouse.ClassAuth, posthouse.ClassAccount},
	}[code]...)
}

func (s *stage) status(code Code) int {
	if shape := s.shape(code); shape != nil {
		return shape.Answer.Status
	}
	return statusOr(http.StatusOK)(code)
}

func (s *stage) answer(results []result) reply {
	first := results[0]
	code := Code("")
	for _, r := range results { // a provider that answers once for all refuses all
		if r.refusal != nil {
			first, code = r, r.refusal.code
			break
		}
	}
	shape := s.shape(code)
	if shape == nil {
		out := answerPlainly([]result{first})
		return out
	}
	var replace []string
	if want := shape.Want[0]; code == "" && want.Ref != "" {
		replace = append(replace, want.Ref, first.id)
	}
	if len(shape.Send) == 1 && shape.Send[0].Recipient.Address != "" {
		replace = append(replace, shape.Send[0].Recipient.Address, first.user)
	}
	out := reply{kind: shape.ContentType(), body: string(shape.Body(replace...))}
	out.wait, _ = strconv.Atoi(shape.Answer.Header.Get("Retry-After"))
	return out
}

// play answers one request to a preset.
func (s *Simulator) play(w http.ResponseWriter, r *http.Request) error {
	f, err := s.stages.fake(r.PathValue("preset"))
	if err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if f.more.token(w, r, body) {
		return nil
	}
	s.take(f, w, r, body)
	return nil
}
