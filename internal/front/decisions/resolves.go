package decisions

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// resolvable are the states a decision is for.
var resolvable = []posthouse.State{posthouse.Unknown, posthouse.Quarantined}

// resolveStep is how many deliveries share a transaction, so that no other transaction waits long for it.
const resolveStep = 500

func (d Options) resolveRoutes() []web.Route {
	return web.Tagged("deliveries",
		web.Post("/v1/deliveries/resolve", posthouse.ScopeAdmin, "A person's word on every unknown or quarantined delivery a filter selects: counted first, then confirmed.", resolveAllBody, d.resolveAll).Sighted(),
		web.Post("/v1/deliveries/{id}/resolve", posthouse.ScopeAdmin, "A person's word on an unknown or quarantined delivery.", resolveBody, d.resolve).Sighted(),
	)
}

// resolveAll counts what a filter selects, or decides about what was counted.
func (d Options) resolveAll(c *web.Call, in wire.ResolveAll) (wire.ResolvedAll, error) {
	checkResolve(c, &in)
	counted, ok := parseConfirm(in.Confirm)
	if !in.DryRun && !ok {
		c.Refuse("confirm", "is %.60q: want the confirm of a count, the same request with dry_run", in.Confirm)
	}
	if err := c.Wrong(); err != nil {
		return wire.ResolvedAll{}, err
	}
	f := work.Filter{
		Tenant: c.Tenant(), Channel: in.Channel, Kind: in.Kind, Ref: in.Ref, User: in.User, Account: in.Account, Reason: in.Reason,
		States: in.States, Since: in.Since, Until: in.Until, Sight: c.Sight(),
	}
	if in.DryRun {
		c.Unchanged()
		n, last, err := d.countStopped(c, f, in.Max, nil)
		return wire.ResolvedAll{Matched: n, DryRun: true, Confirm: confirmation{n, last}.text(c.Tenant(), in)}, err
	}
	if counted.text(c.Tenant(), in) != in.Confirm {
		return wire.ResolvedAll{}, posthouse.Errorf(posthouse.CodeConflict, "confirm is that of another filter or outcome: count again with dry_run")
	}
	f.ChangedUntil = counted.until
	n, _, err := d.countStopped(c, f, in.Max, nil)
	if err != nil {
		return wire.ResolvedAll{}, err
	}
	if n > counted.n {
		return wire.ResolvedAll{}, posthouse.Errorf(posthouse.CodeConflict, "the filter selects %d deliveries now and %d were counted: count again with dry_run", n, counted.n)
	}
	out := d.resolveEach(c, f, in.Max, decide.Resolution(in.Outcome))
	out.Matched = n
	c.Asked(in, out.Resolved)
	return out, nil
}

// resolveEach decides in parts. What a part decided stays decided where a later one fails.
func (d Options) resolveEach(c *web.Call, f work.Filter, most int, r decide.Resolution) (out wire.ResolvedAll) {
	for most > 0 {
		f.Limit = min(resolveStep, most)
		list, next, err := d.Read.Deliveries.Deliveries(c.Context(), f)
		ids := make([]string, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		if err == nil && len(ids) > 0 {
			var done []posthouse.Delivery
			done, err = d.Judge.ResolveAll(c.Context(), f.Tenant, ids, r, f.ChangedUntil)
			if err == nil {
				out.Resolved += len(done)
			}
		}
		if err != nil {
			out.Stopped = stoppedBy(err)
			return out
		}
		if next == "" {
			return out
		}
		most, f.Cursor = most-len(list), next
	}
	return out
}

// stoppedBy is what a caller may know of an error that ended a decision half-way.
func stoppedBy(err error) string {
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return coded.Message
	}
	return "the server met an error, or the request ended"
}

func checkResolve(c *web.Call, in *wire.ResolveAll) {
	checkOutcome(c, in.Outcome)
	if in.Max == 0 {
		in.Max = defaultReplays
	}
	if in.Max < 0 || in.Max > maxReplays {
		c.Refuse("max", "is %d: want 1 to %d", in.Max, maxReplays)
	}
	for i, s := range in.States {
		if !slices.Contains(resolvable, s) {
			c.Refuse(fmt.Sprintf("states[%d]", i), "%s", channel.Want(s, resolvable))
		}
	}
	if len(in.States) == 0 {
		in.States = []posthouse.State{posthouse.Unknown}
	}
	if in.Outcome == wire.OutcomeSent && slices.Contains(in.States, posthouse.Quarantined) {
		c.Refuse("outcome", "is sent, and quarantined deliveries were not: want not_sent or retry for these")
	}
	if in.Channel+in.Kind+in.Ref+in.User+in.Account+in.Reason == "" && in.Since.IsZero() && in.Until.IsZero() {
		c.Refuse("channel", "or kind, ref, user, account, reason, since or until is required: a decision about everything is not meant by accident")
	}
}

// countStopped counts what a filter selects, up to most, and says when the last of it changed. each sees what is counted; nil for nothing to see.
func (d Options) countStopped(c *web.Call, f work.Filter, most int, each func(*posthouse.Delivery) error) (n int, last time.Time, err error) {
	for {
		f.Limit = min(web.MaxPage, most-n)
		list, next, err := d.Read.Deliveries.Deliveries(c.Context(), f)
		for i := 0; i < len(list) && err == nil; i++ {
			if at := list[i].UpdatedAt; at.After(last) {
				last = at
			}
			if each != nil {
				err = each(&list[i])
			}
		}
		if n += len(list); err != nil || next == "" || n >= most {
			return n, last, err
		}
		f.Cursor = next
	}
}

// confirmation says what was counted: how many deliveries, and when the last of them changed. What changed later was not.
type confirmation struct {
	n     int
	until time.Time
}

// text is a confirmation as callers hand it back. It holds for one filter and outcome only; times, which are often said as so
// long ago, and the most are free: they are bounded by the number.
func (v confirmation) text(tenant string, in wire.ResolveAll) string {
	in.DryRun, in.Confirm, in.Max, in.Since, in.Until = false, "", 0, time.Time{}, time.Time{}
	filter, _ := json.Marshal(in) // texts: cannot fail
	if v.n == 0 {
		return "" // nothing to confirm
	}
	head := fmt.Sprintf("%d-%d", v.n, v.until.UnixMicro())
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", head, tenant, filter))
	return head + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

func parseConfirm(text string) (v confirmation, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 3 {
		return v, false
	}
	n, err := strconv.Atoi(parts[0])
	at, wrong := strconv.ParseInt(parts[1], 10, 64)
	return confirmation{n, time.UnixMicro(at)}, err == nil && wrong == nil
}

func (d Options) resolve(c *web.Call, in wire.Resolve) (posthouse.Delivery, error) {
	checkOutcome(c, in.Outcome)
	if err := c.Wrong(); err != nil {
		return posthouse.Delivery{}, err
	}
	if _, err := d.Read.Deliveries.Delivery(c.Context(), c.Viewer(), c.PathValue("id")); err != nil {
		return posthouse.Delivery{}, err
	}
	c.Asked(in, 1)
	return d.Judge.Resolve(c.Context(), c.Tenant(), c.PathValue("id"), decide.Resolution(in.Outcome))
}

var resolveBody = web.BodyOf[wire.Resolve]().Loose()

var (
	resolveAllBody = web.BodyOf[wire.ResolveAll]().Loose()
)
