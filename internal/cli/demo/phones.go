package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/agent"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// The demo's two sender apps: one of the native protocol with its own channel, one of the SMS front door.
const (
	nativePhone  = "phone-1"
	doorPhone    = "phone-2"
	phoneChannel = "phones"
	doorUser     = "demo"
)

// door is the SMS front door as the demo opens it. What is to be tried again is so soon.
func door() server.SMS {
	return server.SMS{Username: doorUser, Password: rand.Text(), RetryDelay: 300 * time.Millisecond, Timeout: 30 * time.Second}
}

// phones are sender apps that run.
type phones struct {
	stop    context.CancelFunc
	running sync.WaitGroup
}

// end stops the apps; each finishes the message it is at.
func (p *phones) end() {
	if p != nil {
		p.stop()
		p.running.Wait()
	}
}

// startPhones registers and starts the sender apps.
func (h *house) startPhones(ctx context.Context, c *client.Client) error {
	key, err := register(ctx, c)
	if err != nil {
		return fmt.Errorf("register a phone: %w", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.phones = &phones{stop: stop}
	for _, o := range []agent.Options{
		{ID: nativePhone, Protocol: agent.Native, Key: key},
		{ID: doorPhone, Protocol: agent.SMS, User: h.door.Username, Password: h.door.Password, Poll: 200 * time.Millisecond},
	} {
		o.URL, o.Log = h.places.API, slog.New(slog.NewJSONHandler(h.log, nil))
		o.Journal = filepath.Join(h.dir, o.ID+".jsonl")
		o.Phone = agent.Simulated(h.simulator.URL(), o.ID, &http.Client{})
		app, err := agent.New(o)
		if err != nil {
			return fmt.Errorf("start the phone %s: %w", o.ID, err)
		}
		h.phones.running.Go(func() {
			if err := app.Run(ctx); err != nil {
				o.Log.Error("a phone has ended", "phone", o.ID, "error", err)
			}
		})
	}
	return nil
}

// register makes the native phone known, or gives it a new key where it is.
func register(ctx context.Context, c *client.Client) (key string, err error) {
	made, err := c.Agents.Add(ctx, posthouse.Agent{ID: nativePhone, Channels: []string{phoneChannel}, Limits: []posthouse.Limit{}})
	if posthouse.CodeOf(err) != posthouse.CodeConflict {
		return made.Secret, err
	}
	again, err := c.Agents.NewKey(ctx, nativePhone, true)
	return again.Secret, err
}

// SMS is what a phone was told to send.
type SMS struct {
	Phone  string `json:"phone"`
	To     string `json:"to"`
	Text   string `json:"text"`
	Answer string `json:"answer"`
	Code   string `json:"code,omitempty"`
}

// onPhones is what the simulator's phones were told to send.
func onPhones(list []simulator.Phone) []SMS {
	var out []SMS
	for _, ph := range list {
		for _, a := range ph.SMS {
			out = append(out, SMS{ph.Agent, a.User, a.Text, string(a.Answer), string(a.Code)})
		}
	}
	return out
}

// sms sends to numbers over the native phone's channel.
func sms(change func(*posthouse.Draft), numbers ...string) func(context.Context, *stage) error {
	d := posthouse.Draft{
		Channel: phoneChannel, Kind: "demo", Source: "posthouse demo",
		Content: &posthouse.Content{Text: "【驿站】今晚 18:00 起请值班。"},
	}
	for _, n := range numbers {
		d.To = append(d.To, posthouse.Recipient{Address: n})
	}
	if change != nil {
		change(&d)
	}
	return post(d)
}

// password makes a message a one-time password: it is sealed, shown nowhere and soon forgotten.
func password(d *posthouse.Draft) {
	d.Content = &posthouse.Content{Text: "【驿站】验证码 830514，5 分钟内有效。"}
	d.Sensitive, d.ForgetAfter = true, posthouse.Duration(time.Hour)
}

// playDoor sends by a template of the SMS front door, as the documented interface has it.
func playDoor(ctx context.Context, s *stage) error {
	err := s.knock(ctx, "/api/v1/admin/template", map[string]any{"template_name": "验证码", "template_content": "【驿站】您的验证码是{code}，用户{name}"}, nil)
	if err != nil {
		return err
	}
	var out struct {
		Data struct {
			Task string `json:"task_id"`
		} `json:"data"`
	}
	err = s.knock(ctx, "/api/v1/sms/send", map[string]any{
		"phone_number": "13800138002", "content": "code=123456&name=张三", "use_template": true, "source": "posthouse demo",
	}, &out)
	if err == nil {
		s.sent = append(s.sent, sent{message: posthouse.MessageID(out.Data.Task)})
	}
	return err
}

// knock posts to the SMS front door.
func (s *stage) knock(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.api+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(s.door.Username, s.door.Password)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered HTTP %d: %s", path, res.StatusCode, text)
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}
