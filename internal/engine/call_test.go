package engine

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// sends is a driver that is a function.
type sends func(ctx context.Context, out channel.Outgoing) channel.Result

func (f sends) Send(ctx context.Context, out channel.Outgoing) channel.Result { return f(ctx, out) }

// A driver that never comes back must not hold its slot, nor the process at its end.
func TestADriverThatDoesNotReturnIsLeftBehind(t *testing.T) {
	virtual(t, func(r *rig) {
		end := make(chan struct{})
		defer close(end)
		deaf := sends(func(_ context.Context, out channel.Outgoing) channel.Result {
			if out.Recipient.User == "deaf" {
				<-end
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold, MaxInflight: 1}, state.Opened{Driver: deaf, Timeout: 5 * time.Second})
		id := r.send(text("c", "deaf"))[0]
		r.pass(time.Second)
		next := r.send(text("c", "u2"))[0]
		r.pass(3 * time.Second)
		r.want(next, posthouse.Pending, "", 0)
		r.pass(4 * time.Second)
		r.want(id, posthouse.Unknown, "NO_RETURN", 1)
		r.want(next, posthouse.Sent, "", 0)
		r.stop()
	})
}

func TestADriverThatEndsItsGoroutineGivesNoResult(t *testing.T) {
	virtual(t, func(r *rig) {
		exits := sends(func(context.Context, channel.Outgoing) channel.Result {
			runtime.Goexit()
			return channel.Result{}
		})
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, state.Opened{Driver: exits})
		id := r.send(text("c", "u1"))[0]
		r.pass(time.Second)
		r.want(id, posthouse.Unknown, "NO_RESULT", 1)
	})
}

// One result that cannot be stored would keep all others of its batch from being recorded.
func TestEveryResultCanBeStored(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("字", 100_000)
	for name, text := range map[string]string{"plain": "ok 好", "with NUL": "a\x00b", "not UTF-8": "a\xffb", "cut within a letter": "x" + long} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := channel.Result{Class: "maybe", Code: text, Ref: text, Error: text, Request: text, Response: text}
			state.Fit(&r)
			if r.Class != posthouse.ClassUnknown {
				t.Errorf("class %q, want unknown", r.Class)
			}
			for part, got := range map[string]struct {
				text string
				most int
			}{"code": {r.Code, state.MaxCode}, "ref": {r.Ref, state.MaxRef}, "error": {r.Error, state.MaxError}, "request": {r.Request, state.MaxExcerpt}, "response": {r.Response, state.MaxExcerpt}} {
				if !utf8.ValidString(got.text) || strings.Contains(got.text, "\x00") || len(got.text) > got.most || got.text == "" {
					t.Errorf("%s: %d bytes, %.20q", part, len(got.text), got.text)
				}
				if name == "plain" && got.text != text {
					t.Errorf("%s: got %q, want %q", part, got.text, text)
				}
			}
		})
	}
}

// What is unknown since a driver said nothing says so, to the person who decides on it.
func TestAResultThatSaysNothingHasACode(t *testing.T) {
	t.Parallel()
	silent, known := channel.Result{}, channel.Result{Class: posthouse.ClassOK}
	state.Fit(&silent)
	state.Fit(&known)
	if silent.Class != posthouse.ClassUnknown || silent.Code != "NO_CLASS" || silent.Error == "" {
		t.Errorf("got %+v, want unknown with a code", silent)
	}
	if known != (channel.Result{Class: posthouse.ClassOK}) {
		t.Errorf("a success without words became %+v", known)
	}
}
