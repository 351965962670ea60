// Package access makes calls that need an access token, which a provider gives for hours and may refuse at any time.
package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// CodeNoToken is our own code of a call for which there was no token.
const CodeNoToken = "NO_TOKEN"

// Access has the token of one application.
type Access struct {
	tokens  channel.Tokens
	name    string
	fetch   func(context.Context) (token string, lasts time.Duration, err error)
	refused atomic.Pointer[string] // the token that the provider refused last

	calls *channel.TokenCalls
	group string
	right atomic.Bool // a token was fetched: the secret is no guess
}

// longestName is the longest name, in bytes, that every store of tokens keeps as it is; a longer one is stood for by its sum.
const longestName = 200

// New is the access of the application that a name stands for in tokens, which default to this process's memory. by is what a
// token is got by and where it is shown: the secret and the URLs. With another secret, or at another place, a token that is
// kept is of no use: a new secret is tried by the next call and not hours later, and no other host is shown the token of the
// one before. group is what the provider counts wrong secrets of, such as a corporation. What fetch answers without a token is a
// *Failed.
func New(env channel.Env, name, group string, by []string, fetch func(context.Context) (token string, lasts time.Duration, err error)) *Access {
	sum := sha256.Sum256([]byte(name + "\x00" + strings.Join(by, "\x00")))
	name += "/" + hex.EncodeToString(sum[:8])
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(name))
		name = "token/" + hex.EncodeToString(sum[:])
	}
	a := &Access{tokens: cmp.Or(env.Tokens, channel.Tokens(new(channel.MemoryTokens))), name: name, calls: cmp.Or(env.TokenCalls, new(channel.TokenCalls)), group: group}
	a.fetch = func(ctx context.Context) (string, time.Duration, error) { return a.bounded(ctx, fetch) }
	return a
}

// CodeTooManyWrong is our own code of a call for a token that was not made: too many of its group were refused of late.
const CodeTooManyWrong = "TOO_MANY_WRONG_SECRETS"

// bounded fetches within the bound of wrong calls. A secret that was right before does not wait for it.
func (a *Access) bounded(ctx context.Context, fetch func(context.Context) (string, time.Duration, error)) (string, time.Duration, error) {
	if a.right.Load() {
		return fetch(ctx)
	}
	end, wait, err := a.calls.Begin(ctx, a.group)
	switch {
	case err != nil:
		return "", 0, err
	case wait > 0:
		return "", 0, &Failed{channel.Result{Class: posthouse.ClassBlocked, Code: CodeTooManyWrong, After: wait,
			Error: "no access token was asked for: the provider refused several secrets within a minute, and would block this address for more: correct the secrets of the accounts that are parked; the rest are tried a few a minute"}}
	}
	wrong := true // also where it panics
	defer func() { end(wrong) }()
	token, lasts, err := fetch(ctx)
	var failed *Failed
	wrong = errors.As(err, &failed) && failed.Result.Class == posthouse.ClassAccount
	if err == nil {
		a.right.Store(true)
	}
	return token, lasts, err
}

// Failed is a fetch that gave no token: the result of what needed it. Nothing was sent.
type Failed struct{ Result channel.Result }

// Error says why.
func (f *Failed) Error() string { return f.Result.Error }

// Fetched reads the reply to a fetch: a token, or a *Failed. The request is made of the channel's configuration alone, and
// sends nothing, so what may have arrived may be repeated.
func Fetched(r *channel.Reply, v channel.Verdict, token string, lasts time.Duration) (string, time.Duration, error) {
	switch {
	case v.Class == posthouse.ClassOK && token != "":
		return token, lasts, nil
	case v.Class == posthouse.ClassOK, v.Class == posthouse.ClassUnknown:
		v.Class = posthouse.ClassTransient
	case v.Class == posthouse.ClassAuth, v.Class == posthouse.ClassRequest, v.Class == posthouse.ClassContent:
		v.Class = posthouse.ClassAccount
	}
	result := r.Result(v)
	result.Response = "" // it may be a token, in a form we do not know
	result.Error = "no access token: " + result.Error
	return "", 0, &Failed{result}
}

// Token is the token, fetched where there is none.
func (a *Access) Token(ctx context.Context) (string, error) {
	stale := ""
	if p := a.refused.Load(); p != nil {
		stale = *p
	}
	return a.tokens.Token(ctx, a.name, stale, a.fetch)
}

// Test fetches a token that nobody uses, and sends nothing.
func (a *Access) Test(ctx context.Context, client *channel.Client) channel.Result {
	_, lasts, err := a.fetch(ctx)
	if err != nil {
		return Without(err, client)
	}
	return channel.Result{Class: posthouse.ClassOK, Code: "0", Response: "an access token that lasts " + posthouse.Duration(lasts).String()}
}

// Without is the result of a delivery for which Token gave an error: nothing of it has left.
func Without(err error, client *channel.Client) channel.Result {
	result := without(err, client)
	result.Unsent = true
	return result
}

func without(err error, client *channel.Client) channel.Result {
	var failed *Failed
	if errors.As(err, &failed) {
		return failed.Result
	}
	class := posthouse.ClassTransient
	if errors.Is(err, channel.ErrStaleToken) {
		class = posthouse.ClassAuth
	}
	return channel.Result{Class: class, Code: CodeNoToken, Error: client.Redactor().Line("no access token: "+err.Error(), 512)}
}

// Answer is what a call says of its token.
type Answer int

// The answers.
const (
	Fine    Answer = iota // it is none of the token's faults
	Refused               // the token is not used again
	Again                 // nor is it, and the provider said so itself: the call had no effect and may be made once more
)

// Call calls with a token, and once more with a new one where the provider refused the first.
func (a *Access) Call(ctx context.Context, call func(token string) Answer) error {
	for again := true; ; again = false {
		token, err := a.Token(ctx)
		if err != nil {
			return err
		}
		answer := call(token)
		if answer == Fine {
			return nil
		}
		a.refused.Store(&token)
		if answer == Refused || !again {
			return nil
		}
	}
}
