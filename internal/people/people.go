// Package people lets persons into the console: by a password or a link, for as long as their session lasts. It says what
// key a person's role is in a tenant, so that the scopes and tenants of the API serve the console too (ADR 0040).
//
// It knows no HTTP and draws no page.
package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Persons reads and changes persons.
type Persons interface {
	Person(ctx context.Context, name string) (p posthouse.Person, hash string, err error)
	FirstPerson(ctx context.Context, now time.Time, p posthouse.Person) (added bool, err error)
	SetPassword(ctx context.Context, now time.Time, name, hash, but string) error
}

// Links keeps links: each lets in once.
type Links interface {
	AddLink(ctx context.Context, now time.Time, p work.Pass, lasts time.Duration) (work.Pass, error)
	PassOf(ctx context.Context, kind work.PassKind, mark string) (person string, found bool, err error)
	SwapPass(ctx context.Context, now time.Time, old, p work.Pass, lasts time.Duration) (person string, found bool, err error)
}

// Sessions keeps sessions.
type Sessions interface {
	AddPass(ctx context.Context, now time.Time, p work.Pass, lasts time.Duration) error
	Session(ctx context.Context, mark string, idle time.Duration) (p work.Pass, found bool, err error)
	EndSession(ctx context.Context, now time.Time, mark string) error
}

// Options makes a desk. Persons, Guests, Links, Sessions, Codes, Sealer and Gate are required.
type Options struct {
	Persons  Persons
	Guests   Guests
	Links    Links
	Sessions Sessions
	Codes    Codes
	Sealer   Sealer
	// RequireTOTP leads everybody who signs in without a one-time code to where codes are set up, but for those whom an identity
	// provider vouches for. Defaults to false.
	RequireTOTP bool
	// Gate slows down those who guess.
	Gate *web.Gate
	// Book is told who came in and went. Defaults to none.
	Book web.Book
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// How long sessions and links last.
const (
	Idle     = 12 * time.Hour     // a session that is not used
	Absolute = 7 * 24 * time.Hour // any session
	LinkFor  = 24 * time.Hour
	HalfFor  = 10 * time.Minute // a sign-in that wants a code yet
)

// The ways to sign in, by their names in the audit log.
const (
	byPassword = "password"
	byLink     = "link"
	byProvider = "identity provider"
)

// Desk lets persons in and out.
type Desk struct {
	o      Options
	hasher *hasher
}

// NewDesk makes a desk.
func NewDesk(o Options) *Desk {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Desk{o: o, hasher: newHasher()}
}

// Visitor is a person with the session that was shown.
type Visitor struct {
	posthouse.Person
	// WantsTOTP says that the person has to set up one-time codes before anything else.
	WantsTOTP bool
	mark      string
}

// Entry is what a browser is given that has shown something right. Half says that a one-time code is wanted yet, with the token.
type Entry struct {
	Token string
	Half  bool
}

// errWrong says nothing about which part was wrong.
var errWrong = posthouse.Errorf(posthouse.CodeUnauthorized, "the name or the password is wrong")

// errLink is of a link that is over.
var errLink = posthouse.Errorf(posthouse.CodeUnauthorized, "the link was used already, or is too old: an administrator makes another (posthouse people link NAME)")

// Attempt is the credentials of one sign-in.
type Attempt struct {
	Name, Password string
	// Code is a one-time code or a recovery code, which lets a password be judged where there were too many wrong ones; it is not used up.
	Code string
	// Token is of the session that the browser has, which does so too.
	Token string
	Of    web.Peer
}

// SignIn begins a session of a person who shows a password, or half of one where a code is wanted too.
func (d *Desk) SignIn(ctx context.Context, a Attempt) (Entry, error) {
	p, hash, err := d.o.Persons.Person(ctx, a.Name)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return Entry{}, err
	}
	vouched, err := d.vouched(ctx, p, a)
	if err != nil {
		return Entry{}, err
	}
	right, err := d.o.Gate.Judge(web.Guess{Of: a.Of, User: a.Name, Password: a.Password, Vouched: vouched}, func() (bool, error) {
		fits, err := d.hasher.fits(ctx, hash, a.Password) // a person who is not there takes as long
		return fits && !p.Disabled, err
	})
	if err != nil {
		return Entry{}, err
	}
	if !right {
		return Entry{}, errWrong
	}
	in, pass, lasts := begin(p, a.Of.Address)
	if err := d.o.Sessions.AddPass(ctx, time.Now(), pass, lasts); err != nil {
		return Entry{}, err
	}
	d.entered(ctx, p, in, a.Of.Address, byPassword)
	return in, nil
}

