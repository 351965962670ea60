package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// Codes keeps how people make one-time codes.
type Codes interface {
	TOTP(ctx context.Context, person string) (work.TOTP, error)
	// ChangeTOTP calls change while nobody else changes it, perhaps again after a conflict.
	ChangeTOTP(ctx context.Context, now time.Time, person string, change func(f *work.TOTP, now time.Time) error) error
}

// Sealer seals the secrets of codes.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// What authenticators take for granted (RFC 6238, and the key URI format of Google Authenticator).
const (
	codeEvery  = 30 * time.Second
	codeDigits = 6
	// codeSkew is how many steps a phone's clock may be off (RFC 6238, section 5.2, advises one).
	codeSkew = 1
	// secretBytes is the length of a secret (RFC 4226, section 4, wants 160 bits).
	secretBytes = 20
)

// Wrong codes are bounded for each person, wherever they come from: a guess hits three of a million codes. Whoever has used them up
// comes in by a recovery code, which nobody guesses, or after the time.
const (
	mostWrong = 10
	wrongFor  = 24 * time.Hour
)

// Recovery codes stand in for a phone that is lost: each has 80 random bits and is taken once.
const (
	spareCodes = 10
	spareBytes = 10
)

// errCode says that a code cannot be taken, without why.
var errCode = posthouse.Errorf(posthouse.CodeUnauthorized, "the code is wrong, or was used already: wait for the next one")

// errHalf is of a sign-in that took too long.
var errHalf = posthouse.Errorf(posthouse.CodeNotFound, "the sign-in is over: begin it again")

// errHeld answers a person with too many wrong codes.
var errHeld = web.Faultf(http.StatusTooManyRequests, posthouse.CodeUnauthorized, "too many wrong codes: only a recovery code is taken for a day")

// Held reports whether an error says that of a person too many codes were wrong.
func Held(err error) bool { return errors.Is(err, errHeld) }

// totpPlace binds a sealed secret to its person.
func totpPlace(person string) string { return secret.AAD("totp", person) }

// Enrolment is a secret that a person may put into an authenticator.
type Enrolment struct {
	Secret string // in base32, to be typed
	URL    string // otpauth://, to be scanned
	Sealed string // comes back with the first code
}

// OfferTOTP makes a secret for a person, or offers again the one that is in sealed. It counts once a code of it was shown.
func (d *Desk) OfferTOTP(v Visitor, sealed string) (Enrolment, error) {
	text, err := d.o.Sealer.Open(sealed, totpPlace(v.Name))
	if err != nil { // there is none yet, or it is another's
		raw := make([]byte, secretBytes)
		_, _ = rand.Read(raw) // never fails
		text = base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw)
	}
	return d.enrolment(v, text)
}

func (d *Desk) enrolment(v Visitor, text string) (Enrolment, error) {
	sealed, err := d.o.Sealer.Seal(text, totpPlace(v.Name))
	const issuer = "Posthouse"
	to := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + v.Name, RawQuery: url.Values{"secret": {text}, "issuer": {issuer}}.Encode()}
	return Enrolment{Secret: text, URL: to.String(), Sealed: sealed}, err
}

// TakeTOTP turns codes on for a person who shows the first one, and returns the recovery codes, which are shown this once.
func (d *Desk) TakeTOTP(ctx context.Context, v Visitor, sealed, code, address string) (spare []string, err error) {
	text, err := d.o.Sealer.Open(sealed, totpPlace(v.Name))
	if err != nil {
		return nil, errHalf
	}
	spare, marks := newSpare()
	right := false
	err = d.o.Codes.ChangeTOTP(ctx, time.Now(), v.Name, func(f *work.TOTP, now time.Time) error {
		if f.Secret != "" {
			return posthouse.Errorf(posthouse.CodeConflict, "one-time codes are set up already")
		}
		fresh := work.TOTP{Secret: sealed, Since: now, Step: f.Step, Spare: marks}
		if right = takeCode(&fresh, text, code, now); right {
			*f = fresh
		}
		return nil
	})
	if err == nil && !right {
		err = d.wrongCode(v.Person, code, address)
	}
	if err != nil {
		return nil, err
	}
	d.note(ctx, v.Person, address, "people.totp", nil)
	return spare, nil
}

// DropTOTP turns codes off for a person who shows one.
func (d *Desk) DropTOTP(ctx context.Context, v Visitor, code, address string) error {
	if err := d.spend(ctx, v.Person, code, address, func(f *work.TOTP) { *f = work.TOTP{Step: f.Step} }); err != nil {
		return err
	}
	d.note(ctx, v.Person, address, "people.totp-off", nil)
	return nil
}

// RenewSpare gives a person who shows a code other recovery codes; the old ones end.
func (d *Desk) RenewSpare(ctx context.Context, v Visitor, code, address string) ([]string, error) {
	spare, marks := newSpare()
	if err := d.spend(ctx, v.Person, code, address, func(f *work.TOTP) { f.Spare = marks }); err != nil {
		return nil, err
	}
	d.note(ctx, v.Person, address, "people.totp-spare", nil)
	return spare, nil
}

