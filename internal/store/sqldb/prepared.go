package sqldb

import (
	"container/list"
	"context"
	"database/sql"
	"sync"
)

// maxPreparedReads bounds the texts of look-ups that stay prepared, each on every connection of the read pool: the ones used last.
const maxPreparedReads = 128

// prepared are the look-ups of SQLite's read pool that stay prepared, by their texts. SQLite would parse and plan a text each time,
// which costs several times what a look-up by key costs. The drivers of PostgreSQL and MariaDB keep statements themselves.
type prepared struct {
	mu    sync.Mutex
	texts map[string]*list.Element // each of a *readStmt
	used  list.List                // the one used last in front
}

// readStmt is a prepared look-up. One that was dropped is closed by its last user.
type readStmt struct {
	text    string
	stmt    *sql.Stmt
	users   int
	dropped bool
}

// take returns the prepared statement of a text. The caller gives it back.
func (p *prepared) take(ctx context.Context, pool *sql.DB, text string) (*readStmt, error) {
	if s := p.find(text); s != nil {
		return s, nil
	}
	stmt, err := pool.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return p.keep(text, stmt), nil
}

func (p *prepared) find(text string) *readStmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.use(text)
}

// use counts a user of a text, if it is prepared. The caller holds mu.
func (p *prepared) use(text string) *readStmt {
	e := p.texts[text]
	if e == nil {
		return nil
	}
	p.used.MoveToFront(e)
	s := e.Value.(*readStmt)
	s.users++
	return s
}

// keep keeps a statement for its first user, and drops the one whose last use is longest ago. Where two callers have prepared one text
// at once, the second statement is closed.
func (p *prepared) keep(text string, stmt *sql.Stmt) *readStmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.use(text); first != nil {
		_ = stmt.Close() // no one has used it
		return first
	}
	if p.texts == nil {
		p.texts = map[string]*list.Element{}
	}
	s := &readStmt{text: text, stmt: stmt, users: 1}
	p.texts[text] = p.used.PushFront(s)
	if p.used.Len() > maxPreparedReads {
		last := p.used.Remove(p.used.Back()).(*readStmt)
		delete(p.texts, last.text)
		if last.dropped = true; last.users == 0 {
			_ = last.stmt.Close() // what it read has been read
		}
	}
	return s
}

// giveBack ends a use that take has begun.
func (p *prepared) giveBack(s *readStmt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users == 0 && s.dropped {
		_ = s.stmt.Close()
	}
}
