package content

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Reveal is a sensitive message with its content. One that is not sensitive, or whose content is forgotten or cannot be opened, is an
// error of code conflict.
func (c *Contents) Reveal(ctx context.Context, tenant, id string) (posthouse.Message, error) {
	m, _, err := c.Store.Message(ctx, tenant, id)
	if err != nil {
		return m, err
	}
	if !m.Sensitive {
		return m, posthouse.Errorf(posthouse.CodeConflict, "the message %s is not sensitive: its content is shown with it", m.ID)
	}
	bodies, err := c.Store.Sealed(ctx, tenant, []string{m.ID})
	if err != nil {
		return m, err
	}
	opened := c.open(m, bodies[m.ID])
	if opened.Unreadable != "" {
		return m, posthouse.Errorf(posthouse.CodeConflict, "the message %s cannot be shown: %s", m.ID, opened.Unreadable)
	}
	return *opened, nil
}
