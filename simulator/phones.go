package simulator

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// phoneName is the provider's name.
const phoneName = "phones"

// A phone's last messages are kept for its page, and so many phones are told apart; what others send is
// counted by the ledger alone. An SMS of more characters than fit into 10 parts is no SMS.
const (
	phoneKeeps = 50
	maxPhones  = 200
	maxSMS     = 10 * 153
)

// smsCall is what a phone is told to send.
type smsCall struct {
	To   string `json:"to"`
	Text string `json:"text"`
	Key  string `json:"key"`
}

// phones are the phones of agents: each has the name of its agent, and is there once it sends. Like real ones
// they remember no keys: who sends twice, sends twice.
type phones struct {
	mu   sync.Mutex
	list map[string]*Phone
}

// Phone is a phone and what it sent, refusals included.
type Phone struct {
	Agent  string    `json:"agent"`
	Totals Totals    `json:"totals"`
	SMS    []Arrival `json:"sms"` // the last 50, newest last
	// Received are the last 50 that people sent back ([Simulator.Reply]), newest last.
	Received []ReceivedSMS `json:"received,omitempty"`
}

// ReceivedSMS is a text message that a phone got.
type ReceivedSMS struct {
	ID         string    `json:"text_id"`
	Sender     string    `json:"sender"`
	Text       string    `json:"text"`
	ReceivedAt time.Time `json:"received_at"`
}

func newPhones() *phones {
	p := &phones{}
	p.forget()
	return p
}

func (p *phones) provider() provider {
	return provider{
		name: phoneName, title: "Phone (SMS)", titleZH: "手机短信", path: "/phones/{agent}/sms", prefix: "sm",
		read: readPhone, status: statusOr(http.StatusAccepted), answer: answerPlainly,
		more: &more{settle: func([]*refusal) {}, taken: p.took, forget: p.forget},
	}
}

func readPhone(r *http.Request, body []byte) (order, *refusal) {
	var in smsCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	agent, n := r.PathValue("agent"), len([]rune(in.Text))
	switch {
	case !agentID(agent):
		return order{}, malformed("the agent is %q: 1 to 50 of a-z, A-Z, 0-9, '-', '_' and '.' are allowed", agent)
	case in.To == "":
		return order{}, malformed("to is missing: the number it goes to")
	case n == 0:
		return order{}, malformed("text is missing")
	case n > maxSMS:
		return order{}, malformed("text has %d characters, at most %d are allowed", n, maxSMS)
	}
	return order{messages: []message{{user: in.To, text: in.Text, key: in.Key, acts: actOf(in.To)}}}, nil
}

// agentID reports whether an agent can have this id.
func agentID(s string) bool {
	return s != "" && len(s) <= 50 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
	})
}

// took remembers what a phone was told to send.
func (p *phones) took(arrivals []Arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range arrivals {
		agent := phoneOf(&a)
		ph := p.list[agent]
		if ph == nil {
			if len(p.list) >= maxPhones {
				return
			}
			ph = &Phone{Agent: agent}
			p.list[agent] = ph
		}
		ph.Totals.count(&a)
		ph.SMS = append(ph.SMS, a)
		if over := len(ph.SMS) - phoneKeeps; over > 0 {
			ph.SMS = slices.Delete(ph.SMS, 0, over)
		}
	}
}

// phoneOf is whose phone sent what arrived.
func phoneOf(a *Arrival) string {
	return strings.TrimSuffix(strings.TrimPrefix(a.Path, "/phones/"), "/sms")
}

// gets has the phone that sent a message get what is sent back, as often as the reply says.
func (p *phones) gets(to *Arrival, a *Reply, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ph := p.list[phoneOf(to)]
	if ph == nil {
		return
	}
	for range a.Times {
		ph.Received = append(ph.Received, ReceivedSMS{ID: "in-" + posthouse.NewID(), Sender: to.User, Text: a.Text, ReceivedAt: at.UTC()})
	}
	if over := len(ph.Received) - phoneKeeps; over > 0 {
		ph.Received = slices.Delete(ph.Received, 0, over)
	}
}

func (p *phones) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = map[string]*Phone{}
}

// all are the phones by name; what they hold is the caller's.
func (p *phones) all() []Phone {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []Phone{}
	for ph := range maps.Values(p.list) {
		sms := slices.SortedFunc(slices.Values(ph.SMS), func(a, b Arrival) int { return cmp.Compare(a.Seq, b.Seq) })
		out = append(out, Phone{ph.Agent, ph.Totals, sms, slices.Clone(ph.Received)})
	}
	slices.SortFunc(out, func(a, b Phone) int { return cmp.Compare(a.Agent, b.Agent) })
	return out
}

// Phones are the phones that sent something since the start or the last Clear, by name.
func (s *Simulator) Phones() []Phone { return s.phones.all() }

// listPhone answers one phone's messages.
func (p panel) listPhone(w http.ResponseWriter, r *http.Request) error {
	agent := r.PathValue("agent")
	if !agentID(agent) {
		return posthouse.Errorf(posthouse.CodeNotFound, "no agent has the id %q", agent)
	}
	for _, ph := range p.Phones() {
		if ph.Agent == agent {
			return writeValue(w, http.StatusOK, ph)
		}
	}
	return writeValue(w, http.StatusOK, Phone{Agent: agent, SMS: []Arrival{}})
}
