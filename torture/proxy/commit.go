package proxy

import "strings"

// Protocol is what client and server speak.
type Protocol string

// The protocols. A commit inside of MySQL's prepared statements is not seen.
const (
	Opaque   Protocol = "" // never seen to commit
	Postgres Protocol = "postgres"
	MySQL    Protocol = "mysql"
)

// watcher reads what a client says, in pieces of any size, and counts the commits that a piece
// completes.
type watcher interface{ feed(piece []byte) int }

func (p Protocol) watcher() watcher {
	switch p {
	case Postgres:
		return &postgresWatcher{starting: true, statements: map[string]bool{}, portals: map[string]bool{}}
	case MySQL:
		return &mysqlWatcher{}
	}
	return deaf{}
}

type deaf struct{}

func (deaf) feed([]byte) int { return 0 }

// commits are the ways to say it, in lower case.
var commits = map[string]bool{"commit": true, "commit work": true, "commit transaction": true, "end": true, "end work": true, "end transaction": true}

// isCommit reports whether the last statement of a query is a commit.
func isCommit(query string) bool {
	query = strings.TrimRight(query, "; \t\r\n")
	last := query[strings.LastIndexByte(query, ';')+1:]
	return commits[strings.ToLower(strings.Join(strings.Fields(last), " "))]
}

// message gathers one message of a protocol that says its length first: head bytes of header, and
// of the body as much as is worth looking at.
type message struct {
	head, keep int
	buf        []byte // header and kept body
	skip       int    // bytes of the body that are still to come
}

// take reads from piece and returns what is left of it; whole says that the message is complete.
// size tells the length of the body from the header.
func (m *message) take(piece []byte, size func(head []byte) int) (rest []byte, whole bool) {
	if missing := m.head - len(m.buf); missing > 0 {
		n := min(missing, len(piece))
		m.buf = append(m.buf, piece[:n]...)
		piece = piece[n:]
		if len(m.buf) < m.head {
			return piece, false
		}
		m.skip = max(size(m.buf), 0)
	}
	n := min(m.skip, len(piece))
	kept := min(n, m.keep-(len(m.buf)-m.head))
	m.buf = append(m.buf, piece[:kept]...)
	m.skip -= n
	return piece[n:], m.skip == 0
}

// next forgets the message that is complete.
func (m *message) next(head int) { m.head, m.buf = head, m.buf[:0] }
