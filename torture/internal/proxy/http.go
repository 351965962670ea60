package proxy

import "bytes"

// httpWatcher follows HTTP/1.1 of clients that wait for an answer before they ask again: there a request
// begins a piece.
type httpWatcher struct{}

// methods are what a request begins with. GET is among them: there are protocols in which it takes things.
var methods = [][]byte{[]byte("POST "), []byte("PUT "), []byte("DELETE "), []byte("GET ")}

func (httpWatcher) commits(piece []byte) int {
	for _, m := range methods {
		if bytes.HasPrefix(piece, m) {
			return 1
		}
	}
	return 0
}

// answered: none of the answer passes, so its first piece is enough.
func (httpWatcher) answered([]byte) bool { return true }
