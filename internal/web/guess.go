package web

import (
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Guess is a user name with a password to try.
type Guess struct {
	// Of is where it comes from.
	Of Peer
	// User and Password are what is shown.
	User, Password string
	// Vouched says that something else has shown already that it is the user: a session that is open, or a one-time code. Such a
	// guess is bounded by its user alone, so that no stranger can shut the user out.
	Vouched bool
}

// mark tells a pair from others.
func (g Guess) mark() mark {
	user, password := sha256.Sum256([]byte(g.User)), sha256.Sum256([]byte(g.Password))
	return sha256.Sum256(append(user[:], password[:]...))
}

// user is the place of guesses for a user who was right before.
func (g Guess) user() string {
	sum := sha256.Sum256([]byte(g.User))
	return "\x00" + string(sum[:])
}

// pair is the place of guesses at a user from an address.
func (g Guess) pair() string { return group(g.Of.Address) + g.user() }

// Judge asks whether a password is right, unless there were too many wrong ones of late: that is an error, and nothing is asked.
//
// The bound is by address, and over all addresses. An address that has shown the right password of a user has a bound of its own for
// that user, so that strangers beside it do not shut it out; so has each user at a proxy that is not trusted, where everybody has
// one address.
func (g *Gate) Judge(guess Guess, right func() (bool, error)) (bool, error) {
	now := time.Now()
	v := g.passwords.admit(guess, now)
	if v.wait > 0 {
		return false, g.tooMany(passwords, v)
	}
	ok, err := right()
	if ok || err != nil {
		g.passwords.release(guess, ok, now)
		return ok, err
	}
	return false, g.wrong(guess.Of.Address, passwords, v)
}

// tooMany is the error of what was shown beyond the bounds.
func (g *Gate) tooMany(what string, v verdict) error {
	g.failures.WithLabelValues(what, "slowed").Inc()
	f := Faultf(http.StatusTooManyRequests, posthouse.CodeUnavailable, "too many wrong %s: try again later", what)
	f.after = int(v.wait/time.Second) + 1
	return f
}

// wrong notes what was wrong, and is an error where there were too many.
func (g *Gate) wrong(address, what string, v verdict) error {
	if v.first {
		g.log.Warn("wrong credentials: more from this address within a minute are counted by the metric posthouse_failed_logins_total only", "what", what, "from", address)
	}
	if v.wait > 0 {
		return g.tooMany(what, v)
	}
	g.failures.WithLabelValues(what, "refused").Inc()
	return nil
}