// vouched reports whether the person was proven by something other than the password.
func (d *Desk) vouched(ctx context.Context, p posthouse.Person, a Attempt) (bool, error) {
	if p.Name == "" || p.Disabled {
		return false, nil
	}
	if a.Token != "" {
		v, err := d.Who(ctx, a.Token)
		if err == nil && v.Name == p.Name {
			return true, nil
		}
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeUnauthorized {
			return false, err
		}
	}
	if a.Code == "" || !p.TOTP {
		return false, nil
	}
	return d.hasCode(ctx, p, a.Code)
}

// begin is a new pass of a person: a session, or half of one where the person shows codes too.
func begin(p posthouse.Person, address string) (Entry, work.Pass, time.Duration) {
	in := Entry{Token: newToken(), Half: p.TOTP}
	pass := work.Pass{Mark: markOf(in.Token), Kind: work.PassSession, Person: p.Name, Source: address}
	if in.Half {
		pass.Kind = work.PassHalf
		return in, pass, HalfFor
	}
	return in, pass, Absolute
}

// entered notes that a person came in; half a session is noted with its code.
func (d *Desk) entered(ctx context.Context, p posthouse.Person, in Entry, address, by string) {
	if !in.Half {
		d.note(ctx, p, address, "people.sign-in", map[string]any{"request": map[string]string{"by": by}})
	}
}

// Link makes a link by which a person gets in once; an older one ends.
func (d *Desk) Link(ctx context.Context, name string) (token string, ends time.Time, err error) {
	token = newToken()
	p, err := d.o.Links.AddLink(ctx, time.Now(), work.Pass{Mark: markOf(token), Person: name}, LinkFor)
	return token, p.EndsAt, err
}

// WhoseLink returns the name of the person that a link signs in.
func (d *Desk) WhoseLink(ctx context.Context, link string) (string, error) {
	name, found, err := d.o.Links.PassOf(ctx, work.PassLink, markOf(link))
	if err == nil && !found {
		err = errLink
	}
	return name, err
}

// Enter begins a session by a link, which ends with that; or half of one where a code is wanted too.
func (d *Desk) Enter(ctx context.Context, link, address string) (Entry, error) {
	name, found, err := d.o.Links.PassOf(ctx, work.PassLink, markOf(link))
	if err != nil {
		return Entry{}, err
	}
	var p posthouse.Person
	if found {
		if p, _, err = d.o.Persons.Person(ctx, name); err != nil {
			return Entry{}, err
		}
	}
	in, pass, lasts := begin(p, address)
	if found {
		_, found, err = d.o.Links.SwapPass(ctx, time.Now(), work.Pass{Mark: markOf(link), Kind: work.PassLink}, pass, lasts)
	}
	switch {
	case err != nil:
		return Entry{}, err
	case found:
		d.entered(ctx, p, in, address, byLink)
		return in, nil
	}
	if slowed := d.o.Gate.Wrong(address, sha256.Sum256([]byte(link))); slowed != nil {
		return Entry{}, slowed
	}
	return Entry{}, errLink
}

