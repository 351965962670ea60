package proxy

import (
	"slices"
	"strings"
)

// Protocol is what client and server speak.
type Protocol string

// The protocols. With PostgreSQL, a statement that writes outside of a transaction is a commit too; with
// MySQL, only COM_QUERY is looked at; with HTTP, every request is one.
const (
	Opaque   Protocol = "" // never seen to commit
	Postgres Protocol = "postgres"
	MySQL    Protocol = "mysql"
	HTTP     Protocol = "http"
)

// watcher reads what a client and its server say, in pieces of any size. Its two methods are called from
// a goroutine each.
type watcher interface {
	// commits counts the commits that a piece of the client's completes.
	commits(piece []byte) int
	// answered reports whether a piece of the server's ends its answer to a commit. It is given all that
	// comes after the commit.
	answered(piece []byte) bool
}

func (p Protocol) watcher() watcher {
	switch p {
	case Postgres:
		return newPostgresWatcher()
	case MySQL:
		return &mysqlWatcher{}
	case HTTP:
		return httpWatcher{}
	}
	return deaf{}
}

type deaf struct{}

func (deaf) commits([]byte) int   { return 0 }
func (deaf) answered([]byte) bool { return true }

// statement is what a query does to a transaction.
type statement int

const (
	other  statement = iota
	begins           // a transaction
	commits
	undoes
	writes // which is a commit by itself, outside of a transaction
)

// openers are the first words of statements that matter.
var openers = map[string]statement{
	"begin": begins, "start": begins, "commit": commits, "end": commits, "rollback": undoes, "abort": undoes,
	"insert": writes, "update": writes, "delete": writes, "merge": writes,
}

// read says what a query does. Of several statements the last one counts, if it is a commit.
func read(query string) statement {
	query = strings.TrimRight(query, "; \t\r\n")
	last := strings.Fields(strings.ToLower(query[strings.LastIndexByte(query, ';')+1:]))
	if len(last) == 0 {
		return other
	}
	kind := openers[last[0]]
	if kind == commits && len(last) > 1 && last[1] != "work" && last[1] != "transaction" {
		return other // COMMIT PREPARED
	}
	if last[0] == "with" && (slices.Contains(last, "set") || slices.Contains(last, "into") || slices.Contains(last, "from") && slices.Contains(last, "delete")) {
		return writes
	}
	return kind
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
