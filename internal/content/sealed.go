package content

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// secrets is what is sealed of a message.
type secrets struct {
	Content posthouse.Content `json:"content"`
	Payload json.RawMessage   `json:"payload,omitempty"`
}

// Seals reports whether there can be sensitive messages.
func (c *Contents) Seals() bool { return c.Sealer != nil }

// Seal takes the content out of a message, and returns it sealed.
func (c *Contents) Seal(m *posthouse.Message) (string, error) {
	plain, err := json.Marshal(secrets{m.Content, m.Payload})
	if err != nil {
		return "", err
	}
	body, err := c.Sealer.Seal(string(plain), secret.MessagePlace(m.Tenant, m.ID))
	if err != nil {
		return "", err
	}
	m.Sensitive, m.Content, m.Payload = true, posthouse.Content{}, nil
	return body, nil
}

// Unseal puts the contents back into claimed deliveries of sensitive messages. One that cannot be opened is
// unreadable from then on; an error is the database's.
func (c *Contents) Unseal(ctx context.Context, items []work.Item) error {
	ids := map[string][]string{} // by tenant
	for _, item := range items {
		if m := item.Message; m != nil && m.Sensitive && m.Unreadable == "" {
			ids[m.Tenant] = append(ids[m.Tenant], m.ID)
		}
	}
	opened := map[string]*posthouse.Message{}
	for tenant, messages := range ids {
		bodies, err := c.Store.Sealed(ctx, tenant, messages)
		if err != nil {
			return err
		}
		for i := range items {
			m := items[i].Message
			if m == nil || !m.Sensitive || m.Unreadable != "" || m.Tenant != tenant {
				continue
			}
			if opened[m.ID] == nil {
				opened[m.ID] = c.open(*m, bodies[m.ID])
			}
			items[i].Message = opened[m.ID]
		}
	}
	return nil
}

// open is a message with its content.
func (c *Contents) open(m posthouse.Message, body string) *posthouse.Message {
	switch {
	case body == "":
		m.Unreadable = "its content is forgotten"
		return &m
	case c.Sealer == nil:
		m.Unreadable = "its content is sealed, and this process has no keyring"
		return &m
	}
	plain, err := c.Sealer.Open(body, secret.MessagePlace(m.Tenant, m.ID))
	var s secrets
	if err == nil {
		err = json.Unmarshal([]byte(plain), &s)
	}
	if err != nil {
		m.Unreadable = "its content cannot be opened with this keyring"
		return &m
	}
	m.Content, m.Payload = s.Content, s.Payload
	return &m
}

// MayQuote returns whether the words of others about a message may be kept: of a sensitive one they may quote it, and of one
// that nobody can say of whether it is, such as one that is deleted by now, neither are. Each message is looked up once.
func (c *Contents) MayQuote(ctx context.Context) func(tenant, message string) bool {
	type message struct{ tenant, id string }
	known := map[message]bool{}
	return func(tenant, id string) bool {
		of := message{tenant, id}
		if _, ok := known[of]; !ok {
			m, _, err := c.Store.Message(ctx, tenant, id)
			known[of] = err == nil && !m.Sensitive
		}
		return known[of]
	}
}
