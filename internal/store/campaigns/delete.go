package campaigns

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// DeleteCampaign deletes a campaign that still has the edition that it was read with, and the list that is its own. The segments and
// blocks of ten million members are tens of thousands of rows: PruneCampaigns deletes them, a few at a time.
func (s Campaigns) DeleteCampaign(ctx context.Context, now time.Time, c work.Campaign) error {
	return s.db.Change(ctx, now, "delete a campaign", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_campaigns WHERE id = ? AND version = ?", c.ID, c.Edition)
		if err == nil && n != 1 {
			err = posthouse.Errorf(posthouse.CodeConflict, "somebody else has just changed the campaign %s: look at it again", c.Name)
		}
		if err == nil && c.Audience == "" {
			_, err = t.Exec("DELETE FROM posthouse_audiences WHERE id = ? AND tenant = ?", c.AudienceID, c.Tenant)
		}
		return err
	})
}

// DeleteAudience deletes a stored list that no campaign uses and that still has the edition that it was read with. Its blocks go as
// those of a campaign do.
func (s Audiences) DeleteAudience(ctx context.Context, now time.Time, a work.Audience) error {
	return s.db.Change(ctx, now, "delete an audience", func(t *sqldb.Tx) error {
		// The lock first: a campaign that is being made for it holds one too, and is seen by what is asked then.
		_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_audiences WHERE id = ? AND version = ?"+t.DB.Dialect.Lock, a.ID, a.Edition)
		if err == nil && !found {
			err = posthouse.Errorf(posthouse.CodeConflict, "somebody else has just changed the audience %s: look at it again", a.Name)
		}
		if err != nil {
			return err
		}
		user, used, err := sqldb.First(t.Query, sqldb.Word, "SELECT name FROM posthouse_campaigns WHERE audience = ? ORDER BY name LIMIT 1", a.ID)
		if err == nil && used {
			err = posthouse.Errorf(posthouse.CodeConflict, "the campaign %s is for the audience %s: delete that first", user, a.Name)
		}
		if err == nil {
			_, err = t.Exec("DELETE FROM posthouse_audiences WHERE id = ?", a.ID)
		}
		return err
	})
}

// held keeps a stored list from being deleted until the transaction ends.
func held(t *sqldb.Tx, list, id string) error {
	_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_audiences WHERE id = ?"+t.DB.Dialect.Share, id)
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeConflict, "the audience %s has just been deleted", list)
	}
	return err
}

// Bounds of what one transaction of PruneCampaigns deletes: campaigns, and rows of which each may have 40 KB.
const (
	endedAtOnce = 100
	rowsAtOnce  = 200
)

// PruneCampaigns deletes campaigns that ended longer ago than they are kept, and does what SweepCampaigns does. It returns how many rows
// it deleted, somewhat more than max at most.
func (s Campaigns) PruneCampaigns(ctx context.Context, now time.Time, keep time.Duration, max int) (n int, err error) {
	if keep != work.Forever {
		at, args := s.db.Instant(now)
		old, err := sqldb.All(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE finished_at > 0 AND finished_at < "+at+" - ? ORDER BY finished_at LIMIT ?",
			append(args, keep.Microseconds(), min(max, endedAtOnce))...)
		if err != nil {
			return 0, s.db.Coded(err, "look for campaigns that ended long ago")
		}
		for i := range old {
			if err := s.DeleteCampaign(ctx, now, old[i]); err != nil {
				return n, err
			}
			n++
		}
	}
	if n >= max {
		return n, nil
	}
	more, err := s.SweepCampaigns(ctx, now, max-n)
	return n + more, err
}

// SweepCampaigns deletes rows that are nobody's since their campaign or list was deleted. It returns how many rows it deleted, somewhat
// more than max at most.
func (s Campaigns) SweepCampaigns(ctx context.Context, now time.Time, max int) (n int, err error) {
	for _, l := range []leftover{segmentsLeft, blocksLeft} {
		if n < max {
			more, err := s.sweep(ctx, now, l, max-n)
			if n += more; err != nil {
				return n, s.db.Coded(err, "delete what a deleted campaign has left")
			}
		}
	}
	return n, nil
}

// leftover are the rows of a table that stay when their owner is deleted. owned asks who may own them, by their id as often as it has marks.
type leftover struct {
	table, owner, owned string
	marks               int
}

var (
	segmentsLeft = leftover{"posthouse_segments", "campaign", "SELECT id FROM posthouse_campaigns WHERE id = ?", 1}
	blocksLeft   = leftover{"posthouse_audience_blocks", "audience", "SELECT id FROM posthouse_audiences WHERE id = ? UNION ALL SELECT id FROM posthouse_campaigns WHERE id = ?", 2}
)

// sweep deletes rows that are nobody's. It steps from owner to owner by the key, and reads no row of those who are there.
func (s Campaigns) sweep(ctx context.Context, now time.Time, l leftover, max int) (n int, err error) {
	for id := ""; n < max; {
		id, _, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT COALESCE(MIN("+l.owner+"), '') FROM "+l.table+" WHERE "+l.owner+" > ?", id)
		if err != nil || id == "" {
			return n, err
		}
		_, owned, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, l.owned, []any{id, id}[:l.marks]...)
		if err != nil {
			return n, err
		}
		for more := !owned; more && n < max; {
			err := s.db.Change(ctx, now, "delete what a deleted campaign has left", func(t *sqldb.Tx) (err error) {
				var gone int64
				gone, more, err = sweepSome(t, l, id)
				n += int(gone)
				return err
			})
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// sweepSome deletes a few rows of an owner who is gone.
func sweepSome(t *sqldb.Tx, l leftover, id string) (gone int64, more bool, err error) {
	of := " FROM " + l.table + " WHERE " + l.owner + " = ?"
	last, more, err := sqldb.First(t.Query, sqldb.Number, "SELECT first_seq"+of+" ORDER BY first_seq LIMIT 1 OFFSET ?", id, rowsAtOnce)
	switch {
	case err != nil:
	case more:
		gone, err = t.Exec("DELETE"+of+" AND first_seq <= ?", id, last)
	default:
		gone, err = t.Exec("DELETE"+of, id)
	}
	return gone, more, err
}
