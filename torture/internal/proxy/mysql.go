package proxy

// mysqlWatcher follows the protocol of MySQL and MariaDB ("MySQL Packets"): a length of three
// bytes, least first, a sequence number, and a body. A command has the number 0, which tells it
// from the packets of a log-in; COM_QUERY is a 3 and the text.
type mysqlWatcher struct{ message message }

const (
	comQuery    = 3
	keepOfMySQL = 64 // a longer query is no plain commit
)

func (w *mysqlWatcher) commits(piece []byte) (n int) {
	if w.message.head == 0 {
		w.message = message{head: 4, keep: keepOfMySQL}
	}
	for len(piece) > 0 {
		var whole bool
		piece, whole = w.message.take(piece, sizeOfMySQL)
		if !whole {
			return n
		}
		if w.commit(w.message.buf[:4], w.message.buf[4:]) {
			n++
		}
		w.message.next(4)
	}
	return n
}

func (w *mysqlWatcher) commit(head, body []byte) bool {
	return head[3] == 0 && len(body) == sizeOfMySQL(head) && len(body) > 0 && body[0] == comQuery && read(string(body[1:])) == commits
}

func sizeOfMySQL(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// answered: the answer to COMMIT is one packet.
func (w *mysqlWatcher) answered([]byte) bool { return true }
