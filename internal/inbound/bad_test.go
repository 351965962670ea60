package inbound_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// world is what a desk works with, and what it did there.
type world struct {
	*testing.T
	front  posthouse.Front
	token  string
	lookup error                      // of tokens
	accept func(intake.Request) error // nil for none
	read   func(*inbound.Request) ([]inbound.Message, error)
	log    strings.Builder

	mu    sync.Mutex
	asked []intake.Request
	wrong int
	calls []work.FrontCall
}

func (w *world) FrontByToken(_ context.Context, hash string) (posthouse.Front, bool, error) {
	return w.front, hash == inbound.HashToken(w.token), w.lookup
}

func (w *world) Accept(_ context.Context, req intake.Request) (out intake.Answer, err error) {
	w.asked = append(w.asked, req)
	if w.accept != nil {
		err = w.accept(req)
	}
	if err == nil {
		out.Accepted = make([]posthouse.Accepted, len(req.Drafts))
		for i := range out.Accepted {
			out.Accepted[i].ID = fmt.Sprint("m", i)
		}
	}
	return out, err
}

func (w *world) Wrong(string, [sha256.Size]byte) error { w.wrong++; return nil }

func (w *world) AddFrontCalls(_ context.Context, _ time.Time, _, _ string, list []work.FrontCall) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, list...)
	return nil
}

func (w *world) Seal(plain, aad string) (string, error) { return aad + "|" + plain, nil }

func newWorld(t *testing.T) *world {
	return &world{T: t, token: inbound.NewToken(), front: posthouse.Front{Tenant: "acme", Name: "ops", Kind: "try", FrontSettings: posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}}}}
}

// call calls the front, has what is kept written, and returns the answer and the one call of the front's page, if there is one.
func (w *world) call(body io.Reader, token string) (status int, said string, kept *work.FrontCall) {
	w.Helper()
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	d := inbound.New(inbound.Options{
		Fronts: w, Intake: w, Gate: w, Calls: w, Sealer: w, Bodies: web.NewBodies(0, 1<<20, log), MaxBody: 1 << 20, Log: log,
		Forms: []inbound.Form{{Kind: "try", Answer: inbound.AnswerText, Read: func(r *inbound.Request) ([]inbound.Message, error) { return w.read(r) }}},
	})
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/in/try/"+token, body)
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	ended, end := context.WithCancel(w.Context())
	end()
	d.Run(ended)
	if strings.Contains(w.log.String(), w.token) {
		w.Errorf("the token stands in the log: %s", w.log.String())
	}
	if len(w.calls) > 0 {
		kept = &w.calls[len(w.calls)-1]
	}
	return answer.Code, answer.Body.String(), kept
}

// reads is a form that makes these messages of any body.
func reads(list ...inbound.Message) func(*inbound.Request) ([]inbound.Message, error) {
	return func(*inbound.Request) ([]inbound.Message, error) { return list, nil }
}

