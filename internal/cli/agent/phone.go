package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Text is what a phone is told to send.
type Text struct {
	To        string
	Text      string
	Key       string // the same whenever the message is sent
	Sensitive bool   // the text is not to be shown or written down
}

// Result is what came of a send.
type Result struct {
	Outcome posthouse.Outcome
	// Code and Error say why it was not sent, or why nobody knows.
	Code, Error string
	// Final is set where another try would be refused as well.
	Final bool
	Ref   string // what the phone calls the message
}

// Phone sends messages. Where the context ends first, the outcome is unknown.
type Phone interface {
	Send(ctx context.Context, t Text) Result
}

// Inbox is a phone that gets text messages too.
type Inbox interface {
	// Received are the last ones that it got, the oldest first.
	Received(ctx context.Context) ([]wire.ReceivedText, error)
}

// Paper is a phone that writes each message down, a line of JSON each.
func Paper(out io.Writer) Phone { return &paper{out: out} }

type paper struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *paper) Send(_ context.Context, t Text) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Sensitive {
		t.Text = fmt.Sprintf("(%d characters, sensitive)", utf8.RuneCountInString(t.Text))
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		At   time.Time `json:"at"`
		To   string    `json:"to"`
		Text string    `json:"text"`
		Key  string    `json:"key"`
	}{time.Now().UTC(), t.To, t.Text, t.Key})
	if err == nil {
		_, err = io.WriteString(p.out, out.String())
	}
	if err != nil { // a part of it may be there
		return Result{Outcome: posthouse.OutcomeUnknown, Code: "write", Error: err.Error()}
	}
	return Result{Outcome: posthouse.OutcomeSent}
}

// Simulated is a phone of the simulator, which is reached at a URL such as http://127.0.0.1:8090.
func Simulated(simulator, agent string, client *http.Client) Phone {
	return simulated{carrier{strings.TrimSuffix(simulator, "/"), client, nil}, "/phones/" + url.PathEscape(agent) + "/sms"}
}

type simulated struct {
	carrier
	path string
}

func (p simulated) Send(ctx context.Context, t Text) Result {
	var answer struct {
		ID string `json:"id"`
	}
	err := p.call(ctx, http.MethodPost, p.path, map[string]string{"to": t.To, "text": t.Text, "key": t.Key}, &answer)
	var refused *httpError
	var network *net.OpError
	switch {
	case err == nil:
		return Result{Outcome: posthouse.OutcomeSent, Ref: answer.ID}
	case errors.As(err, &refused) && refused.status == http.StatusInternalServerError:
		return Result{Outcome: posthouse.OutcomeUnknown, Code: "http_500", Error: refused.message}
	case errors.As(err, &refused):
		code := cmp.Or(refused.code, fmt.Sprintf("http_%d", refused.status))
		return Result{Outcome: posthouse.OutcomeNotSent, Code: code, Error: refused.message, Final: unreadable(err)}
	case errors.As(err, &network) && network.Op == "dial":
		return Result{Outcome: posthouse.OutcomeNotSent, Code: "no_phone", Error: "the phone cannot be reached"}
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err // without the phone's address
	}
	return Result{Outcome: posthouse.OutcomeUnknown, Code: "no_answer", Error: "the phone gave no answer: " + err.Error()}
}

// Received are the texts that the simulator's people sent back to the phone.
func (p simulated) Received(ctx context.Context) ([]wire.ReceivedText, error) {
	var answer struct {
		Received []wire.ReceivedText `json:"received"`
	}
	err := p.call(ctx, http.MethodGet, p.path, nil, &answer)
	return answer.Received, err
}

// Flaky is a phone that fails by chance: a share of what it is told is not sent, of another nobody knows
// whether it was. Both are from 0 to 1.
func Flaky(p Phone, failing, unknown float64, seed uint64) Phone {
	if failing <= 0 && unknown <= 0 {
		return p
	}
	return &flaky{phone: p, failing: failing, unknown: unknown, dice: rand.New(rand.NewPCG(seed, 1))}
}

// Received are those of the phone behind it: what it gets does not fail.
func (f *flaky) Received(ctx context.Context) ([]wire.ReceivedText, error) {
	if in, gets := f.phone.(Inbox); gets {
		return in.Received(ctx)
	}
	return nil, nil
}

type flaky struct {
	phone            Phone
	failing, unknown float64

	mu   sync.Mutex
	dice *rand.Rand
}

func (f *flaky) Send(ctx context.Context, t Text) Result {
	f.mu.Lock()
	fate, left := f.dice.Float64(), f.dice.IntN(2) == 0
	f.mu.Unlock()
	switch {
	case fate < f.failing:
		return Result{Outcome: posthouse.OutcomeNotSent, Code: "by_chance", Error: "the network refused it"}
	case fate < f.failing+f.unknown:
		if left {
			f.phone.Send(ctx, t)
		}
		return Result{Outcome: posthouse.OutcomeUnknown, Code: "by_chance", Error: "the network gave no answer"}
	}
	return f.phone.Send(ctx, t)
}
