package sqldb

import (
	"context"
	"fmt"
	"os"
	"time"
)

// A commit that makes the log longer than it may be writes it into the file, and the next one begins the log anew, in its place. Until
// then it grows, and where the volume is full before, no commit comes that would shorten it. To write it into the file may take as much
// room once more. So a log on a volume with little room may be short: all that it may take is half of what there is, at most.

const (
	roomLook  = time.Second // between two looks at what room there is
	leastLog  = 64          // pages: a shorter one would have each commit sync the file too
	pageBytes = 4096        // SQLite's own choice
	roomShare = 4           // of what there is, a log takes the fourth part
)

// fit bounds the log by the room that there is.
func (c *committer) fit(ctx context.Context, now time.Time) {
	if now.Sub(c.roomAt) < roomLook {
		return
	}
	c.roomAt = now
	pages := c.db.ground.logPages()
	if pages == c.pages {
		return
	}
	if _, err := c.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint(%d)", pages)); err == nil {
		c.pages = pages
	}
}

// logPages is how many pages the log may hold.
func (g *ground) logPages() int {
	room, known := g.free(g.real)
	if !known {
		return walPages
	}
	if log, err := os.Stat(g.real + walEnding); err == nil {
		room += log.Size()
	}
	return int(min(walPages, max(leastLog, room/roomShare/pageBytes)))
}

// empty writes the log into the file, and reports whether all of it stands there: the next commit begins it anew. Nobody is waited for.
func (c *committer) empty(ctx context.Context) (emptied bool, err error) {
	var busy, pages, written int
	err = c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &written)
	return err == nil && pages == written, err
}
