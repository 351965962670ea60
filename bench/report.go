package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"
)

// results are all of a run.
type results struct {
	Date    string    `json:"date"`
	Machine string    `json:"machine"`
	Quick   bool      `json:"quick"`
	Took    string    `json:"took,omitempty"`
	Trials  []taken   `json:"trials"`
	Ratios  []ratio   `json:"ratios"`
	Alone   []finding `json:"alone"`

	out      io.Writer
	markdown bool
}

// ratio is one target and what was measured for it.
type ratio struct {
	Cell    string  `json:"cell"`
	Measure measure `json:"measure"`
	Ours    string  `json:"ours"`
	Peer    string  `json:"peer"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Target  float64 `json:"target,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
	// Cost is the median ratio of CPU times a message, the peer's to ours: it hardly moves when other programs take the CPU.
	Cost float64 `json:"cost"`
	// OursMedian and PeerMedian are the absolute figures: a rate in messages a second, or a latency in seconds.
	OursMedian float64 `json:"ours_median"`
	PeerMedian float64 `json:"peer_median"`
}

func median[T float64 | time.Duration](list []T) T {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// perRound is a contender's figure in each round: the mean of its two trials.
func (r *results) perRound(cell string, of contender, m measure) map[int]float64 {
	sums, counts := map[int]float64{}, map[int]float64{}
	for _, t := range r.Trials {
		if t.Cell == cell && t.Contender == of.name && t.Failed == "" {
			sums[t.Round] += m.of(t.Outcome)
			counts[t.Round]++
		}
	}
	for n := range sums {
		sums[n] /= counts[n]
	}
	return sums
}

// pairs are the ratios of two contenders in each round that both were in, and their own figures.
func (r *results) pairs(cell string, a, b contender, m measure) (ratios, ours, peers []float64) {
	first, second := r.perRound(cell, a, m), r.perRound(cell, b, m)
	for n, own := range first {
		if peer := second[n]; own > 0 && peer > 0 {
			ratios, ours, peers = append(ratios, m.ratio(own, peer)), append(ours, own), append(peers, peer)
		}
	}
	return ratios, ours, peers
}

// compare works out one target; ok is false where one side was not measured.
func (r *results) compare(c cell, t target) (out ratio, ok bool) {
	ratios, ours, peers := r.pairs(c.name, t.ours, t.peer, t.of)
	if len(ratios) == 0 {
		return out, false
	}
	costs, _, _ := r.pairs(c.name, t.ours, t.peer, cost)
	out = ratio{
		Cell: c.name, Measure: t.of, Ours: t.ours.name, Peer: t.peer.name, Target: t.atLeast, Cost: median(costs),
		Median: median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios), OursMedian: median(ours), PeerMedian: median(peers),
	}
	if t.atLeast > 0 {
		out.Verdict = verdict(out.Median >= t.atLeast)
	}
	return out, true
}

func verdict(good bool) string {
	if good {
		return "meets"
	}
	return "misses"
}

// check holds a contender's absolute figures against their floor. Where the machine's cores cannot
// carry library, database and sink at once, the note says what they could.
func (r *results) check(c cell, f floor) (out finding, ok bool) {
	var values, each []float64
	for _, t := range r.Trials {
		if t.Cell == c.name && t.Contender == f.ours.name && t.Failed == "" {
			values = append(values, f.of.of(t.Outcome))
			each = append(each, (t.Outcome.Own+t.Outcome.Server+t.Sink).Seconds()/float64(max(1, t.Outcome.N)))
		}
	}
	if len(values) == 0 {
		return out, false
	}
	v := median(values)
	out = finding{What: c.name + f.of.suffix(), Database: f.ours.backend, Value: v, Text: f.of.text(v), Bound: "at least " + f.of.text(f.bound)}
	out.Verdict = verdict(v >= f.bound)
	if f.of != rate {
		out.Bound, out.Verdict = "below "+f.of.text(f.bound), verdict(v < f.bound)
	}
	out.Note = fmt.Sprintf("%.0f µs CPU a message with the sink: %d cores carry at most %s/s", 1e6*median(each), runtime.NumCPU(), thousands(int(float64(runtime.NumCPU())/median(each))))
	return out, true
}

// judge works out all targets and floors.
func (r *results) judge() {
	var floors []finding
	for _, c := range cells(fullSizes) {
		for _, t := range c.targets {
			if found, ok := r.compare(c, t); ok {
				r.Ratios = append(r.Ratios, found)
			}
		}
		for _, f := range c.floors {
			if found, ok := r.check(c, f); ok {
				floors = append(floors, found)
			}
		}
	}
	r.Alone = append(floors, r.Alone...)
}

// failed is an error if a trial failed: the others are still worth their tables.
func (r *results) failed() error {
	n := 0
	for _, t := range r.Trials {
		if t.Failed != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d trials failed", n, len(r.Trials))
}

// write prints the tables, and the file of -json.
func (r *results) write(o options) error {
	r.judge()
	fmt.Fprintf(r.out, "%s\n%s, %s\n\n", r.Machine, r.Date, cmp.Or(r.Took, "not finished"))
	r.printRatios()
	r.printAlone()
	r.printFigures()
	if o.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(text, '\n'), 0o600)
}
