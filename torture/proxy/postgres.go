package proxy

import (
	"bytes"
	"encoding/binary"
)

// postgresWatcher follows protocol 3 (PostgreSQL documentation, "Message Formats"). A start-up
// message has no type; all others are a type, their length with itself, and a body.
//
//	Q query                        a simple query
//	P name, query, …               names a statement
//	B portal, statement, …         binds a statement to a portal
//	E portal, …                    executes it
//
// A name that is closed is one that nobody executes any more.
type postgresWatcher struct {
	starting   bool
	message    message
	statements map[string]bool // those that are commits
	portals    map[string]bool
}

// keepOfPostgres is how much of a body is looked at: the names that drivers give and a short query.
// A commit at the end of a longer one is not seen.
const keepOfPostgres = 256

// These codes stand in place of a version, and another start-up message follows.
const (
	sslRequest    = 80877103
	gssEncRequest = 80877104
)

func (w *postgresWatcher) feed(piece []byte) (commits int) {
	if w.message.head == 0 {
		w.message = message{head: 4, keep: keepOfPostgres}
	}
	for len(piece) > 0 {
		var whole bool
		piece, whole = w.message.take(piece, func(head []byte) int {
			return int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		})
		if !whole {
			return commits
		}
		if w.starting {
			w.starting = w.again(w.message.buf[4:])
		} else if w.read(w.message.buf[0], w.message.buf[5:]) {
			commits++
		}
		head := 5
		if w.starting {
			head = 4
		}
		w.message.next(head)
	}
	return commits
}

// again reports whether a start-up message is followed by another one.
func (w *postgresWatcher) again(body []byte) bool {
	if len(body) < 4 {
		return false
	}
	code := binary.BigEndian.Uint32(body)
	return code == sslRequest || code == gssEncRequest
}

// read reports whether a message commits.
func (w *postgresWatcher) read(kind byte, body []byte) bool {
	first, rest, whole := bytes.Cut(body, []byte{0})
	second, _, both := bytes.Cut(rest, []byte{0})
	switch kind {
	case 'Q':
		return whole && isCommit(string(first))
	case 'P':
		note(w.statements, first, both && isCommit(string(second)))
	case 'B':
		note(w.portals, first, w.statements[string(second)])
	case 'E':
		return w.portals[string(first)]
	}
	return false
}

// note keeps the names that are commits, and forgets those that are something else by now.
func note(names map[string]bool, name []byte, commit bool) {
	if commit {
		names[string(name)] = true
	} else {
		delete(names, string(name))
	}
}
