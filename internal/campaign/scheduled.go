package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Scheduled makes, fills and starts the campaigns of schedules. People are read beside the planner, so that a long query holds up no other
// plan.
type Scheduled struct {
	fetch Fetcher
	ctx   context.Context
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu    sync.Mutex
	fills map[string]*filling // by the campaign's id
}

// filling is an import of people that goes on. err is set when done is closed.
type filling struct {
	done chan struct{}
	err  error
}

// Bounds of what one process reads at once and of what it has read and is not asked for, and how long a look waits for it: most lists are
// read by then.
const (
	mostFills = 4
	mostKept  = 64
	waitFill  = time.Second
)

// NewScheduled makes it. Open is called before anything else.
func NewScheduled() *Scheduled {
	s := &Scheduled{fills: map[string]*filling{}}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Open says where campaigns are made. It is called once.
func (s *Scheduled) Open(f Fetcher) { s.fetch = f }

// Close stops what is being read: another process, or this one when it is started again, goes on with it.
func (s *Scheduled) Close() error {
	s.end()
	s.wg.Wait()
	return nil
}

// Judge says everything that is wrong with what a schedule starts, and whether it calls everybody.
func (s *Scheduled) Judge(ctx context.Context, by work.Caller, r posthouse.Reminder) (everybody bool, err error) {
	refuse := func(path, format string, args ...any) error {
		return posthouse.Invalid("the reminder cannot be accepted", []posthouse.Problem{{Path: path, Message: fmt.Sprintf(format, args...)}})
	}
	d, want := s.fetch.Desk, r.Campaign
	like, found, err := d.o.Campaigns.Campaign(ctx, r.Tenant, want.Like)
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, refuse("campaign.like", "there is no campaign %.80q", want.Like)
	case like.State != posthouse.CampaignDraft && like.State != posthouse.CampaignReady:
		return false, refuse("campaign.like", "%s is %s: want one that is never started, such as a clone of it", like.Name, like.State)
	case like.State == posthouse.CampaignDraft && want.Audience == "" && want.Query == nil:
		return false, refuse("campaign.like", "%s has no people: import some, or name an audience or a query", like.Name)
	}
	in, err := s.draftOf(ctx, &like, r, time.Time{}, "")
	if err != nil {
		return false, err
	}
	plain, checked := by, in
	plain.MentionAll = false
	_, _, err = d.check(ctx, r.Tenant, plain, &checked, posthouse.NewID())
	if posthouse.CodeOf(err) == posthouse.CodeForbidden {
		everybody = true
		_, _, err = d.check(ctx, r.Tenant, by, &in, posthouse.NewID())
	}
	if err := ofSchedule(err); err != nil || want.Query == nil {
		return everybody, err
	}
	return everybody, s.tryQuery(ctx, r.Tenant, want.Query)
}

// ofSchedule is an error of a campaign's draft as one of the schedule that starts it.
func ofSchedule(err error) error {
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
		return err
	}
	var problems []posthouse.Problem
	for _, p := range coded.Problems {
		if p.Path != "audience" {
			p.Path, p.Message = "like", p.Path+": "+p.Message
		}
		problems = append(problems, posthouse.Problem{Path: "campaign." + p.Path, Message: p.Message})
	}
	return posthouse.Invalid("the reminder cannot be accepted", problems)
}

// errSeen ends a query whose columns were seen.
var errSeen = errors.New("the columns were seen")

// tryQuery makes a query as far as its columns.
func (s *Scheduled) tryQuery(ctx context.Context, tenant string, q *posthouse.ScheduledQuery) error {
	err := s.fetch.check(wire.PeopleQuery(*q))
	if err == nil {
		err = s.fetch.columns(ctx, tenant, wire.PeopleQuery(*q), func([]string) error { return errSeen }, func([]*string) error { return errSeen })
	}
	var coded *posthouse.Error
	switch {
	case err == nil, errors.Is(err, errSeen):
		return nil
	case errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid:
		problems := make([]posthouse.Problem, len(coded.Problems))
		for i, p := range coded.Problems {
			problems[i] = posthouse.Problem{Path: "campaign.query." + p.Path, Message: p.Message}
		}
		return posthouse.Invalid("the reminder cannot be accepted", problems)
	}
	return posthouse.Invalid("the reminder cannot be accepted", []posthouse.Problem{{Path: "campaign.query.query", Message: err.Error()}})
}

// draftOf is the campaign of a slot.
func (s *Scheduled) draftOf(ctx context.Context, like *work.Campaign, r posthouse.Reminder, slot time.Time, name string) (wire.CampaignDraft, error) {
	want := r.Campaign
	in, err := s.fetch.Desk.likeBefore(ctx, like, name, time.Now())
	in.Kind, in.Deadline = cmp.Or(r.Draft.Kind, like.Kind), time.Time{}
	if want.Query == nil {
		in.Audience = cmp.Or(want.Audience, like.Audience)
	}
	if want.Within > 0 && !slot.IsZero() {
		in.Deadline = slot.Add(want.Within.Std())
	}
	return in, err
}

// idOf is the id of a slot's campaign: the same whichever process makes it.
func idOf(r posthouse.Reminder, slot time.Time) string {
	return ids.At(slot, "campaign of a schedule\x00"+r.Tenant+"\x00"+r.ID)
}

