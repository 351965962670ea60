package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
)

// results are all of a run.
type results struct {
	Date    string  `json:"date"`
	Machine string  `json:"machine"`
	Quick   bool    `json:"quick"`
	Took    string  `json:"took,omitempty"`
	Trials  []taken `json:"trials"`
	Ratios  []ratio `json:"ratios"`
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
	// OursMedian and PeerMedian are the absolute figures: a rate in messages a second, or a latency in seconds.
	OursMedian float64 `json:"ours_median"`
	PeerMedian float64 `json:"peer_median"`
}

func median(list []float64) float64 {
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
		if t.Cell == cell && t.Contender == of.name {
			sums[t.Round] += m.of(t.Outcome)
			counts[t.Round]++
		}
	}
	for n := range sums {
		sums[n] /= counts[n]
	}
	return sums
}

// compare works out one target; ok is false where one side was not measured.
func (r *results) compare(c cell, t target) (out ratio, ok bool) {
	ours, peers := r.perRound(c.name, t.ours, t.of), r.perRound(c.name, t.peer, t.of)
	var ratios, a, b []float64
	for n, own := range ours {
		if peer, ok := peers[n]; ok && own > 0 && peer > 0 {
			ratios, a, b = append(ratios, t.of.ratio(own, peer)), append(a, own), append(b, peer)
		}
	}
	if len(ratios) == 0 {
		return out, false
	}
	out = ratio{
		Cell: c.name, Measure: t.of, Ours: t.ours.name, Peer: t.peer.name, Target: t.atLeast,
		Median: median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios), OursMedian: median(a), PeerMedian: median(b),
	}
	switch {
	case t.atLeast > 0 && out.Median >= t.atLeast:
		out.Verdict = "meets"
	case t.atLeast > 0:
		out.Verdict = "misses"
	}
	return out, true
}

// write prints the tables, and the file of -json.
func (r *results) write(o options) error {
	for _, c := range cells(fullSizes) {
		for _, t := range c.targets {
			if found, ok := r.compare(c, t); ok {
				r.Ratios = append(r.Ratios, found)
			}
		}
	}
	fmt.Printf("%s\n%s, %s\n\n", r.Machine, r.Date, cmp.Or(r.Took, "not finished"))
	r.printRatios(os.Stdout)
	fmt.Println()
	r.printFigures(os.Stdout)
	if o.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(text, '\n'), 0o600)
}

func (r *results) printRatios(w io.Writer) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.AppendHeader(table.Row{"work", "ours", "peer", "ratio", "from", "to", "target", "verdict", "ours", "peer"})
	for _, x := range r.Ratios {
		goal := "-"
		if x.Target > 0 {
			goal = fmt.Sprintf("%g", x.Target)
		}
		t.AppendRow(table.Row{
			x.Cell + x.Measure.suffix(), x.Ours, x.Peer, fmt.Sprintf("%.2f", x.Median), fmt.Sprintf("%.2f", x.Min), fmt.Sprintf("%.2f", x.Max),
			goal, x.Verdict, x.Measure.text(x.OursMedian), x.Measure.text(x.PeerMedian),
		})
	}
	t.Render()
}

func (m measure) suffix() string {
	if m == rate {
		return ""
	}
	return ", " + string(m)
}

// text is a figure with its unit.
func (m measure) text(v float64) string {
	if m == rate {
		return thousands(int(v)) + "/s"
	}
	return fmt.Sprintf("%.2f ms", 1000*v)
}

// printFigures prints the absolute figures: medians over all trials of a contender in a cell.
func (r *results) printFigures(w io.Writer) {
	type key struct{ cell, contender string }
	var order []key
	by := map[key][]taken{}
	for _, t := range r.Trials {
		k := key{t.Cell, t.Contender}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], t)
	}
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.AppendHeader(table.Row{"work", "contender", "rate", "from", "to", "p50", "p99", "CPU µs a message", "of it the server", "peak RSS", "foreign", ""})
	for _, k := range order {
		t.AppendRow(figures(k.cell, k.contender, by[k]))
	}
	t.Render()
}

func figures(cell, contender string, of []taken) table.Row {
	list := func(f func(taken) float64) []float64 {
		var out []float64
		for _, t := range of {
			out = append(out, f(t))
		}
		return out
	}
	rates := list(func(t taken) float64 { return t.Outcome.PerSecond() })
	row := table.Row{cell, contender, thousands(int(median(rates))), thousands(int(slices.Min(rates))), thousands(int(slices.Max(rates)))}
	for _, m := range []measure{p50, p99} {
		text := ""
		if v := median(list(func(t taken) float64 { return m.of(t.Outcome) })); v > 0 {
			text = m.text(v)
		}
		row = append(row, text)
	}
	each := list(func(t taken) float64 { return float64(t.Outcome.PerMessage().Microseconds()) })
	server := list(func(t taken) float64 { return float64(t.Outcome.Server.Microseconds()) / float64(max(1, t.Outcome.N)) })
	peak := list(func(t taken) float64 { return float64(t.Outcome.Peak >> 20) })
	foreign := median(list(func(t taken) float64 { return t.Foreign }))
	cut, drifted := 0, 0
	for _, t := range of {
		if t.Outcome.Cut {
			cut++
		}
		if t.Drift > driftAllowed {
			drifted++
		}
	}
	return append(row, fmt.Sprintf("%.0f", median(each)), fmt.Sprintf("%.0f", median(server)), fmt.Sprintf("%.0f MB", median(peak)), percent(foreign), remarks(cut, drifted, len(of)))
}

// driftAllowed is by how much the machine's speed may change within a round before the round is marked.
const driftAllowed = 0.1

func percent(share float64) string {
	if share < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func remarks(cut, drifted, of int) string {
	s := ""
	if cut > 0 {
		s = fmt.Sprintf("%d of %d cut", cut, of)
	}
	if drifted > 0 {
		s += fmt.Sprintf(" drift in %d of %d", drifted, of)
	}
	return s
}
