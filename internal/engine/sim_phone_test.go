package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// phone is an agent: it fetches from one channel, sends and reports, over a bad network. What it has sent it
// remembers, as one with a journal does.
type phone struct {
	w    *world
	id   string
	c    *simChannel
	bare bool // speaks the documented protocol: no claim id, no start, no token, no report id
	sent map[string]bool
	said []*statement
	acts sync.WaitGroup // reports that come later
}

// statement is a report of a phone, and what it was told first.
type statement struct {
	work.Report
	answer posthouse.ReportResult // empty while it was told nothing
}

// drawPhones makes two phones of each protocol.
func (w *world) drawPhones() {
	for n, name := range []string{"phones", "phones", "lk", "lk"} {
		ph := &phone{w: w, id: fmt.Sprint("p", n), c: w.channel(name), bare: name == "lk", sent: map[string]bool{}}
		a := posthouse.Agent{Tenant: posthouse.DefaultTenant, ID: ph.id, Channels: []string{name}, Limits: []posthouse.Limit{}}
		if _, err := w.store.Agents.AddAgent(context.Background(), time.Now(), a); err != nil {
			w.t.Fatal(err)
		}
		w.phones = append(w.phones, ph)
	}
}

// live fetches again and again, until the world has come to rest.
func (ph *phone) live() {
	defer ph.acts.Wait()
	for n := 1; ; n++ {
		r := ph.w.draw("phone", ph.id, n)
		select {
		case <-time.After(between(r, 100*time.Millisecond, 6*time.Second)):
		case <-ph.w.hung:
			return
		}
		ph.round(n, r)
	}
}

// lost is whether an answer gets lost on its way to the phone.
func (ph *phone) lost(r *rand.Rand) bool { return !ph.w.isCalm() && r.Float64() < 0.06 }

// round asks once for something to send, once more where the answer was lost, and sends it.
func (ph *phone) round(n int, r *rand.Rand) {
	claim := pull.Claim{
		Agent: posthouse.Agent{Tenant: posthouse.DefaultTenant, ID: ph.id, Channels: []string{ph.c.name}, State: posthouse.AgentActive, Limits: []posthouse.Limit{}},
		Max:   1 + r.IntN(4), Started: ph.bare,
	}
	if r.Float64() < 0.5 {
		claim.Wait = between(r, time.Second, 10*time.Second)
	}
	if !ph.bare && r.Float64() < 0.8 {
		claim.ClaimID = fmt.Sprint("claim-", n)
	}
	for try := range 4 {
		p, asked := ph.w.someone(r), time.Now()
		if p == nil {
			return
		}
		got, err := ph.fetch(p, claim, between(r, 10*time.Millisecond, 15*time.Second))
		if err == nil && !ph.lost(r) {
			ph.w.saw("claim repeated", count(got.Repeated && len(got.Handouts) > 0))
			ph.sendAll(got.Handouts, asked, r)
			return
		}
		if claim.ClaimID == "" || !ph.w.rest(between(r, 10*time.Millisecond, time.Duration(1+try)*2*time.Second)) {
			return // what it may have been handed comes back when its lease ends
		}
	}
}

func (ph *phone) fetch(p *process, claim pull.Claim, patience time.Duration) (got pull.Claimed, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out := make(chan struct{})
	var there pull.Claimed
	var failed error
	if !p.call(func() { there, failed = p.engine.Pull.HandOut(ctx, claim); close(out) }) {
		return got, errGone
	}
	<-out
	return there, failed
}

// sendAll sends what was handed out, one after another, each well within its lease. Now and then it crashes in the middle.
func (ph *phone) sendAll(list []posthouse.Handout, asked time.Time, r *rand.Rand) {
	for _, h := range list {
		ph.tell(verify.AgentLine{Asked: asked, Op: verify.OpClaim, Delivery: h.Delivery, Token: ph.token(h), Answer: verify.AnswerHanded})
	}
	for _, h := range list {
		end := asked.Add(time.Duration(h.LeaseMillis)*time.Millisecond - 10*time.Millisecond)
		fate := r.Float64()
		if ph.w.isCalm() {
			fate = 1
		}
		switch {
		case fate < 0.03:
			ph.w.saw("phone crashed with hand-outs", 1)
			return
		case fate < 0.06 && !ph.bare:
			ph.hold(h, verify.OpGiveBack, r)
			continue
		case ph.sent[h.IdemKey]: // it says so, and sends nothing
			ph.report(h, posthouse.OutcomeSent, r)
			continue
		case !ph.bare && !ph.hold(h, verify.OpStart, r):
			continue
		}
		if !ph.wait(between(r, 50*time.Millisecond, 2*time.Second)) || !time.Now().Before(end) {
			continue
		}
		outcome := ph.send(h)
		if fate < 0.1 {
			ph.w.saw("phone crashed before it reported", 1)
			return
		}
		ph.report(h, outcome, r)
	}
}

// wait is the phone's own time; it reports whether the world still turns.
func (ph *phone) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ph.w.hung:
		return false
	}
}

func (ph *phone) token(h posthouse.Handout) int64 {
	if ph.bare {
		return 0
	}
	return h.Token
}

