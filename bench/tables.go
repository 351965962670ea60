package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// table begins a table with a title, its headers as they are: µ has no capital here.
func (r *results) table(title string, header table.Row) table.Writer {
	if r.markdown {
		title = "#### " + title + "\n"
	}
	fmt.Fprintln(r.out, title)
	t := table.NewWriter()
	t.SetOutputMirror(r.out)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	return t
}

// render prints a table as lines, or as Markdown for docs/benchmarks.md.
func (r *results) render(t table.Writer) {
	if r.markdown {
		t.RenderMarkdown()
	} else {
		t.Render()
	}
	fmt.Fprintln(r.out)
}

func (r *results) printRatios() {
	if len(r.Ratios) == 0 {
		return
	}
	t := r.table("Ours to a peer's: medians of the rounds' ratios, more is better",
		table.Row{"work", "ours", "peer", "ratio", "from", "to", "target", "verdict", "ours", "peer", "CPU ratio"})
	for _, x := range r.Ratios {
		goal := "-"
		if x.Target > 0 {
			goal = fmt.Sprintf("%g", x.Target)
		}
		t.AppendRow(table.Row{
			x.Cell + x.Measure.suffix(), x.Ours, x.Peer, fmt.Sprintf("%.2f", x.Median), fmt.Sprintf("%.2f", x.Min), fmt.Sprintf("%.2f", x.Max),
			goal, x.Verdict, x.Measure.text(x.OursMedian), x.Measure.text(x.PeerMedian), fmt.Sprintf("%.2f", x.Cost),
		})
	}
	r.render(t)
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

// printAlone prints our own figures against what the design asks.
func (r *results) printAlone() {
	if len(r.Alone) == 0 {
		return
	}
	t := r.table("Ours alone", table.Row{"what", "database", "measured", "wanted", "verdict", ""})
	for _, f := range r.Alone {
		t.AppendRow(table.Row{f.What, f.Database, f.Text, f.Bound, f.Verdict, f.Note})
	}
	r.render(t)
}

// printFigures prints the absolute figures: medians over all trials of a contender in a cell.
func (r *results) printFigures() {
	type key struct{ cell, contender string }
	var order []key
	by := map[key][]taken{}
	for _, t := range r.Trials {
		if t.Failed != "" {
			continue
		}
		k := key{t.Cell, t.Contender}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], t)
	}
	if len(order) == 0 {
		return
	}
	t := r.table("Everything: medians of all trials, CPU in µs a message",
		table.Row{"work", "contender", "rate", "from", "to", "p50", "p99", "CPU", "of it its server", "sink", "peak RSS", "foreign load", ""})
	for _, k := range order {
		t.AppendRow(figures(k.cell, k.contender, by[k]))
	}
	r.render(t)
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
	sink := list(func(t taken) float64 { return float64(t.Sink.Microseconds()) / float64(max(1, t.Outcome.N)) })
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
	return append(row, fmt.Sprintf("%.0f", median(each)), fmt.Sprintf("%.0f", median(server)),
		fmt.Sprintf("%.0f", median(sink)), fmt.Sprintf("%.0f MB", median(peak)), percent(foreign), remarks(cut, drifted, len(of)))
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
	var out []string
	if cut > 0 {
		out = append(out, fmt.Sprintf("%d of %d cut", cut, of))
	}
	if drifted > 0 {
		out = append(out, fmt.Sprintf("drift in %d of %d", drifted, of))
	}
	return strings.Join(out, ", ")
}
