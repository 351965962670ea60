package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

// The bars of campaigns. Planning is for ten million, whatever the size of the run.
const (
	importAtLeast   = 50_000 // records a second
	planFor         = 10_000_000
	planAtMost      = 10 * time.Second
	requestAtMost   = 2 * time.Minute // what the server gives a request
	nothingAtLeast  = 60_000          // members a second
	postAtLeast     = 20_000
	memoryAtMost    = 200 << 20
	lookUpAtMost    = 5 * time.Millisecond
	storedAtMost    = 40 // bytes a member beyond its own text
	smallCampaign   = 10_000
	campaignLookUps = 500
)

// campaigns measures one campaign from its file to its last member: of few, for the memory that it takes, and of as many as asked for.
func (h *house) campaigns(ctx context.Context) (out []finding, err error) {
	for _, backend := range h.ownDatabases() {
		for _, n := range []int{smallCampaign, h.o.members} {
			found, err := h.campaign(ctx, backend, n)
			if err != nil {
				return out, fmt.Errorf("%s, %d members: %w", backend, n, err)
			}
			if n == smallCampaign && n != h.o.members {
				found = found[:1] // the others of so few say nothing
			}
			out = append(out, found...)
		}
	}
	return out, nil
}

// campaign measures one of n members. The first finding is the memory.
func (h *house) campaign(ctx context.Context, backend string, n int) (out []finding, err error) {
	dsn, database, drop, err := h.database(ctx, backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	b, err := h.openBulk(ctx, dsn)
	if err != nil {
		return nil, err
	}
	b.database = database
	defer func() { err = errors.Join(err, b.raw.Close(), b.stop()) }()
	empty, err := b.stored(ctx)
	if err != nil {
		return nil, err
	}
	say := func(f finding) { f.Database = backend; out = append(out, f) }
	people, text := crowd(n)
	if err := b.profile("import", n); err != nil {
		return nil, err
	}
	took, err := b.imported(ctx, people)
	if err != nil {
		return nil, err
	}
	say(ratePer("campaigns: import of "+thousands(n)+" records over HTTP", n, took, importAtLeast))
	for _, step := range []func(context.Context, int, func(finding)) error{b.planned, b.sends, b.looksUp, b.leavesOut} {
		if err := step(ctx, n, say); err != nil {
			return nil, err
		}
	}
	full, err := b.stored(ctx)
	if err != nil {
		return nil, err
	}
	each := float64(full-empty)/float64(n) - float64(text)/float64(n)
	size := finding{
		What: "campaigns: bytes a member beyond its own text, two campaigns of one list", Value: each, Text: fmt.Sprintf("%.0f", each), Bound: fmt.Sprintf("at most %d", storedAtMost),
		Note: fmt.Sprintf("%.0f in all, of which %.0f are the text", float64(full-empty)/float64(n), float64(text)/float64(n)),
	}
	say(size.atMost(storedAtMost))
	if err := errors.Join(b.heeds(ctx, n, say), b.profile("", n)); err != nil {
		return nil, err
	}
	peak := trial.Memory(b.cmd.Process.Pid, "VmHWM")
	memory := finding{
		What: "campaigns: peak memory with " + thousands(n) + " members", Database: backend, Value: float64(peak), Text: fmt.Sprintf("%d MB", peak>>20), Bound: fmt.Sprintf("at most %d MB", memoryAtMost>>20),
	}
	return append([]finding{memory.atMost(memoryAtMost)}, out...), nil
}

// ratePer is how many were done in a second.
func ratePer(what string, n int, took time.Duration, atLeast float64) finding {
	f := finding{What: what, Value: float64(n) / took.Seconds(), Bound: "at least " + thousands(int(atLeast)) + "/s", Note: short(took).String()}
	f.Text = thousands(int(f.Value)) + "/s"
	f.Verdict = verdict(f.Value >= atLeast)
	return f
}

// addressOf is the address of a record.
func addressOf(i int) string { return fmt.Sprintf("o6_bmjrPTlm6_2sgVt7hM%07d", i) }

// crowd is a file of n records, of which one in a hundred stands there twice, and how many bytes the members' own texts have.
func crowd(n int) (file io.Reader, text int) {
	in, out := io.Pipe()
	record := func(i int) string {
		if i%100 == 99 {
			i-- // stands there again
		}
		return fmt.Sprintf("%s,张三%d,%d,2030-10-01\n", addressOf(i), i%1000, i%90)
	}
	for i := range n {
		text += len(record(i))
	}
	go func() {
		w := bufio.NewWriterSize(out, 1<<16)
		_, err := w.WriteString("openid,name,sum,until\n")
		for i := 0; i < n && err == nil; i++ {
			_, err = w.WriteString(record(i))
		}
		out.CloseWithError(errors.Join(err, w.Flush()))
	}()
	return in, text
}