// Who is the person of a session. An error of code unauthorized says that it is over.
func (d *Desk) Who(ctx context.Context, token string) (Visitor, error) {
	over := posthouse.Errorf(posthouse.CodeUnauthorized, "the session is over: sign in again")
	if token == "" {
		return Visitor{}, over
	}
	s, found, err := d.o.Sessions.Session(ctx, markOf(token), Idle)
	if err != nil {
		return Visitor{}, err
	}
	if !found {
		return Visitor{}, over
	}
	p, _, err := d.o.Persons.Person(ctx, s.Person)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound || err == nil && p.Disabled {
		return Visitor{}, over
	}
	return Visitor{Person: p, WantsTOTP: d.o.RequireTOTP && !p.TOTP && p.Subject == "", mark: s.Mark}, err
}

// Replace ends the session that a browser had before it signed in again, if it had one.
func (d *Desk) Replace(ctx context.Context, token, address string) error {
	v, err := d.Who(ctx, token)
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeUnauthorized:
		return nil
	case err != nil:
		return err
	}
	return d.SignOut(ctx, v, address)
}

// SignOut ends a session.
func (d *Desk) SignOut(ctx context.Context, v Visitor, address string) error {
	err := d.o.Sessions.EndSession(ctx, time.Now(), v.mark)
	if err == nil {
		d.note(ctx, v.Person, address, "people.sign-out", nil)
	}
	return err
}

// SetPassword gives a person another password and ends the other sessions. A person who has one shows it.
func (d *Desk) SetPassword(ctx context.Context, v Visitor, old, fresh string, of web.Peer) error {
	if why := weak(fresh, v.Name, v.Title); why != "" {
		return posthouse.Invalid("the password cannot be taken", []posthouse.Problem{{Path: "password", Message: why}})
	}
	if v.Subject != "" { // it would let in past the provider
		return posthouse.Errorf(posthouse.CodeConflict, "the identity provider lets you in: there is no password to set here")
	}
	_, hash, err := d.o.Persons.Person(ctx, v.Name)
	if err != nil {
		return err
	}
	if hash != "" {
		right, err := d.o.Gate.Judge(web.Guess{Of: of, User: v.Name, Password: old, Vouched: true}, func() (bool, error) { return d.hasher.fits(ctx, hash, old) })
		if err == nil && !right {
			err = posthouse.Invalid("the password cannot be taken", []posthouse.Problem{{Path: "old", Message: "is not the password that was in force"}})
		}
		if err != nil {
			return err
		}
	}
	made, err := d.hasher.hash(ctx, fresh)
	if err != nil {
		return err
	}
	if err := d.o.Persons.SetPassword(ctx, time.Now(), v.Name, made, v.mark); err != nil {
		return err
	}
	d.note(ctx, v.Person, of.Address, "people.password", nil)
	return nil
}

// FirstName is the name of the person who is made at the first start.
const FirstName = "admin"

// First makes the first person where there is none, an admin of the tenant default, with a link. It is empty where there are people.
func (d *Desk) First(ctx context.Context) (link string, err error) {
	p := posthouse.Person{Name: FirstName, Roles: map[string]posthouse.Role{posthouse.DefaultTenant: posthouse.RoleAdmin}}
	now := time.Now()
	added, err := d.o.Persons.FirstPerson(ctx, now, p)
	if err != nil || !added {
		return "", err
	}
	p.CreatedAt, p.UpdatedAt = now, now
	d.o.Book.Write(ctx, wire.AuditEntry{Tenant: posthouse.DefaultTenant, Source: "start", Action: "people.put", Target: p.Name}, map[string]any{"after": p})
	link, _, err = d.Link(ctx, p.Name)
	return link, err
}

// note writes to the audit log of each tenant of a person what the person did.
func (d *Desk) note(ctx context.Context, p posthouse.Person, address, action string, detail any) {
	for tenant := range p.Roles {
		d.o.Book.Write(ctx, wire.AuditEntry{Tenant: tenant, Key: KeyPrefix + p.Name, KeyName: called(p), Source: address, Action: action, Target: p.Name}, detail)
	}
}

// newToken makes a secret of 256 bits, which cannot be guessed.
func newToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// markOf is how a token is kept. A token has 256 random bits: it needs no slow hash.
func markOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