// Whatever cannot be taken is answered with its reason, which stands in the log and on the front's page too.
func TestTheReasonIsInTheAnswerInTheLogAndOnThePage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body    io.Reader
		read    func(*inbound.Request) ([]inbound.Message, error)
		accept  error
		status  int
		reason  string
		outcome posthouse.FrontOutcome
	}{
		"too large":        {strings.NewReader(strings.Repeat("x", 1<<20+1)), nil, nil, 413, "the body is larger than the 1048576 bytes that are allowed", posthouse.FrontRefused},
		"broken off":       {iotest.ErrReader(io.ErrUnexpectedEOF), nil, nil, 503, "the body could not be read", posthouse.FrontUnavailable},
		"unreadable":       {strings.NewReader("x"), func(*inbound.Request) ([]inbound.Message, error) { return nil, errors.New("the version is 3") }, nil, 400, "the version is 3", posthouse.FrontRefused},
		"a panic":          {strings.NewReader("x"), func(*inbound.Request) ([]inbound.Message, error) { panic("out of range") }, nil, 400, "it cannot be read", posthouse.FrontRefused},
		"not signed":       {strings.NewReader("x"), func(*inbound.Request) ([]inbound.Message, error) { return nil, inbound.ErrSignature }, nil, 401, "the signature is missing or wrong", posthouse.FrontRefused},
		"a database fails": {strings.NewReader("x"), reads(inbound.Message{Text: "x"}), errors.New("dial tcp 10.0.0.7: refused"), 503, "it could not be committed now", posthouse.FrontUnavailable},
		"a full quota":     {strings.NewReader("x"), reads(inbound.Message{Text: "x"}), posthouse.Errorf(posthouse.CodeQuota, "the tenant has 10 open"), 503, "the tenant has 10 open", posthouse.FrontUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.read, w.accept = c.read, func(intake.Request) error { return c.accept }
			status, said, kept := w.call(c.body, w.token)
			if status != c.status || !strings.Contains(said, c.reason) || strings.Contains(said, "10.0.0.7") {
				t.Errorf("answered %d %q, want %d %q", status, said, c.status, c.reason)
			}
			if !strings.Contains(w.log.String(), c.reason) || strings.Contains(w.log.String(), w.token) {
				t.Errorf("the log reads %s", &w.log)
			}
			if kept == nil || kept.Outcome != c.outcome || !strings.Contains(kept.Reason, c.reason) {
				t.Errorf("the page has %+v", kept)
			}
		})
	}
}

// Who has no token is refused and noted, and leaves nothing on a page; where tokens cannot be looked up nobody is told that his is wrong.
func TestStrangersLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.read = reads(inbound.Message{Text: "x"})
	for _, token := range []string{"", "x", strings.Repeat("0", 64), strings.ToUpper(w.token), w.token + "0"} {
		if status, said, _ := w.call(strings.NewReader("x"), token); status != 401 || !strings.Contains(said, "the token is not known") {
			t.Errorf("%q is answered %d %s", token, status, said)
		}
	}
	if w.wrong != 5 || len(w.calls)+len(w.asked) != 0 {
		t.Errorf("%d wrong tokens were noted, %d calls kept and %d handed in", w.wrong, len(w.calls), len(w.asked))
	}
	w.lookup = errors.New("no database")
	if status, said, _ := w.call(strings.NewReader("x"), w.token); status != 503 || strings.Contains(said, "no database") {
		t.Errorf("without a database: %d %s", status, said)
	}
}

// Of a sender's megabytes and control characters nothing harms: drafts stay within their bounds, and are one line where they must be.
func TestHostileLabels(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("长\x00\x1b[31m\n", 100_000)
	for _, template := range []string{"", "alert"} {
		w := newWorld(t)
		w.front.Template = template
		w.read = reads(inbound.Message{Title: huge, Text: huge + "<@all>", Severity: huge, Key: huge, Ref: huge, Labels: map[string]string{huge: huge}, Payload: map[string]any{"labels": map[string]string{"a\x00": huge}}})
		if status, said, _ := w.call(strings.NewReader("x"), w.token); status != 200 {
			t.Fatalf("template %q: %d %s", template, status, said)
		}
		d := w.asked[0].Drafts[0]
		if len(d.Payload) > draft.MaxPayload || len(d.Ref) > 255 || len(d.DedupKey) > 255 || strings.ContainsAny(d.Ref, "\x00\x1b") || strings.Contains(string(d.Payload), `\u0000`) {
			t.Errorf("template %q: a payload of %d bytes, a ref of %d, a key of %d", template, len(d.Payload), len(d.Ref), len(d.DedupKey))
		}
		if c := d.Content; template == "" && (len(c.Title) > 250 || len(c.Text) > 4000 || strings.ContainsAny(c.Title, "\x00\x1b\n") || strings.ContainsAny(c.Text, "\x00\x1b")) {
			t.Errorf("a title of %d bytes and a text of %d: %.80q", len(c.Title), len(c.Text), c.Text)
		}
	}
}

