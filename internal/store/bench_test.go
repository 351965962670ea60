package store

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// benchEach runs a benchmark on each database and for batches of 1, 100 and 1000. dbtest's
// servers do not sync; SQLite does. The figure to look at is ns/message.
func benchEach(b *testing.B, run func(b *testing.B, s *Store, batch int)) {
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			s := openTest(b, db.dsn(b))
			for _, batch := range []int{1, 100, 1000} {
				b.Run(fmt.Sprint(batch), func(b *testing.B) {
					b.ReportAllocs()
					run(b, s, batch)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/message")
				})
			}
		})
	}
}

// benchSubs is batch submissions of one message to one recipient.
func benchSubs(batch int, with ...func(*work.Entry)) []*work.Submission {
	subs := make([]*work.Submission, batch)
	for i := range subs {
		subs[i] = submit(entry(1, with...))
	}
	return subs
}

func BenchmarkAcceptBatch(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		for b.Loop() {
			b.StopTimer()
			subs := benchSubs(batch)
			b.StartTimer()
			if _, err := s.Submissions.Accept(b.Context(), at(), subs); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAcceptWithKeys has an Idempotency-Key and a dedup key on every message.
func BenchmarkAcceptWithKeys(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		for b.Loop() {
			b.StopTimer()
			subs := benchSubs(batch, func(e *work.Entry) { e.Message.DedupKey = e.Message.ID })
			for _, sub := range subs {
				sub.Key, sub.Hash = sub.Entries[0].Message.ID, "h"
			}
			b.StartTimer()
			if _, err := s.Submissions.Accept(b.Context(), at(), subs); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchQueue fills a lane.
func benchQueue(b *testing.B, s *Store, lane work.Lane, n int) {
	b.Helper()
	for n > 0 {
		part := min(n, 1000)
		if _, err := s.Submissions.Accept(b.Context(), at(), benchSubs(part, in(lane.Tenant, lane.Channel))); err != nil {
			b.Fatal(err)
		}
		n -= part
	}
}

func benchClaim(b *testing.B, s *Store, lane work.Lane, batch int) []work.Item {
	items, err := s.Queue.Claim(b.Context(), at(), work.Claim{Lane: lane, Max: batch, Owner: "w", Lease: time.Minute, Epoch: 1})
	if err != nil || len(items) != batch {
		b.Fatalf("claimed %d of %d, %v", len(items), batch, err)
	}
	return items
}

func sentChanges(items []work.Item) []work.Change {
	changes := make([]work.Change, len(items))
	for i := range items {
		changes[i] = step(items[i].Delivery, posthouse.EventSent, posthouse.Sent)
	}
	return changes
}

func BenchmarkClaim(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		lane := work.Lane{Tenant: "t1", Channel: posthouse.NewID(), Priority: posthouse.Normal}
		for b.Loop() {
			b.StopTimer()
			benchQueue(b, s, lane, batch)
			b.StartTimer()
			benchClaim(b, s, lane, batch)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		lane := work.Lane{Tenant: "t1", Channel: posthouse.NewID(), Priority: posthouse.Normal}
		for b.Loop() {
			b.StopTimer()
			benchQueue(b, s, lane, batch)
			changes := sentChanges(benchClaim(b, s, lane, batch))
			b.StartTimer()
			refused, err := s.Queue.Record(b.Context(), at(), func(time.Time) []work.Change { return changes })
			if err != nil || len(refused) > 0 {
				b.Fatal(refused, err)
			}
		}
	})
}

// BenchmarkCycle is the whole store work of a message: accept, claim, record, with 100,000
// others in the queue.
func BenchmarkCycle(b *testing.B) {
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			s := openTest(b, db.dsn(b))
			benchQueue(b, s, work.Lane{Tenant: "t1", Channel: "backlog", Priority: posthouse.Normal}, 100_000)
			lane := work.Lane{Tenant: "t1", Channel: "c1", Priority: posthouse.Normal}
			const batch = 200
			for b.Loop() {
				benchQueue(b, s, lane, batch)
				changes := sentChanges(benchClaim(b, s, lane, batch))
				if _, err := s.Queue.Record(b.Context(), at(), func(time.Time) []work.Change { return changes }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/message")
		})
	}
}

// BenchmarkHandOut hands out batches to an agent.
func BenchmarkHandOut(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		for b.Loop() {
			b.StopTimer()
			if _, err := s.Submissions.Accept(b.Context(), at(), benchSubs(batch, pulled)); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if out := handOut(b, s, wish(batch, claimID(posthouse.NewID()))); len(out.Items) != batch {
				b.Fatalf("handed out %d of %d", len(out.Items), batch)
			}
		}
	})
}