// SpareLeft is how many recovery codes a person has left.
func (d *Desk) SpareLeft(ctx context.Context, v Visitor) (int, error) {
	f, err := d.o.Codes.TOTP(ctx, v.Name)
	return len(f.Spare), err
}

// Complete makes a session of half of one, with a code.
func (d *Desk) Complete(ctx context.Context, half, code, address string) (token string, err error) {
	old := work.Pass{Mark: markOf(half), Kind: work.PassHalf}
	name, found, err := d.o.Links.PassOf(ctx, old.Kind, old.Mark)
	if err == nil && !found {
		err = errHalf
	}
	if err != nil {
		return "", err
	}
	p, _, err := d.o.Persons.Person(ctx, name)
	if err == nil && p.Disabled {
		err = errHalf
	}
	if err == nil {
		err = d.spend(ctx, p, code, address, func(*work.TOTP) {})
	}
	if err != nil {
		return "", err
	}
	token = newToken()
	_, found, err = d.o.Links.SwapPass(ctx, time.Now(), old, work.Pass{Mark: markOf(token), Kind: work.PassSession, Source: address}, Absolute)
	if err == nil && !found {
		err = errHalf
	}
	if err != nil {
		return "", err
	}
	by := "code"
	if !isCode(code) {
		by = "recovery code"
	}
	d.note(ctx, p, address, "people.sign-in", map[string]any{"request": map[string]string{"by": by}})
	return token, nil
}

// hasCode reports whether a code, or a recovery code, of a person would be taken now. It stays as it is, and a wrong one is not counted:
// what is right lets a password be judged, no more.
func (d *Desk) hasCode(ctx context.Context, p posthouse.Person, code string) (bool, error) {
	f, err := d.o.Codes.TOTP(ctx, p.Name)
	if err != nil || f.Secret == "" {
		return false, err
	}
	text, err := d.o.Sealer.Open(f.Secret, totpPlace(p.Name))
	if err != nil {
		return false, err
	}
	return isCode(code) && takeCode(&f, text, code, time.Now()) || takeSpare(&f, code), nil
}

// spend takes a code, or a recovery code, of a person, and changes what else then follows.
func (d *Desk) spend(ctx context.Context, p posthouse.Person, code, address string, then func(f *work.TOTP)) error {
	var right, held bool
	err := d.o.Codes.ChangeTOTP(ctx, time.Now(), p.Name, func(f *work.TOTP, now time.Time) error {
		right, held = false, false
		if f.Secret == "" {
			return posthouse.Errorf(posthouse.CodeConflict, "no one-time codes are set up")
		}
		text, err := d.o.Sealer.Open(f.Secret, totpPlace(p.Name))
		if err != nil {
			return err
		}
		if held = isCode(code) && f.Wrong >= mostWrong && now.Sub(f.WrongSince) < wrongFor; held {
			return nil
		}
		if right = isCode(code) && takeCode(f, text, code, now) || takeSpare(f, code); right {
			then(f)
			return nil
		}
		if now.Sub(f.WrongSince) >= wrongFor {
			f.Wrong, f.WrongSince = 0, now
		}
		f.Wrong++
		return nil
	})
	switch {
	case err != nil || right:
		return err
	case held:
		return errHeld
	}
	d.note(ctx, p, address, "people.totp-wrong", nil)
	return d.wrongCode(p, code, address)
}

// wrongCode is the error of a wrong code, which the brake counts.
func (d *Desk) wrongCode(p posthouse.Person, code, address string) error {
	if slowed := d.o.Gate.Wrong(address, sha256.Sum256([]byte(p.Name+"\x00"+code))); slowed != nil {
		return slowed
	}
	return errCode
}

// plainCode is a code without what people type between.
func plainCode(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(code)))
}

// isCode reports whether something looks like a one-time code rather than like a recovery code.
func isCode(code string) bool {
	code = plainCode(code)
	return len(code) == codeDigits && strings.Trim(code, "0123456789") == ""
}

// takeCode takes the code of a step of time that is later than the last one taken.
func takeCode(f *work.TOTP, text, code string, now time.Time) bool {
	at := now.Unix() / int64(codeEvery/time.Second)
	for step := max(at-codeSkew, f.Step+1); step <= at+codeSkew; step++ {
		want, err := hotp.GenerateCode(text, uint64(step)) //nolint:gosec // no time before 1970
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(plainCode(code))) == 1 {
			f.Step, f.Wrong, f.WrongSince = step, 0, time.Time{}
			return true
		}
	}
	return false
}

// takeSpare takes a recovery code, which is over then.
func takeSpare(f *work.TOTP, code string) bool {
	i := slices.Index(f.Spare, markOf(plainCode(code)))
	if i < 0 {
		return false
	}
	f.Spare = slices.Delete(f.Spare, i, i+1)
	f.Wrong, f.WrongSince = 0, time.Time{}
	return true
}

// newSpare makes recovery codes, and how they are kept.
func newSpare() (codes, marks []string) {
	for range spareCodes {
		raw := make([]byte, spareBytes)
		_, _ = rand.Read(raw) // never fails
		text := base32.StdEncoding.EncodeToString(raw)
		marks = append(marks, markOf(text))
		codes = append(codes, strings.ToLower(text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:]))
	}
	return codes, marks
}
