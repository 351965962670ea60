package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Clicks remembers which forms were sent, for all processes. store.Answers satisfies it.
type Clicks interface {
	Answer(ctx context.Context, tenant, endpoint, key, hash string) ([]byte, bool, error)
	KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, answer []byte) ([]byte, error)
	ForgetAnswer(ctx context.Context, tenant, endpoint, key string) error
}

// What is remembered of a form: that it was taken, and where it led.
const (
	clickTaken = "console"
	clickLed   = "console.led"
)

// errSent is of a form that was sent before, whose page cannot be shown a second time.
var errSent = errors.New("the form was sent already")

// looked is what a page shows that answers forms, and knows whether it has only shown what they would decide.
type looked interface{ Undecided() bool }

// once serves a form that was not sent before. A form that was leads to where the first one led. One that has decided nothing, since it
// was refused or only asked what it would do, may come again: put right, or by the second of two clicks.
func (c *console) once(v *visit, serve func(*visit) error) error {
	click := clickOf(v)
	if click == "" {
		return serve(v)
	}
	sum := sha256.Sum256([]byte(v.person.Name + "\x00" + v.r.URL.Path + "\x00" + click))
	key := hex.EncodeToString(sum[:])
	leave, err := c.flights.enter(v.r.Context(), key)
	if err != nil {
		return err
	}
	defer leave()
	mine := posthouse.NewID()
	taken, err := c.o.Clicks.KeepAnswer(v.r.Context(), v.tenant, clickTaken, key, "", []byte(mine))
	if err != nil {
		return err
	}
	if string(taken) != mine {
		return c.led(v, key)
	}
	err = serve(v)
	if v.undecided || refused(err) {
		if err := c.o.Clicks.ForgetAnswer(context.WithoutCancel(v.r.Context()), v.tenant, clickTaken, key); err != nil {
			c.o.Log.Error("a form that decided nothing could not be forgotten: it is refused when it comes again", "path", v.r.URL.Path, "error", err)
		}
	}
	if err != nil || v.undecided {
		return err
	}
	if v.spoken != nil {
		c.spoken.keep(tokenOf(v.r)+key, *v.spoken)
	}
	if to := v.w.Header().Get("Location"); to != "" {
		if _, err := c.o.Clicks.KeepAnswer(context.WithoutCancel(v.r.Context()), v.tenant, clickLed, key, "", []byte(to)); err != nil {
			c.o.Log.Error("where a form led could not be kept: a second click shows an error", "path", v.r.URL.Path, "error", err)
		}
	}
	return nil
}

// refused reports whether an error says that nothing was decided.
func refused(err error) bool {
	switch posthouse.CodeOf(err) {
	case posthouse.CodeInvalid, posthouse.CodeNotFound, posthouse.CodeForbidden, posthouse.CodeConflict, posthouse.CodeChanged, posthouse.CodeQuota:
		return true
	}
	return false
}

// led leads to where a form led that was sent before, or says once more what it was told alone.
func (c *console) led(v *visit, key string) error {
	if said, is := c.spoken.of(tokenOf(v.r) + key); is {
		v.w.Header().Set("Content-Language", said.Language)
		v.write(said.Status, []byte(said.Page))
		return nil
	}
	to, found, err := c.o.Clicks.Answer(v.r.Context(), v.tenant, clickLed, key, "")
	if err == nil && !found {
		err = errSent
	}
	if err != nil {
		return err
	}
	return v.goTo(string(to))
}

// clickOf is what tells a form from others, empty for none. Of a form with a file it stands in the address: the file is read as
// it comes.
func clickOf(v *visit) string {
	if v.r.Method != http.MethodPost {
		return ""
	}
	if click := v.query("click"); click != "" {
		return click
	}
	if kind, _, _ := mime.ParseMediaType(v.r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return ""
	}
	return v.form("click")
}

// flights are the forms that this process is serving: the second of two clicks waits for what becomes of the first.
type flights struct {
	mu    sync.Mutex
	under map[string]chan struct{}
}

// enter waits until nobody else serves a form, and has others wait until leave.
func (f *flights) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		f.mu.Lock()
		other, busy := f.under[key]
		if !busy {
			break
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer f.mu.Unlock()
	done := make(chan struct{})
	f.under[key] = done
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.under, key)
		close(done)
	}, nil
}

// spoken are the pages with a secret that is shown once, and kept nowhere but here for a moment: of two clicks the browser shows the answer to
// the second. Another process knows none of them.
type spoken struct {
	mu    sync.Mutex
	pages map[string]answerPage
}

const (
	spokenFor  = 10 * time.Second
	mostSpoken = 100
)

func (s *spoken) keep(key string, page answerPage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = map[string]answerPage{}
	}
	if len(s.pages) == mostSpoken {
		return
	}
	s.pages[key] = page
	time.AfterFunc(spokenFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pages, key)
	})
}

func (s *spoken) of(key string) (page answerPage, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, is = s.pages[key]
	return page, is
}
