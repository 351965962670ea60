package simulator

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// maxListed is the most arrivals or keys one answer lists.
const maxListed = 10_000

// panel is the simulator's pages and paths, for those who look at it and command it.
type panel struct{ *Simulator }

func (p panel) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, f := range p.fakes {
		mux.HandleFunc(f.path, p.exchange(f))
		if f.more != nil {
			for pattern, handler := range f.more.paths {
				mux.HandleFunc(pattern, handler)
			}
			for _, host := range f.more.hosts {
				mux.HandleFunc(host+"/", p.exchange(f))
			}
		}
	}
	for pattern, handler := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /faults":               p.showFaults,
		"GET /faults/{provider}":    p.showFaultsOf,
		"PUT /faults/{provider}":    p.putFaults,
		"DELETE /faults/{provider}": p.deleteFaults,
		"PUT /callbacks/{provider}": p.putCallback,
		"POST /wecom/press":         p.pressCard,
		"POST /press/{provider}":    p.pressCard,
		"POST /replies/{provider}":  p.replyTo,
		"GET /messages":             p.listMessages,
		"DELETE /messages":          p.deleteMessages,
		"GET /counts":               p.listCounts,
		"GET /stats":                p.showStats,
		"GET /healthz":              p.showHealth,
		"GET /{$}":                  p.showPage,
		presetPath + "{preset}":     p.play,
		presetPath + "{preset}/":    p.play,
		"GET /style.css":            p.showStyle,
		"GET /phones":               p.showPhones,
		"GET /phones/{agent}/sms":   p.listPhone,
		"/":                         p.showNothing,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				writeError(w, err)
			}
		})
	}
	return mux
}

func (p panel) showNothing(_ http.ResponseWriter, r *http.Request) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "%s %s is not served; the page at / lists what is", r.Method, r.URL.Path)
}

func (p panel) showFaults(w http.ResponseWriter, _ *http.Request) error {
	return writeValue(w, http.StatusOK, p.Behaviours())
}

func (p panel) showFaultsOf(w http.ResponseWriter, r *http.Request) error {
	f, err := p.fake(r.PathValue("provider"))
	if err != nil {
		return err
	}
	return writeValue(w, http.StatusOK, f.behaviour())
}

func (p panel) putFaults(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	b, err := ParseBehaviour(body)
	if err != nil {
		return err
	}
	if err := p.Behave(r.PathValue("provider"), b); err != nil {
		return err
	}
	return p.showFaultsOf(w, r)
}

func (p panel) deleteFaults(w http.ResponseWriter, r *http.Request) error {
	if err := p.Behave(r.PathValue("provider"), Behaviour{}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (p panel) listMessages(w http.ResponseWriter, r *http.Request) error {
	q := query{values: r.URL.Query()}
	q.allow("provider", "user", "key", "since", "limit")
	f := Filter{
		Provider: p.providerIn(&q), User: q.values.Get("user"), Key: q.values.Get("key"),
		Limit: int(q.number("limit", 100, 1, maxListed)),
	}
	if q.values.Has("since") {
		f.Since = new(q.number("since", 0, 0, 1<<62))
	}
	if err := q.err(); err != nil {
		return err
	}
	return writeValue(w, http.StatusOK, struct {
		Messages []Arrival `json:"messages"`
		Totals   Totals    `json:"totals"`
	}{p.Arrivals(f), p.Totals()})
}

func (p panel) deleteMessages(w http.ResponseWriter, _ *http.Request) error {
	p.Clear()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (p panel) listCounts(w http.ResponseWriter, r *http.Request) error {
	q := query{values: r.URL.Query()}
	q.allow("provider", "key", "at_least")
	provider, key := p.providerIn(&q), q.values.Get("key")
	atLeast := q.number("at_least", 2, 1, 1<<31)
	if key != "" && provider == "" {
		q.problems.add("provider", "it is missing; a key is a provider's own")
	}
	if err := q.err(); err != nil {
		return err
	}
	counts := []Count{p.Count(provider, key)}
	if key == "" {
		counts = p.Counts(provider, atLeast)
	}
	total := len(counts)
	return writeValue(w, http.StatusOK, struct {
		Counts []Count `json:"counts"`
		Total  int     `json:"total"`
	}{counts[:min(total, maxListed)], total})
}

func (p panel) showStats(w http.ResponseWriter, _ *http.Request) error {
	return writeValue(w, http.StatusOK, p.Status())
}

func (p panel) showHealth(w http.ResponseWriter, _ *http.Request) error {
	if err := p.ledger.trouble(); err != nil {
		return posthouse.Errorf(posthouse.CodeUnavailable, "the journal of arrivals cannot be written: %w", err)
	}
	return writeValue(w, http.StatusOK, map[string]string{"status": "ok"})
}

// Status is the simulator as a whole.
type Status struct {
	StartedAt time.Time `json:"started_at"`
	Totals    Totals    `json:"totals"`
	// Kept and KeptBytes are the arrivals that can be looked at and their size, roughly.
	Kept      int `json:"kept"`
	KeptBytes int `json:"kept_bytes"`
	// Keys are counted; ForgottenKeys were, and would look new if they came again.
	Keys          int              `json:"keys"`
	ForgottenKeys int64            `json:"forgotten_keys"`
	Providers     map[string]Stats `json:"providers"`
}

// Status counts what came since the start or the last Clear.
func (s *Simulator) Status() Status {
	st := s.ledger.status()
	st.StartedAt = s.started.UTC()
	for _, f := range s.fakes {
		if _, known := st.Providers[f.name]; !known {
			st.Providers[f.name] = Stats{}
		}
	}
	return st
}
