package web

import (
	"io"
	"net/http"
	"time"
)

// File is the body as it comes, however long it is: a caller may take as long as something arrives, and has as long again
// to hear the answer.
func (c *Call) File() io.Reader {
	return arriving{c.Body, http.NewResponseController(c.Writer)}
}

type arriving struct {
	from io.Reader
	conn *http.ResponseController
}

func (a arriving) Read(p []byte) (int, error) {
	_ = a.conn.SetReadDeadline(time.Now().Add(patience)) // what has none keeps the server's bound
	n, err := a.from.Read(p)
	if err != nil {
		_ = a.conn.SetWriteDeadline(time.Now().Add(untilAnswer))
	}
	return n, err
}

// untilAnswer is how long the answer to a file may take: who stands twice among a hundred million is looked for by then.
const untilAnswer = 15 * time.Minute
