package trial_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

// memory is a queue in memory: what is accepted is handled at once when it works.
type memory struct {
	mu       sync.Mutex
	waiting  []string
	handling trial.Handling
	started  bool
	accepted int
	closed   bool
	refuses  error
}

func (m *memory) Accept(ctx context.Context, texts []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses != nil {
		return m.refuses
	}
	m.accepted += len(texts)
	m.waiting = append(m.waiting, texts...)
	return m.work(ctx)
}

func (m *memory) work(ctx context.Context) error {
	if !m.started {
		return nil
	}
	for _, text := range m.waiting {
		if err := m.handling.Handle(ctx, text); err != nil {
			return err
		}
	}
	m.waiting = nil
	return nil
}

func (m *memory) Prepare(_ context.Context, h trial.Handling) error {
	m.handling = h
	return nil
}

func (m *memory) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = true
	return m.work(ctx)
}

func (m *memory) Ended(context.Context, int) (int, error) { return m.handling.Handled(), nil }

func (m *memory) Close(context.Context) error {
	m.closed = true
	return nil
}

func TestEveryKindOfWorkCountsWhatIsDone(t *testing.T) {
	t.Parallel()
	var posted atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m trial.Posted
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.Text) != trial.Size {
			t.Errorf("the sink was sent %+v, %v, want a text of %d bytes", m, err, trial.Size)
		}
		posted.Add(1)
	}))
	t.Cleanup(sink.Close)
	for name, s := range map[string]trial.Spec{
		"single accepts":  {Kind: trial.Accept, Producers: 4, Batch: 1, For: 10 * time.Millisecond},
		"batches":         {Kind: trial.Accept, Producers: 2, Batch: 100, For: 10 * time.Millisecond},
		"drain":           {Kind: trial.Drain, N: 2000, Within: time.Minute},
		"drain of single": {Kind: trial.Drain, Batch: 1, N: 2000, Within: time.Minute},
		"drain by HTTP":   {Kind: trial.Drain, N: 1000, Within: time.Minute, Post: sink.URL},
		"flow":            {Kind: trial.Flow, Producers: 4, N: 500, For: time.Minute, Within: time.Minute},
		"pace":            {Kind: trial.Pace, Rate: 1000, For: 20 * time.Millisecond, Within: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &memory{}
			got, err := trial.Run(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			if got.N == 0 || got.N > q.accepted || got.Took <= 0 || got.Cut {
				t.Errorf("got %+v of %d accepted, want all that was counted", got, q.accepted)
			}
			if s.N > 0 && got.N != s.N {
				t.Errorf("got %d done, want %d", got.N, s.N)
			}
			if s.Kind == trial.Pace && (got.P50 <= 0 || got.P99 < got.P50) {
				t.Errorf("got p50 %s and p99 %s", got.P50, got.P99)
			}
			if !q.closed {
				t.Error("the queue was not closed")
			}
		})
	}
	t.Cleanup(func() {
		if posted.Load() != 1000 {
			t.Errorf("the sink was sent %d messages, want 1000", posted.Load())
		}
	})
}

// watched is a memory that looks at what it handles, and at when it is first asked what has ended.
type watched struct {
	memory
	aged  atomic.Int64 // whose age counts
	asked atomic.Int64 // accepted by then
}

func (w *watched) Prepare(ctx context.Context, h trial.Handling) error {
	handle := h.Handle
	h.Handle = func(ctx context.Context, text string) error {
		if _, counts := trial.Age(text, time.Now()); counts {
			w.aged.Add(1)
		}
		return handle(ctx, text)
	}
	return w.memory.Prepare(ctx, h)
}

func (w *watched) Ended(ctx context.Context, accepted int) (int, error) {
	w.asked.CompareAndSwap(0, int64(accepted))
	return w.memory.Ended(ctx, accepted)
}

// The sink has no other way to know which messages count.
func TestTheWarmUpOfASteadyPaceEndsBeforeAnythingCounts(t *testing.T) {
	t.Parallel()
	q := &watched{}
	got, err := trial.Run(t.Context(), trial.Spec{Kind: trial.Pace, Rate: 1000, For: 20 * time.Millisecond, Within: time.Minute}, q)
	if err != nil || got.N != 20 || q.aged.Load() != 20 || q.accepted <= 20 {
		t.Errorf("got %+v, %v with the ages of %d of %d messages, want 20 of more", got, err, q.aged.Load(), q.accepted)
	}
	if n := int(q.asked.Load()); n != q.accepted-20 {
		t.Errorf("it was waited for %d messages before anything was measured, want the %d of the warm-up", n, q.accepted-20)
	}
}

func TestATrialThatTakesTooLongIsCut(t *testing.T) {
	t.Parallel()
	q := &stuck{}
	got, err := trial.Run(t.Context(), trial.Spec{Kind: trial.Drain, N: 500, Within: time.Millisecond}, q)
	if err != nil || !got.Cut || got.N != 7 {
		t.Errorf("got %+v, %v, want it cut with what the handlers had seen, 7", got, err)
	}
}

// stuck never ends more than seven messages.
type stuck struct{ memory }

func (s *stuck) Ended(context.Context, int) (int, error) { return 7, nil }

func TestARefusedMessageFailsTheTrial(t *testing.T) {
	t.Parallel()
	refused := errors.New("no room")
	_, err := trial.Run(t.Context(), trial.Spec{Kind: trial.Accept, Producers: 2, Batch: 1, For: time.Minute}, &memory{refuses: refused})
	if !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
}

func TestServeRunsTheTrialItReads(t *testing.T) {
	t.Parallel()
	open := func(_ context.Context, dsn string) (trial.Queue, error) {
		if dsn != "here" {
			t.Errorf("opened %q, want here", dsn)
		}
		return &memory{}, nil
	}
	var out bytes.Buffer
	in := strings.NewReader(`{"library":"memory","dsn":"here","kind":"drain","n":1000,"within":60000000000}`)
	if err := trial.Serve(t.Context(), map[string]trial.Open{"memory": open}, in, &out); err != nil {
		t.Fatal(err)
	}
	var got trial.Outcome
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.N != 1000 {
		t.Errorf("got %s, %v, want 1000 done", &out, err)
	}
}
