package console

import (
	"net/http"
	"strconv"

	"github.com/posthouse/posthouse/internal/proof"
)

// showProof answers a signed statement of what became of a message, as a page that is printed or kept. It carries its own style, so it has a
// policy of its own, and stands outside of the console's frame.
func showProof(v *visit) error {
	made, err := v.call().Messages.Proof(v.ctx(), v.r.PathValue("id"), v.query("person"))
	if err != nil {
		return err
	}
	page, err := proof.Page(made, v.zh, zoneFor(v))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Security-Policy", proof.Policy()+"; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(page) // a browser that has left is told nothing
	return nil
}