// BenchmarkReport reports on batches that an agent holds.
func BenchmarkReport(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		for b.Loop() {
			b.StopTimer()
			if _, err := s.Submissions.Accept(b.Context(), at(), benchSubs(batch, pulled)); err != nil {
				b.Fatal(err)
			}
			var list []work.Report
			for _, item := range handOut(b, s, wish(batch, started)).Items {
				list = append(list, said(item.Delivery.ID, item.Delivery, posthouse.OutcomeSent))
			}
			b.StartTimer()
			if after, _ := report(b, s, list...); after[0].Answer != posthouse.ReportDone {
				b.Fatal(answers(after))
			}
		}
	})
}

// BenchmarkWholeCourse is the whole store work of a message, by a claim and with a start by the accept, in groups of 1, 16 and 64. It tells
// the processor time a message of this process and of the server's connections: µs-cpu/message.
func BenchmarkWholeCourse(b *testing.B) {
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			s := openTest(b, db.dsn(b))
			s.Queue.feed.set(false)
			for _, batch := range []int{1, 16, 64} {
				for _, how := range []string{"claim", "start"} {
					b.Run(fmt.Sprintf("%d/%s", batch, how), func(b *testing.B) {
						lane := work.Lane{Tenant: "t1", Channel: posthouse.NewID(), Priority: posthouse.Normal}
						before := processorTime(b, s)
						for b.Loop() {
							wholeCourse(b, s, lane, batch, how == "start")
						}
						n := float64(b.N * batch)
						b.ReportMetric(float64((processorTime(b, s)-before).Microseconds())/n, "µs-cpu/message")
						b.ReportMetric(float64(b.Elapsed().Microseconds())/n, "µs/message")
					})
				}
			}
		})
	}
}

func wholeCourse(b *testing.B, s *Store, lane work.Lane, batch int, start bool) {
	var items []work.Item
	subs := benchSubs(batch, in(lane.Tenant, lane.Channel))
	if start {
		_, starts, err := s.Submissions.AcceptAndStart(b.Context(), at(), subs, same{work.Seating{N: batch, Owner: "w", Lease: time.Minute, Epoch: 1, Flight: posthouse.NewID()}})
		if err != nil {
			b.Fatal(err)
		}
		items = starts[0].Items
	} else {
		if _, err := s.Submissions.Accept(b.Context(), at(), subs); err != nil {
			b.Fatal(err)
		}
		items = benchClaim(b, s, lane, batch)
	}
	changes := make([]work.Change, len(items))
	for i := range items {
		changes[i] = sentClean(items[i].Delivery)
	}
	refused, err := s.Queue.Record(b.Context(), at(), func(time.Time) []work.Change { return changes })
	if err != nil || len(refused) > 0 {
		b.Fatal(refused, err)
	}
}

// processorTime is that of this process, and of the connections of PostgreSQL, in hundredths of a second.
func processorTime(b *testing.B, s *Store) time.Duration {
	b.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	sum := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	if s.DB.Dialect.Name != "postgres" {
		return sum
	}
	pids, err := sqldb.All(s.DB.Reads(b.Context()), sqldb.Number, "SELECT pid::bigint FROM pg_stat_activity")
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, f := range fields[11:13] { // utime and stime
			ticks, _ := strconv.ParseInt(f, 10, 64)
			sum += time.Duration(ticks) * time.Second / 100
		}
	}
	return sum
}