// A template that does not fit some messages sends those in the front's own words, and the page names each.
func TestOneThatATemplateDoesNotFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.front.Template = "alert"
	w.read = reads(inbound.Message{Text: "one"}, inbound.Message{Text: "two"}, inbound.Message{Text: "three"})
	w.accept = func(req intake.Request) error {
		var problems []posthouse.Problem
		for i, d := range req.Drafts {
			if d.Template != "" && i > 0 {
				problems = append(problems, posthouse.Problem{Path: req.Path(i) + "payload.team", Message: "is missing"})
			}
		}
		if len(problems) > 0 {
			return posthouse.Invalid("the message cannot be accepted", problems)
		}
		return nil
	}
	status, said, kept := w.call(strings.NewReader("x"), w.token)
	if status != 200 || len(w.asked) != 2 {
		t.Fatalf("%d %s, asked %d times", status, said, len(w.asked))
	}
	list := w.asked[1].Drafts
	if list[0].Template != "alert" || list[1].Template != "" || list[1].Content.Text != "two" || list[2].Content.Text != "three" {
		t.Errorf("handed in: %+v", list)
	}
	for _, want := range []string{"message 2 is told without the template alert: payload.team is missing", "message 3 is told"} {
		if kept == nil || !strings.Contains(kept.Reason, want) || strings.Contains(kept.Reason, "message 1") {
			t.Errorf("the page has %+v, want %q", kept, want)
		}
	}
}

// Beyond the bound of one call the first messages are taken, and the page says so.
func TestTenThousandMessagesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := make([]inbound.Message, 10_000)
	for i := range many {
		many[i].Text = fmt.Sprint(i)
	}
	w.read = reads(many...)
	if status, said, kept := w.call(strings.NewReader("x"), w.token); status != 200 || len(w.asked[0].Drafts) != inbound.MaxMessages || !strings.Contains(kept.Reason, "10000 messages at once: the first 200 are taken") {
		t.Errorf("%d %s, %d taken, kept %+v", status, said, len(w.asked[0].Drafts), kept)
	}
}

// A page shows the names of a body and next to nothing of its values; the token stands neither there nor in the sealed body.
func TestWhatAPageShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.read = reads(inbound.Message{Text: "x"})
	body := `{"title":"the disk of db1","nested":[{"password":"hunter2hunter2"}],"token":"` + w.token + `","bad":"` + "\u202e" + `\u0000","n":7}`
	_, _, kept := w.call(strings.NewReader(body), w.token+"/a-secret-topic?auth=a-secret-word")
	for _, hidden := range []string{"disk of", "hunter2", w.token, "secret", "\x00"} {
		if strings.Contains(kept.Shown, hidden) {
			t.Errorf("the page shows %q in %s", hidden, kept.Shown)
		}
	}
	for _, shown := range []string{`"title": "th***"`, `"password": "hu***"`, `"n": 7`, "auth=a-***"} {
		if !strings.Contains(kept.Shown, shown) {
			t.Errorf("the page lacks %q: %s", shown, kept.Shown)
		}
	}
	if place := inbound.SealedFor("acme", "ops", kept.ID); !strings.HasPrefix(kept.Body, place+"|{") || strings.Contains(kept.Body, w.token) || !strings.Contains(kept.Body, "hunter2") {
		t.Errorf("sealed is %s", kept.Body)
	}
	long := `{"deep":` + strings.Repeat("[", 5000) + `"` + strings.Repeat("x", 200_000)
	if _, _, kept = w.call(strings.NewReader(long), w.token); len(kept.Shown) > 8<<10 || len(kept.Body) > 65<<10 || kept.Size != len(long) {
		t.Errorf("of a body of %d bytes are shown %d and kept %d, and its size is said as %d", len(long), len(kept.Shown), len(kept.Body), kept.Size)
	}
}
