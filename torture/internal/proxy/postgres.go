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
//	S                              ends what E began, and commits it outside of a transaction
//	Z                              the server's: it is ready for the next query
//
// A name that is closed is one that nobody executes any more.
type postgresWatcher struct {
	starting   bool
	within     bool // a transaction
	wrote      bool // outside of one, and no S has come
	said       message
	heard      message
	statements map[string]statement // those that matter
	portals    map[string]statement
}

func newPostgresWatcher() *postgresWatcher {
	return &postgresWatcher{
		starting: true, said: message{head: 4, keep: keepOfPostgres}, heard: message{head: 5},
		statements: map[string]statement{}, portals: map[string]statement{},
	}
}

// keepOfPostgres is how much of a body is looked at: names and a query. A longer one is not understood.
const keepOfPostgres = 64 << 10

// These codes stand in place of a version, and another start-up message follows.
const (
	sslRequest    = 80877103
	gssEncRequest = 80877104
)

func sizeOfPostgres(head []byte) int { return int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4 }

func (w *postgresWatcher) commits(piece []byte) (n int) {
	for len(piece) > 0 {
		var whole bool
		if piece, whole = w.said.take(piece, sizeOfPostgres); !whole {
			return n
		}
		if w.starting {
			w.starting = w.again(w.said.buf[4:])
		} else if w.commit(w.said.buf[0], w.said.buf[5:]) {
			n++
		}
		head := 5
		if w.starting {
			head = 4
		}
		w.said.next(head)
	}
	return n
}

// again reports whether a start-up message is followed by another one.
func (w *postgresWatcher) again(body []byte) bool {
	if len(body) < 4 {
		return false
	}
	code := binary.BigEndian.Uint32(body)
	return code == sslRequest || code == gssEncRequest
}

// commit reports whether a message commits.
func (w *postgresWatcher) commit(kind byte, body []byte) bool {
	first, rest, whole := bytes.Cut(body, []byte{0})
	second, _, both := bytes.Cut(rest, []byte{0})
	switch kind {
	case 'Q':
		return whole && w.run(read(string(first)), true)
	case 'P':
		note(w.statements, first, both, read(string(second)))
	case 'B':
		note(w.portals, first, true, w.statements[string(second)])
	case 'E':
		return w.run(w.portals[string(first)], false)
	case 'S':
		wrote := w.wrote
		w.wrote = false
		return wrote
	}
	return false
}

// run follows one statement, and reports whether it commits by now: a simple one at once.
func (w *postgresWatcher) run(s statement, simple bool) bool {
	switch s {
	case begins:
		w.within = true
	case undoes:
		w.within = false
	case commits:
		w.within = false
		return true
	case writes:
		w.wrote = !w.within && !simple
		return !w.within && simple
	}
	return false
}

// note keeps the names that matter, and forgets those that are something else by now.
func note(names map[string]statement, name []byte, whole bool, s statement) {
	if whole && s != other {
		names[string(name)] = s
	} else {
		delete(names, string(name))
	}
}

func (w *postgresWatcher) answered(piece []byte) bool {
	for len(piece) > 0 {
		var whole bool
		if piece, whole = w.heard.take(piece, sizeOfPostgres); !whole {
			return false
		}
		if w.heard.buf[0] == 'Z' {
			return true
		}
		w.heard.next(5)
	}
	return false
}
