package flow

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// JobNumbers keeps the numbers of jobs, for callers whose ids are whole numbers.
type JobNumbers interface {
	// Numbers are those that jobs have; one without is missing.
	Numbers(ctx context.Context, tenant string, jobs []string) (map[string]int64, error)
	// Numbered is the job that has a number, "" where none has.
	Numbered(ctx context.Context, tenant string, n int64) (string, error)
	// Number gives a job a number, in place of the job that had it before, "" for none. False says that the number has another
	// job by now, or the job another number.
	Number(ctx context.Context, now time.Time, tenant string, n int64, before, job string) (held bool, err error)
}

// numberTries is how often a number is drawn, or looked at again after another call has taken it.
const numberTries = 10

// drawn is a number that nobody is likely to have: of the time, so that numbers rise, and of chance. It has 53 bits at most, which
// every language reads exactly.
func drawn(now time.Time) int64 { return now.UnixMilli()<<12 | rand.Int64N(1<<12) }

// number makes a job that has a number: the one it names, or one that is drawn. A number that stands for a job already makes
// none, as a dedup key does. It is written before the job, so that a call that ends in between is made good by its repetition.
func (j Jobs) number(ctx context.Context, tenant string, job Job) (Enqueued, error) {
	asked := *job.Number
	job.Number = nil
	for range numberTries {
		n := asked
		if n == 0 {
			n = drawn(time.Now())
		}
		id, err := j.Numbers.Numbered(ctx, tenant, n)
		if err != nil {
			return Enqueued{}, err
		}
		reserved := id
		if id == "" {
			job.id = posthouse.NewID()
		} else if asked == 0 {
			continue
		} else if r, err := j.one(ctx, tenant, id); err == nil {
			return r.numbered(&job, n)
		} else if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return Enqueued{}, err
		} else if job.id = id; !posthouse.ValidID(id) { // of a reminder that is gone
			job.id = posthouse.NewID()
		}
		if held, err := j.Numbers.Number(ctx, time.Now(), tenant, n, reserved, job.id); err != nil {
			return Enqueued{}, err
		} else if !held {
			continue
		}
		return j.finish(ctx, tenant, job, n)
	}
	return Enqueued{}, posthouse.Errorf(posthouse.CodeUnavailable, "the number of the job is taken by others all the time: try again")
}

// numbered is the answer of a number that stands for a job: for this one.
func (r *record) numbered(job *Job, n int64) (Enqueued, error) {
	d, channel := r.draft()
	if d.Kind != job.BizType.Kind() || d.Ref != job.BizID || channel != ChannelName(job.Channel) {
		return Enqueued{}, posthouse.Errorf(posthouse.CodeConflict, "the number %d is that of another job: %s about %s %.80s", n, r.id, d.Kind, d.Ref)
	}
	return Enqueued{ID: r.id, Existing: true, Number: n}, nil
}

// finish makes the job of a number that was written, and lets the number stand for the job it became: its dedup key may stand for an
// older one, and a reminder has an id of its own. A job has one number: where it has one, that is answered.
func (j Jobs) finish(ctx context.Context, tenant string, job Job, n int64) (Enqueued, error) {
	reserved := job.id
	made, err := j.Enqueue(ctx, tenant, job)
	if err != nil && posthouse.CodeOf(err) == posthouse.CodeInternal { // another call with the number may have made it meanwhile
		if r, gone := j.one(ctx, tenant, reserved); gone == nil {
			return r.numbered(&job, n)
		}
	}
	if err != nil || made.ID == reserved {
		made.Number = n
		return made, err
	}
	held, err := j.Numbers.Number(ctx, time.Now(), tenant, n, reserved, made.ID)
	if made.Number = n; err != nil || held {
		return made, err
	}
	have, err := j.Numbers.Numbers(ctx, tenant, []string{made.ID})
	made.Number = have[made.ID]
	return made, err
}

// byNumber is the job of a number that is written where its id may stand.
func (j Jobs) byNumber(ctx context.Context, tenant, text string) (*record, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return nil, posthouse.Errorf(posthouse.CodeNotFound, "it is no number")
	}
	id, err := j.Numbers.Numbered(ctx, tenant, n)
	if err != nil {
		return nil, err
	}
	return j.one(ctx, tenant, id)
}