// Make makes the campaign of a slot where there is none yet.
func (s *Scheduled) Make(ctx context.Context, r posthouse.Reminder, slot time.Time, name string) error {
	d := s.fetch.Desk
	if made, found, err := d.o.Campaigns.Campaign(ctx, r.Tenant, name); err != nil || found {
		if found && made.ID != idOf(r, slot) {
			err = fmt.Errorf("the campaign %s was not made by this schedule: give it another name", name)
		}
		return err
	}
	like, err := d.named(ctx, r.Tenant, r.Campaign.Like)
	if err != nil {
		return unmade(err)
	}
	in, err := s.draftOf(ctx, &like, r, slot, name)
	if err != nil {
		return unmade(err)
	}
	by := work.Program()
	by.MentionAll = r.MentionAll
	_, err = d.create(ctx, r.Tenant, by, in, idOf(r, slot))
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		if made, found, again := d.o.Campaigns.Campaign(ctx, r.Tenant, name); again == nil && found && made.ID == idOf(r, slot) {
			return nil // another process was faster
		}
	}
	return unmade(err)
}

// unmade is an error of which the planner does not think that another process has done the work.
func unmade(err error) error {
	if posthouse.CodeOf(err) != posthouse.CodeConflict {
		return err
	}
	return errors.New(err.Error())
}

// Start reads the people of a campaign that was made, and starts it.
func (s *Scheduled) Start(ctx context.Context, r posthouse.Reminder, slot posthouse.Slot) (remind.Begun, error) {
	d := s.fetch.Desk
	c, found, err := d.o.Campaigns.Campaign(ctx, r.Tenant, slot.Campaign)
	switch {
	case err != nil:
		return remind.BegunNot, err
	case !found:
		return remind.BegunGone, nil
	case c.State == posthouse.CampaignReady:
		return s.begin(ctx, r, &c)
	case c.State != posthouse.CampaignDraft && c.State != posthouse.CampaignImporting:
		return remind.BegunNow, nil
	}
	ended, err := s.fill(ctx, &c, func(ctx context.Context) error { return s.read(ctx, r, slot.Campaign) })
	switch {
	case !ended:
		return remind.BegunNot, nil
	case errors.Is(err, errOther):
		return remind.BegunAnew, s.remove(ctx, &c)
	case errors.Is(err, errNoRows), errors.Is(err, errNobody):
		return remind.BegunNobody, s.remove(ctx, &c)
	case posthouse.CodeOf(err) == posthouse.CodeConflict:
		return remind.BegunNot, nil // another process reads them
	case err != nil:
		return remind.BegunNot, err
	}
	if c, err = d.named(ctx, r.Tenant, slot.Campaign); err != nil {
		return remind.BegunNot, unmade(err)
	}
	return s.begin(ctx, r, &c)
}

// begin starts a campaign whose people are read.
func (s *Scheduled) begin(ctx context.Context, r posthouse.Reminder, c *work.Campaign) (remind.Begun, error) {
	a, err := s.fetch.Desk.audienceOf(ctx, c)
	if err != nil {
		return remind.BegunNot, err
	}
	if a.State == posthouse.AudienceReady && a.Members == 0 {
		return remind.BegunNobody, s.remove(ctx, c)
	}
	by := work.Program()
	by.MentionAll = r.MentionAll
	if _, err := s.fetch.Desk.Start(ctx, c.Tenant, by, c.Name, wire.CampaignStart{Force: r.Campaign.Force}); err != nil {
		return remind.BegunNot, unmade(err)
	}
	return remind.BegunNow, nil
}

// remove deletes a campaign that has not begun.
func (s *Scheduled) remove(ctx context.Context, c *work.Campaign) error {
	return unmade(Remover{Desk: s.fetch.Desk}.Delete(ctx, c.Tenant, c.Name))
}

// read imports the people of a campaign.
func (s *Scheduled) read(ctx context.Context, r posthouse.Reminder, name string) error {
	if q := r.Campaign.Query; q != nil {
		_, err := s.fetch.Query(ctx, r.Tenant, name, wire.PeopleQuery(*q))
		return err
	}
	_, err := s.fetch.Desk.fill(ctx, r.Tenant, name, s.fetch.Desk.membersOf(r.Tenant, r.Campaign.Like, nil), &selection{})
	return err
}

// fill reads people beside the planner, and reports whether that has ended. Where it goes on, it is asked for again.
func (s *Scheduled) fill(ctx context.Context, c *work.Campaign, read func(ctx context.Context) error) (ended bool, err error) {
	s.mu.Lock()
	f := s.fills[c.ID]
	if f == nil {
		if !s.room() {
			s.mu.Unlock()
			return false, nil
		}
		f = &filling{done: make(chan struct{})}
		s.fills[c.ID] = f
		s.wg.Go(func() {
			defer close(f.done)
			f.err = read(s.ctx)
		})
	}
	s.mu.Unlock()
	timer := time.NewTimer(waitFill)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, nil
	}
	s.mu.Lock()
	delete(s.fills, c.ID)
	s.mu.Unlock()
	return true, f.err
}

// room reports whether one more may be read. What was read for a schedule that was paused meanwhile is asked for no more and is let go in the
// end: one that is, is read again.
func (s *Scheduled) room() bool {
	reading := 0
	for id, f := range s.fills {
		select {
		case <-f.done:
			if len(s.fills) >= mostKept {
				delete(s.fills, id)
			}
		default:
			reading++
		}
	}
	return reading < mostFills
}

// Drop ends a campaign that was made and is not to begin. One that is gone or has ended stays so.
func (s *Scheduled) Drop(ctx context.Context, tenant, name string) error {
	_, err := s.fetch.Desk.Act(ctx, tenant, name, Cancel)
	if code := posthouse.CodeOf(err); err != nil && (code == posthouse.CodeNotFound || code == posthouse.CodeConflict) {
		return nil
	}
	return err
}
