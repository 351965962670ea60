package simulator

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// maxListed is the most arrivals or keys one answer lists.
const maxListed = 10_000

func (s *Simulator) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, f := range s.fakes {
		mux.HandleFunc(f.path, s.exchange(f))
		if f.more != nil {
			for pattern, handler := range f.more.paths {
				mux.HandleFunc(pattern, handler)
			}
		}
	}
	for pattern, handler := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /faults":               s.showFaults,
		"GET /faults/{provider}":    s.showFaultsOf,
		"PUT /faults/{provider}":    s.putFaults,
		"DELETE /faults/{provider}": s.deleteFaults,
		"GET /messages":             s.listMessages,
		"DELETE /messages":          s.deleteMessages,
		"GET /counts":               s.listCounts,
		"GET /stats":                s.showStats,
		"GET /healthz":              s.showHealth,
		"GET /{$}":                  s.showPage,
		"GET /style.css":            s.showStyle,
		"GET /phones":               s.showPhones,
		"GET /phones/{agent}/sms":   s.listPhone,
		"/":                         s.showNothing,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				writeError(w, err)
			}
		})
	}
	return mux
}

func (s *Simulator) showNothing(_ http.ResponseWriter, r *http.Request) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "%s %s is not served; the page at / lists what is", r.Method, r.URL.Path)
}

func (s *Simulator) showFaults(w http.ResponseWriter, _ *http.Request) error {
	return writeValue(w, http.StatusOK, s.Behaviours())
}

func (s *Simulator) showFaultsOf(w http.ResponseWriter, r *http.Request) error {
	f, err := s.fake(r.PathValue("provider"))
	if err != nil {
		return err
	}
	return writeValue(w, http.StatusOK, f.behaviour())
}

func (s *Simulator) putFaults(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	b, err := ParseBehaviour(body)
	if err != nil {
		return err
	}
	if err := s.Behave(r.PathValue("provider"), b); err != nil {
		return err
	}
	return s.showFaultsOf(w, r)
}

func (s *Simulator) deleteFaults(w http.ResponseWriter, r *http.Request) error {
	if err := s.Behave(r.PathValue("provider"), Behaviour{}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Simulator) listMessages(w http.ResponseWriter, r *http.Request) error {
	q := query{values: r.URL.Query()}
	q.allow("provider", "user", "key", "since", "limit")
	f := Filter{
		Provider: s.providerIn(&q), User: q.values.Get("user"), Key: q.values.Get("key"),
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
	}{s.Arrivals(f), s.Totals()})
}

func (s *Simulator) deleteMessages(w http.ResponseWriter, _ *http.Request) error {
	s.Clear()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Simulator) listCounts(w http.ResponseWriter, r *http.Request) error {
	q := query{values: r.URL.Query()}
	q.allow("provider", "key", "at_least")
	provider, key := s.providerIn(&q), q.values.Get("key")
	atLeast := q.number("at_least", 2, 1, 1<<31)
	if key != "" && provider == "" {
		q.problems.add("provider", "it is missing; a key is a provider's own")
	}
	if err := q.err(); err != nil {
		return err
	}
	counts := []Count{s.Count(provider, key)}
	if key == "" {
		counts = s.Counts(provider, atLeast)
	}
	total := len(counts)
	return writeValue(w, http.StatusOK, struct {
		Counts []Count `json:"counts"`
		Total  int     `json:"total"`
	}{counts[:min(total, maxListed)], total})
}

func (s *Simulator) showStats(w http.ResponseWriter, _ *http.Request) error {
	return writeValue(w, http.StatusOK, s.Status())
}

func (s *Simulator) showHealth(w http.ResponseWriter, _ *http.Request) error {
	if err := s.ledger.trouble(); err != nil {
		return posthouse.Errorf(posthouse.CodeUnavailable, "the journal of arrivals can not be written: %w", err)
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
