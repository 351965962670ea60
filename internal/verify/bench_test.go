package verify_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

var (
	deliveries = flag.Int("deliveries", 20_000, "how many messages BenchmarkCheck makes a run of")
	keepRun    = flag.String("keep-run", "", "a folder that keeps the journals of BenchmarkCheck, for posthouse verify")
)

// writeRun writes the journals of a run of so many messages into a folder, as long as real ones are.
func writeRun(b *testing.B, dir string, messages int) {
	b.Helper()
	events, client := newJournal(b, dir, "events.jsonl"), newJournal(b, dir, "client.jsonl")
	sink, limiter := newJournal(b, dir, "sink.jsonl"), newJournal(b, dir, "limiter.jsonl")
	r := newRun(1)
	for range messages {
		r.message()
		for i := range r.events {
			fill(&r.events[i])
			events.write(b, &r.events[i])
		}
		for i := range r.calls {
			client.write(b, &r.calls[i])
		}
		for i := range r.arrivals {
			sink.write(b, &r.arrivals[i])
		}
		r.events, r.calls, r.arrivals = r.events[:0], r.calls[:0], r.arrivals[:0]
	}
	r.limit(min(messages/50, 5000))
	for i := range r.grants {
		limiter.write(b, &r.grants[i])
	}
	for _, j := range []*journal{events, client, sink, limiter} {
		j.close(b)
	}
}

// fill gives an event the excerpts that a real one has.
func fill(e *posthouse.Event) {
	if e.Type != posthouse.EventSent {
		return
	}
	e.Ref = "g-mwq3xzy0-1"
	e.Request = "POST http://127.0.0.1:45987/generic\n{\"to\": \"u1\", \"text\": \"hello\", \"id\": \"" + e.Delivery + "\"}"
	e.Response = `{"code":0,"msg":"ok","data":{"messageId":"g-mwq3xzy0-1"}}`
}

// journal is a file of JSON lines.
type journal struct {
	file *os.File
	out  *bufio.Writer
	json *json.Encoder
}

func newJournal(b *testing.B, dir, name string) *journal {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		b.Fatal(err)
	}
	j := &journal{file: f, out: bufio.NewWriterSize(f, 1<<20)}
	j.json = json.NewEncoder(j.out)
	j.json.SetEscapeHTML(false)
	return j
}

func (j *journal) write(b *testing.B, v any) {
	if err := j.json.Encode(v); err != nil {
		b.Fatal(err)
	}
}

func (j *journal) close(b *testing.B) {
	if err := errors.Join(j.out.Flush(), j.file.Close()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCheck reads the journals of a run from files and decides all invariants.
func BenchmarkCheck(b *testing.B) {
	dir := *keepRun
	if dir == "" {
		dir = b.TempDir()
	}
	writeRun(b, dir, *deliveries)
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { f.Close() })
		return f
	}
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		report, err := verify.Check(b.Context(), verify.Inputs{
			Events: verify.ReadEvents("events.jsonl", open("events.jsonl")), Client: open("client.jsonl"), Sink: open("sink.jsonl"),
			Limiter: open("limiter.jsonl"), KeyWindow: keyWindow, Sometimes: []string{"none"},
		})
		if err != nil || report.Verdict != verify.Holds {
			b.Fatalf("%v\n%s", err, report.Page())
		}
		events += report.Totals.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkReadEvents compares our reading of an event log with that of encoding/json, as strict as it
// can be.
func BenchmarkReadEvents(b *testing.B) {
	run := madeRun(1, 2000)
	for i := range run.events {
		fill(&run.events[i])
	}
	var log bytes.Buffer
	writeLines(&log, slices.Values(run.events))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(log.Len()))
		for b.Loop() {
			for _, err := range verify.ReadEvents("log", bytes.NewReader(log.Bytes())) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(log.Len()))
		for b.Loop() {
			dec := json.NewDecoder(bytes.NewReader(log.Bytes()))
			dec.DisallowUnknownFields()
			for {
				var e posthouse.Event
				if err := dec.Decode(&e); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
