package state

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Account is one of several accounts with a provider that a channel sends by. Its driver is opened when it is asked for
// first: thousands of accounts that have nothing to send cost no more than their rows.
type Account struct {
	// Account is as it is stored, without its configuration.
	posthouse.Account
	// Opener opens the driver.
	Opener func() (channel.Driver, error)
	// Err says why the account cannot be used, such as a secret that no key opens. Defaults to none.
	Err error

	mu     sync.Mutex
	driver channel.Driver
}

// Driver is the account's, opened now where it is not yet.
func (a *Account) Driver() channel.Driver {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.driver != nil {
		return a.driver
	}
	err := a.Err
	if err == nil {
		a.driver, err = a.Opener()
	}
	if err != nil {
		return shut{err}
	}
	return a.driver
}

// opened is the driver where it was ever asked for, else nil.
func (a *Account) opened() channel.Driver {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.driver
}

// In reports whether the account is in a pool.
func (a *Account) In(pool string) bool { return slices.Contains(a.Pools, pool) }

// Share is the account's weight.
func (a *Account) Share() int { return cmp.Or(a.Weight, 1) }

// shut stands for the driver of an account that cannot be opened.
type shut struct{ err error }

// Send sends nothing.
func (s shut) Send(context.Context, channel.Outgoing) channel.Result {
	return channel.Result{Class: posthouse.ClassAccount, Code: "NOT_OPEN", Error: "the account cannot be opened: " + s.err.Error()}
}

// Account is one of the channel's, nil where it has none of this name. The accounts are in the order of their names.
func (o *Opened) Account(name string) *Account {
	i, found := slices.BinarySearchFunc(o.Accounts, name, func(a *Account, name string) int { return strings.Compare(a.Name, name) })
	if !found {
		return nil
	}
	return o.Accounts[i]
}

// HasPool reports whether any account is in a pool.
func (o *Opened) HasPool(pool string) bool {
	return slices.ContainsFunc(o.Accounts, func(a *Account) bool { return a.In(pool) })
}

// Pools are the labels of all accounts, in order.
func (o *Opened) Pools() []string {
	var list []string
	for _, a := range o.Accounts {
		list = append(list, a.Pools...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ReasonFailover is that of a delivery which moved to another account, or is to be tried by another one at once.
const ReasonFailover = "failover"

// MayGoElsewhere reports whether a refusal is no reason to wait where another account can send: it is about the account, and any of
// several may send the delivery. It may go elsewhere as often as an account is open: each refusal closes the gate of one.
func MayGoElsewhere(d *posthouse.Delivery, class posthouse.Class) bool {
	return GoesElsewhere(class) && !d.Pinned
}

// GoesElsewhere reports whether a refusal of a class is about the account alone, so that another one may send at once.
func GoesElsewhere(class posthouse.Class) bool {
	return class.Blocks() && class != posthouse.ClassLocal
}

// Admitted is what follows when those before a delivery in its line are settled (T30). Its event names the line.
func Admitted(d posthouse.Delivery) work.Change {
	step := begin(d)
	step.change.After.Line = ""
	e := step.to(posthouse.EventAdmit, posthouse.Pending, d.Reason)
	e.Due, e.Owner = d.DueAt, work.LineOwner(&d)
	return step.change
}

// Movable reports whether a pending delivery may go by another account than the one it is pinned to: never where an attempt may
// have arrived, since another account's provider would not recognise the repeat.
func Movable(d *posthouse.Delivery) bool {
	return d.State == posthouse.Pending && d.Pinned && !Doubtful(*d) && d.ClaimLosses == 0
}

// Moved is what follows where a delivery is pinned to another account (T29). Its event names both.
func Moved(d posthouse.Delivery, to string) work.Change {
	step := begin(d)
	step.change.After.Account = to
	e := step.to(posthouse.EventMove, posthouse.Pending, ReasonFailover)
	e.Due, e.Error = d.DueAt, "from the account "+d.Account+" to "+to
	return step.change
}