// hold starts a hand-out or gives it back, as often as it takes to be told; it reports whether that was granted.
func (ph *phone) hold(h posthouse.Handout, op string, r *rand.Rand) bool {
	list := []work.Hold{{Delivery: h.Delivery, Token: h.Token}}
	for range 3 {
		p, asked := ph.w.someone(r), time.Now()
		if p == nil {
			return false
		}
		var answers []pull.HoldAnswer
		var err error
		there := p.call(func() {
			if op == verify.OpStart {
				answers, err = p.engine.Pull.StartHandouts(context.Background(), posthouse.DefaultTenant, ph.id, list)
			} else {
				answers, err = p.engine.Pull.GiveBack(context.Background(), posthouse.DefaultTenant, ph.id, list, "no signal")
			}
		})
		line := verify.AgentLine{Asked: asked, Op: op, Delivery: h.Delivery, Token: h.Token, Answer: verify.AnswerUnknown}
		if known := there && err == nil && !ph.lost(r); known {
			if line.Answer = verify.AnswerRefused; answers[0].OK {
				line.Answer = verify.AnswerOK
			}
			ph.tell(line)
			return answers[0].OK
		}
		ph.tell(line)
		ph.wait(between(r, 10*time.Millisecond, time.Second))
	}
	return false
}

// send is the modem: the provider takes the message or not, and the phone may not know.
func (ph *phone) send(h posthouse.Handout) posthouse.Outcome {
	c := ph.w.provider
	user := h.Recipient.User
	d := driver{&process{w: ph.w, name: work.Owner(ph.id)}, ph.c}
	out := channel.Outgoing{Tenant: posthouse.DefaultTenant, Channel: h.Channel, Message: h.Message, Delivery: h.Delivery, Recipient: h.Recipient, IdemKey: h.IdemKey, Attempt: h.Attempt}
	r := ph.w.draw("modem", user, c.ordinal([]channel.Outgoing{out}))
	res, a := c.arrive(d, out, r)
	switch n := r.IntN(100); {
	case n < 5 && !ph.w.isCalm():
		return posthouse.OutcomeUnknown
	case res.Class != posthouse.ClassOK:
		return posthouse.OutcomeNotSent
	default:
		a.told, ph.sent[h.IdemKey] = true, true
		if res.Delivered {
			return posthouse.OutcomeDelivered
		}
		return posthouse.OutcomeSent
	}
}

// report says what became of a hand-out: at once or later, until it was answered, and perhaps once more.
func (ph *phone) report(h posthouse.Handout, outcome posthouse.Outcome, r *rand.Rand) {
	s := &statement{Report: work.Report{Tenant: posthouse.DefaultTenant, Agent: ph.id, AgentReport: posthouse.AgentReport{
		ReportID: fmt.Sprint(ph.id, "-", len(ph.said)), Delivery: h.Delivery, Token: ph.token(h), Outcome: outcome,
	}}}
	ph.said = append(ph.said, s)
	r = rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
	if ph.w.isCalm() || r.Float64() < 0.85 {
		ph.say(s, r)
		return
	}
	ph.acts.Go(func() { // it has no network for a while
		if ph.wait(between(r, time.Second, 60*time.Second)) {
			ph.say(s, r)
			ph.w.saw("phone reported late", 1)
		}
	})
}

func (ph *phone) say(s *statement, r *rand.Rand) {
	more := count(r.Float64() < 0.1)
	for try := 0; try < 20 && more >= 0; try++ {
		if p := ph.w.someone(r); p != nil && ph.sayOnce(p, s, try, r) {
			more--
		}
		if !ph.wait(between(r, 10*time.Millisecond, 2*time.Second)) {
			return
		}
	}
}

// sayOnce makes one request, and reports whether it was answered.
func (ph *phone) sayOnce(p *process, s *statement, try int, r *rand.Rand) bool {
	rep, asked := s.Report, time.Now()
	if ph.bare {
		rep.ReportID = fmt.Sprint(s.ReportID, "-", try) // its front door makes one for each request
	}
	var list []work.Report
	var err error
	there := p.call(func() { list, err = p.engine.Pull.ReportHandouts(context.Background(), []work.Report{rep}) })
	line := verify.AgentLine{Asked: asked, Op: verify.OpReport, Delivery: rep.Delivery, Token: rep.Token, Report: rep.ReportID, Outcome: rep.Outcome, Answer: verify.AnswerUnknown}
	if !there || err != nil || ph.lost(r) {
		ph.tell(line)
		return false
	}
	line.Answer = string(list[0].Answer)
	ph.tell(line)
	if s.answer != "" && list[0].Answer != s.answer && !ph.bare {
		ph.w.fail("", "%s was told %s of the report %s, and %s before", ph.id, list[0].Answer, s.ReportID, s.answer)
	}
	s.answer = cmp.Or(s.answer, list[0].Answer)
	ph.w.saw("report answered "+string(s.answer), 1)
	return true
}

// tell writes into the agents' journal.
func (ph *phone) tell(line verify.AgentLine) {
	ph.w.mu.Lock()
	defer ph.w.mu.Unlock()
	line.At, line.Agent = time.Now(), ph.id
	ph.w.agentLines = append(ph.w.agentLines, line)
}

// judge: who was told that a success counts finds it so.
func (ph *phone) judge(trials map[string]*trial) {
	for _, s := range ph.said {
		tr := trials[s.Delivery]
		success := s.Outcome == posthouse.OutcomeSent || s.Outcome == posthouse.OutcomeDelivered
		if success && (s.answer == posthouse.ReportDone || s.answer == posthouse.ReportEvidence) && !good(tr.delivery.State) {
			tr.fail("%s was told %s of a success", ph.id, s.answer)
		}
	}
}

// reassignOne has a person take everything from a phone.
func (w *world) reassignOne(n int) {
	r := w.draw("reassign", n)
	ph := w.phones[r.IntN(len(w.phones))]
	if !w.until(between(r, 0, simStorm)) {
		return
	}
	if p := w.someone(r); p != nil {
		p.call(func() {
			got, err := p.engine.Pull.Reassign(context.Background(), posthouse.DefaultTenant, ph.id, "lost")
			w.note("everything is taken from %s: %+v, %v", ph.id, got, err)
			w.saw("taken from a phone", got.Released+got.Unknown)
		})
	}
}
