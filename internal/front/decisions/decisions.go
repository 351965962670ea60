package decisions

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/http"
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

func (d Options) courseRoutes() []web.Route {
	return web.Tagged("decisions",
		web.Post("/v1/decisions", posthouse.ScopeAdmin, "Decide about everything a filter selects, step by step: counted first, then confirmed. The answer comes at once, and its id says how far it is.", decideBody, d.begin).
			Answers(http.StatusAccepted, http.StatusOK),
		web.Get("/v1/decisions", posthouse.ScopeRead, "The newest 200 bulk actions, newest first.", d.all),
		web.Get("/v1/decisions/{id}", posthouse.ScopeRead, "A bulk action, and how far it is.", d.one),
		web.Act("/v1/decisions/{id}/undo", posthouse.ScopeAdmin, "Take back what a retry or replay let go and has not begun: what was unknown waits for a person again, new deliveries are cancelled. It is a decision of its own; asked again, the same.", d.undo).
			Answers(http.StatusAccepted).Audited(),
		web.Act("/v1/decisions/{id}/stop", posthouse.ScopeAdmin, "Stop one that runs. What it has decided stays decided.", d.stop).Audited(),
	)
}

var decideBody = web.BodyOf[wire.Decide]().Loose()

// begin counts what a filter selects, or begins with what was counted.
func (d Options) begin(c *web.Call, in wire.Decide) (out wire.Decision, err error) {
	checkDecide(c, &in)
	as, ok := parseCount(in.Confirm)
	if !in.DryRun && !ok {
		c.Refuse("confirm", "is %.60q: want the confirm of a count, the same request with dry_run", in.Confirm)
	}
	if err := c.Wrong(); err != nil {
		return out, err
	}
	course := decide.Course{Decision: wire.Decision{Outcome: in.Outcome, Selected: in.Selected, By: c.Key.Name, State: wire.DecisionRunning}}
	if in.DryRun {
		c.Unchanged()
		shared, plans := 0, map[string]work.Plan{}
		n, last, err := d.countStopped(c, course.Filter(c.Tenant()), maxReplays, func(one *posthouse.Delivery) error {
			is, err := one.Gathered, error(nil) // a person's word leaves it to the digest's own delivery
			if in.Outcome == wire.OutcomeReplay {
				is, err = d.together(c, plans, one)
			}
			if is {
				shared++
			}
			return err
		})
		c.Status = http.StatusOK
		return wire.Decision{Outcome: in.Outcome, Selected: in.Selected, Matched: n, Shared: shared, Confirm: counting{confirmation{n, last}, posthouse.NewID()}.text(c.Tenant(), in.Outcome, in.Selected)}, err
	}
	if as.text(c.Tenant(), in.Outcome, in.Selected) != in.Confirm {
		return out, posthouse.Errorf(posthouse.CodeConflict, "confirm is that of another filter or outcome: count again with dry_run")
	}
	course.ID, course.Matched, course.Counted = as.id, as.n, as.until
	c.Named(as.id)
	c.Asked(in, as.n)
	return d.Decider.Begin(c.Context(), c.Tenant(), course)
}

func checkDecide(c *web.Call, in *wire.Decide) {
	if in.Outcome != wire.OutcomeReplay {
		if !slices.Contains(wire.Outcomes(), in.Outcome) {
			c.RefuseNew("outcome", "%s", channel.Want(in.Outcome, append(wire.Outcomes(), wire.OutcomeReplay)))
			return
		}
		of := wire.ResolveAll{Outcome: in.Outcome, Channel: in.Channel, Kind: in.Kind, Ref: in.Ref, User: in.User, Account: in.Account, Reason: in.Reason, States: in.States, Since: in.Since, Until: in.Until}
		checkResolve(c, &of)
		in.States = of.States
		if in.ForceNew {
			c.Refuse("force_new", "is of replay alone")
		}
		return
	}
	of := wire.ReplayAll{Channel: in.Channel, Kind: in.Kind, Ref: in.Ref, User: in.User, Account: in.Account, Reason: in.Reason, States: in.States, Since: in.Since, Until: in.Until}
	checkReplay(c, &of)
	in.States = of.States
}

// counting is a confirmation that begins one decision: its id is known from the count on.
type counting struct {
	confirmation
	id string
}

func (v counting) text(tenant string, outcome wire.Outcome, of wire.Selected) string {
	if v.n == 0 {
		return "" // nothing to confirm
	}
	of.Since, of.Until = time.Time{}, time.Time{} // often said as so long ago: what they select is bounded by the number
	filter, _ := json.Marshal(of)                 // texts: cannot fail
	head := fmt.Sprintf("%d-%d-%s", v.n, v.until.UnixMicro(), v.id)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %q %s", head, tenant, outcome, filter))
	return head + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

func parseCount(text string) (v counting, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || !posthouse.ValidID(parts[2]) {
		return v, false
	}
	n, err := strconv.Atoi(parts[0])
	at, wrong := strconv.ParseInt(parts[1], 10, 64)
	return counting{confirmation{n, time.UnixMicro(at)}, parts[2]}, err == nil && wrong == nil && n > 0
}

func (d Options) all(c *web.Call) (wire.Page[wire.Decision], error) {
	const most = 200
	list, err := d.Plans.PlansByRef(c.Context(), c.Tenant(), work.PlanDecision, decide.CourseKind, decide.CourseRef)
	if err != nil {
		return wire.Page[wire.Decision]{}, err
	}
	slices.SortFunc(list, func(a, b work.Plan) int { return cmp.Compare(b.ID, a.ID) })
	out := make([]wire.Decision, 0, most)
	for _, p := range list[:min(len(list), most)] {
		course, err := decide.ReadCourse(p)
		if err != nil {
			return wire.Page[wire.Decision]{}, err
		}
		out = append(out, course.Decision)
	}
	return wire.Page[wire.Decision]{Items: out}, nil
}

func (d Options) one(c *web.Call) (wire.Decision, error) {
	p, found, err := d.Plans.Plan(c.Context(), c.Tenant(), work.PlanDecision, c.PathValue("id"))
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no decision %.80q", c.PathValue("id"))
	}
	if err != nil {
		return wire.Decision{}, err
	}
	course, err := decide.ReadCourse(p)
	return course.Decision, err
}

func (d Options) stop(c *web.Call) (wire.Decision, error) {
	out, err := d.Decider.Stop(c.Context(), c.Tenant(), c.PathValue("id"))
	c.Affected(out.Done)
	return out, err
}

func (d Options) undo(c *web.Call) (wire.Decision, error) {
	out, err := d.Decider.Undo(c.Context(), c.Tenant(), c.PathValue("id"), c.Key.Name)
	c.Affected(out.Matched)
	return out, err
}
