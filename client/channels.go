package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// Channels are the configured ways that messages are sent.
type Channels struct{ api *caller }

// Driver describes a kind of channel: what a form needs.
type Driver struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	TitleZH string  `json:"title_zh"`
	Doc     string  `json:"doc"`
	DocZH   string  `json:"doc_zh"`
	Fields  []Field `json:"fields"`
}

// Field is one setting of a driver.
type Field struct {
	Name     string   `json:"name"`
	Label    string   `json:"label"`
	LabelZH  string   `json:"label_zh"`
	Help     string   `json:"help,omitempty"`
	HelpZH   string   `json:"help_zh,omitempty"`
	Kind     string   `json:"kind"`
	Required bool     `json:"required"`
	Secret   bool     `json:"secret"`
	Default  any      `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	Min      int      `json:"min,omitempty"`
	Max      int      `json:"max,omitempty"`
}

// ChannelTest is a real send that is not queued. Without To the driver only checks that its
// provider can be reached, where it can.
type ChannelTest struct {
	To      *posthouse.Recipient `json:"to,omitempty"`
	Content *posthouse.Content   `json:"content,omitempty"`
}

// ChannelTestResult says how the provider answered a test.
type ChannelTestResult struct {
	OK       bool            `json:"ok"`
	Class    posthouse.Class `json:"class"`
	Code     string          `json:"code,omitempty"`
	Error    string          `json:"error,omitempty"`
	Ref      string          `json:"provider_ref,omitempty"`
	Request  string          `json:"request,omitempty"`
	Response string          `json:"response,omitempty"`
}

// Drivers lists the kinds of channels there are.
func (c Channels) Drivers(ctx context.Context) ([]Driver, error) {
	page, err := get[Page[Driver]](ctx, c.api, path("drivers"), nil)
	return page.Items, err
}

// List lists the channels by name, their secrets masked.
func (c Channels) List(ctx context.Context) ([]posthouse.Channel, error) {
	page, err := get[Page[posthouse.Channel]](ctx, c.api, path("channels"), nil)
	return page.Items, err
}

// Get reads one channel, its secrets masked.
func (c Channels) Get(ctx context.Context, name string) (posthouse.Channel, error) {
	return get[posthouse.Channel](ctx, c.api, path("channels", name), nil)
}

// Put creates a channel or replaces it; created tells which. A masked secret keeps the
// stored one.
func (c Channels) Put(ctx context.Context, ch posthouse.Channel) (stored posthouse.Channel, created bool, err error) {
	body := struct {
		Driver string         `json:"driver"`
		Config map[string]any `json:"config,omitempty"`
		posthouse.ChannelSettings
	}{ch.Driver, ch.Config, ch.ChannelSettings}
	r, err := withBody(http.MethodPut, path("channels", ch.Name), body)
	if err != nil {
		return posthouse.Channel{}, false, err
	}
	stored, answer, err := callReply[posthouse.Channel](ctx, c.api, r)
	return stored, answer.status == http.StatusCreated, err
}

// PutJSON is PutChannel with a body as it is.
func (c Channels) PutJSON(ctx context.Context, name string, body []byte) (stored posthouse.Channel, created bool, err error) {
	stored, answer, err := callReply[posthouse.Channel](ctx, c.api, request{
		method: http.MethodPut, path: path("channels", name), kind: "application/json", body: body,
	})
	return stored, answer.status == http.StatusCreated, err
}

// Delete deletes a channel that has no open deliveries.
func (c Channels) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("channels", name)})
	return err
}

// Pause stops a channel's starts until it is resumed. The reason is shown with it.
func (c Channels) Pause(ctx context.Context, name, reason string) (posthouse.Channel, error) {
	return send[posthouse.Channel](ctx, c.api, http.MethodPost, path("channels", name, "pause"), map[string]string{"reason": reason})
}

// Resume lets a channel send again, and opens the accounts its provider had refused.
func (c Channels) Resume(ctx context.Context, name string) (posthouse.Channel, error) {
	return send[posthouse.Channel](ctx, c.api, http.MethodPost, path("channels", name, "resume"), nil)
}

// Test tests a channel without queueing anything.
func (c Channels) Test(ctx context.Context, name string, test ChannelTest) (ChannelTestResult, error) {
	return send[ChannelTestResult](ctx, c.api, http.MethodPost, path("channels", name, "test"), test)
}
