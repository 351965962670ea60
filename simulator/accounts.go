package simulator

import (
	"fmt"
	"path"
	"time"

	"github.com/posthouse/posthouse"
)

// AccountLimit is how fast a provider lets each account of its callers go, and how it punishes one that is faster: an
// application of wecom by its agent id, a robot of wecom_robot by its key. It stands in the place of the provider's own limits
// of a corporation and of a robot.
type AccountLimit struct {
	// Accounts is a pattern for the accounts it is for, with *, ? and [a-z] as in path.Match. Defaults to all.
	Accounts string `json:"accounts,omitempty"`
	// Windows take so many calls each, in any sliding window of their length. Their Lockout is not used.
	Windows []Limit `json:"windows"`
	// Lockout is how long the account is refused after a violation, and Relapse how long where it was punished within
	// the hour before. Both default to 0: only until the windows have room again.
	Lockout posthouse.Duration `json:"lockout,omitzero"`
	Relapse posthouse.Duration `json:"relapse,omitzero"`
}

// soonAgain is within what time a second violation is a relapse.
const soonAgain = time.Hour

// maxAccounts is how many accounts' windows a provider remembers.
const maxAccounts = 10_000

func (l *AccountLimit) check(at string, out *problems) {
	if _, err := path.Match(l.Accounts, ""); err != nil {
		out.add(at+"accounts", "%q is not a pattern; *, ? and [a-z] are allowed", l.Accounts)
	}
	out.within(at+"windows", len(l.Windows), 1, 8)
	for i, w := range l.Windows {
		to := fmt.Sprintf("%swindows[%d].", at, i)
		out.within(to+"max", w.Max, 1, maxInLimit)
		out.duration(to+"per", w.Per, time.Millisecond, 24*time.Hour)
		if w.Lockout != 0 {
			out.add(to+"lockout", "a window of accounts has no lockout of its own; give it beside the windows")
		}
	}
	out.duration(at+"lockout", l.Lockout, 0, 24*time.Hour)
	out.duration(at+"relapse", l.Relapse, 0, 24*time.Hour)
}

// accountWindows are one account's.
type accountWindows struct {
	rule     *AccountLimit
	windows  []*window
	locked   time.Time // refused until then
	punished time.Time // last, zero for never
}

// accountLimits holds the limits of a provider's accounts.
type accountLimits struct {
	rules []AccountLimit
	of    recent[string, *accountWindows]
}

func newAccounts(rules []AccountLimit) accountLimits {
	return accountLimits{rules, newRecent[string, *accountWindows](maxAccounts)}
}

// admit lets a call of an account in, or says how long it is refused: a violation.
func (s *accountLimits) admit(now time.Time, account string) time.Duration {
	w := s.windowsOf(account)
	if w == nil {
		return 0
	}
	if wait := w.locked.Sub(now); wait > 0 {
		return wait
	}
	var wait time.Duration
	for _, one := range w.windows {
		wait = max(wait, one.wait(now))
	}
	if wait <= 0 {
		for _, one := range w.windows {
			one.note(now)
		}
		return 0
	}
	lockout := w.rule.Lockout.Std()
	if w.rule.Relapse > 0 && !w.punished.IsZero() && now.Sub(w.punished) < soonAgain {
		lockout = w.rule.Relapse.Std()
	}
	if lockout > 0 {
		w.locked, w.punished = now.Add(lockout), now
		return lockout
	}
	return wait
}

// windowsOf are those of an account, nil where no rule is for it.
func (s *accountLimits) windowsOf(account string) *accountWindows {
	if account == "" || len(s.rules) == 0 {
		return nil
	}
	if w := s.of.byKey[account]; w != nil {
		return w
	}
	for i := range s.rules {
		rule := &s.rules[i]
		if ok, _ := path.Match(rule.Accounts, account); !ok && rule.Accounts != "" { // the pattern was checked
			continue
		}
		w := &accountWindows{rule: rule}
		for j := range rule.Windows {
			w.windows = append(w.windows, newWindow(&rule.Windows[j]))
		}
		s.of.put(account, w)
		return w
	}
	return nil
}
