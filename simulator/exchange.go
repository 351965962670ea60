package simulator

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// maxBody is the most bytes of a request any path reads.
const maxBody = 1 << 20

// rubbish is an answer no driver can read: JSON cut short, then bytes of no text.
const rubbish = "{\"code\":0,\"ms\x00\xff\xfe<<rubbish>>"

// exchange answers one request to a provider.
func (s *Simulator) exchange(f *fake) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			writeError(w, posthouse.Errorf(codeMethod, "%s is not allowed here; use POST", r.Method))
			return
		}
		body, err := readBody(w, r)
		if err != nil {
			writeError(w, err)
			return
		}
		s.take(f, w, r, body)
	}
}

// take has a provider read what came, and answer it.
func (s *Simulator) take(f *fake, w http.ResponseWriter, r *http.Request, body []byte) {
	at := time.Now().UTC()
	if ord, ref := f.read(r, body); ref != nil {
		s.reject(f, w, r, at, ref)
	} else {
		s.carry(f, w, r, at, ord)
	}
}

// reject answers a request that could not be read, as an arrival without a user.
func (s *Simulator) reject(f *fake, w http.ResponseWriter, r *http.Request, at time.Time, ref *refusal) {
	status := f.status(ref.code)
	s.record(f, entry{malformed: true, arrivals: []Arrival{{
		At: at, Provider: f.name, Path: r.URL.Path, Text: ref.text,
		Answer: Refused, Status: status, Code: ref.code,
	}}})
	f.answer([]result{{refusal: ref}}).send(w, status)
}

// carry takes an order through the provider: what becomes of it, the wait, the
// record, the answer.
func (s *Simulator) carry(f *fake, w http.ResponseWriter, r *http.Request, at time.Time, ord order) {
	v := f.decide(at, ord)
	stayed := s.delay(w, r, v.delay)
	if v.fault.Kind == CutBefore {
		s.ledger.cut(f.name)
		panic(http.ErrAbortHandler)
	}
	arrivals := make([]Arrival, len(ord.messages))
	for i, msg := range ord.messages {
		arrivals[i] = Arrival{
			At: at, Provider: f.name, Path: r.URL.Path, Account: ord.account,
			Key: msg.key, User: msg.user, Title: msg.title, Text: msg.text,
		}
		if len(ord.messages) > 1 && ord.together && v.unknown(i) { // it is asked again who that was, within one attempt
			arrivals[i].Key = ""
		}
		v.judge(&arrivals[i], i, f.status, stayed)
	}
	s.record(f, entry{idempotent: ord.idempotent, together: ord.together, violated: v.violated, arrivals: arrivals})
	if f.more != nil && f.more.taken != nil {
		f.more.taken(arrivals)
	}
	if !stayed {
		panic(http.ErrAbortHandler)
	}
	s.answer(f, w, r, &v, arrivals)
}

// judge says how the ith message is answered. A message refused for itself is
// not taken, whatever fault the whole request meets besides.
func (v *verdict) judge(a *Arrival, i int, status func(Code) int, stayed bool) {
	a.Fault = v.fault.Kind
	if v.refusals != nil && v.refusals[i] != nil {
		a.Code = v.refusals[i].code
		if !v.refusals[i].later {
			a.Answer = Refused
		}
	}
	switch v.fault.Kind {
	case RateLimited, ServerError, Redirect:
		a.Answer, a.Status = Refused, v.fault.Status
	case Garbage:
		a.Answer, a.Status = cmp.Or(a.Answer, Lost), http.StatusOK
	case CutAfter, Hang:
		a.Answer = cmp.Or(a.Answer, Lost)
	default:
		code := a.Code
		if a.Answer == "" {
			code = ""
		}
		a.Answer, a.Status = cmp.Or(a.Answer, Accepted), status(code)
	}
	if !stayed {
		a.Status = 0
		if a.Answer == Accepted {
			a.Answer = Lost
		}
	}
}

// unknown reports whether a message is refused since somebody is not known.
func (v *verdict) unknown(i int) bool {
	return v.refusals != nil && v.refusals[i] != nil && v.refusals[i].code == UnknownUser && !v.refusals[i].later
}

func (s *Simulator) record(f *fake, e entry) {
	if err := s.ledger.record(f, e); err != nil {
		s.log.Error("the journal of arrivals cannot be written; it ends here", "error", err)
	}
}

// answer writes what the verdict says; it panics to cut the connection, which is
// how net/http lets a handler do that.
func (s *Simulator) answer(f *fake, w http.ResponseWriter, r *http.Request, v *verdict, arrivals []Arrival) {
	switch v.fault.Kind {
	case CutAfter:
		panic(http.ErrAbortHandler)
	case Hang:
		s.pause(w, r, nil)
		panic(http.ErrAbortHandler)
	case Garbage:
		reply{kind: "application/json", body: rubbish}.send(w, http.StatusOK)
	case RateLimited, ServerError, Redirect:
		if v.fault.Location != "" {
			w.Header().Set("Location", v.fault.Location)
		}
		reply{kind: "text/plain; charset=utf-8", body: http.StatusText(v.fault.Status), wait: v.fault.RetryAfter}.send(w, v.fault.Status)
	default:
		results := make([]result, len(arrivals))
		for i := range arrivals {
			results[i] = v.result(i, &arrivals[i])
		}
		f.answer(results).send(w, arrivals[0].Status)
	}
}

func (v *verdict) result(i int, a *Arrival) result {
	res := result{user: a.User, id: a.ID}
	if v.refusals != nil {
		res.refusal = v.refusals[i]
	}
	return res
}

// delay waits and reports whether the client stayed that long.
func (s *Simulator) delay(w http.ResponseWriter, r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return s.pause(w, r, timer.C)
}

// pause waits for the clock, and reports false where the client or Stop was first.
// The server's own time-outs, meant for clients, would end it early.
func (s *Simulator) pause(w http.ResponseWriter, r *http.Request, clock <-chan time.Time) bool {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // not every ResponseWriter has time-outs
	_ = conn.SetWriteDeadline(time.Time{})
	select {
	case <-clock:
		return true
	case <-r.Context().Done():
	case <-s.gone.Done():
	}
	return false
}

// readBody reads the whole body within its bound.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, posthouse.Errorf(posthouse.CodeTooLarge, "the body has more than %d bytes, the most that are read", maxBody)
	case err != nil:
		return nil, posthouse.Errorf(posthouse.CodeInvalid, "the body ended early: %w", err)
	}
	return body, nil
}
