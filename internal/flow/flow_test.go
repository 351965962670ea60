package flow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/workflow"
)

// The events of tests happen so many minutes after noon.
func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func created(m int) workflow.Event {
	return workflow.Event{Type: workflow.TaskCreated, Task: "1001", At: at(m), Created: &workflow.Task{
		Name: "应急成像-京津冀", Code: "T2025-0001", Creator: "boss",
		Nodes: []workflow.Node{
			{ID: "1", Name: "受理", Roles: []string{"head"}, Next: []string{"2", "3"}, MaxDuration: 60, TimeoutRemind: 30},
			{ID: "2", Name: "资源确认", Roles: []string{"planner"}, Next: []string{"4"}, MaxDuration: 30},
			{ID: "3", Name: "数据准备", Roles: []string{"operator"}, Users: []string{"u9"}, Next: []string{"4"}},
			{ID: "4", Name: "归档", Roles: []string{"operator"}, MaxDuration: 20, TimeoutRemind: 10},
		},
	}}
}

func node(kind workflow.EventType, id string, m int) workflow.Event {
	return workflow.Event{Type: kind, Task: "1001", Node: id, At: at(m)}
}

func ends(kind workflow.EventType, m int) workflow.Event {
	return workflow.Event{Type: kind, Task: "1001", At: at(m)}
}

func passes(m int, in ...int) workflow.Event {
	e := workflow.Event{Type: workflow.OrbitPlanChanged, Task: "1001", At: at(m), Orbits: []workflow.Orbit{}}
	for i, minute := range in {
		e.Orbits = append(e.Orbits, workflow.Orbit{ID: fmt.Sprintf("O-%d", i+9), Number: i + 9, InTime: at(minute)})
	}
	return e
}

func again(e workflow.Event, n int) workflow.Event {
	e.Round = n
	return e
}

// scenarios are tasks of five events each.
var scenarios = map[string][]workflow.Event{
	"one that runs": {
		created(-10), node(workflow.NodeActivated, "1", -9), node(workflow.NodeDone, "1", -5),
		node(workflow.NodeActivated, "2", -5), node(workflow.NodeActivated, "3", -5),
	},
	"one that finishes": {
		created(-10), node(workflow.NodeActivated, "1", -9), node(workflow.NodeDone, "1", -5), node(workflow.NodeDone, "2", -3), ends(workflow.TaskFinished, -1),
	},
	"one that breaks off with passes ahead": {
		created(-10), passes(-9, 90, 200), node(workflow.NodeActivated, "1", -8), ends(workflow.TaskAborted, -2), node(workflow.NodeDone, "1", -1),
	},
	"one with passes that move": {
		created(-10), passes(-9, 90, 200), passes(-5, 95, 200, 300), node(workflow.NodeActivated, "1", -3), passes(-1, 95, 205),
	},
	"one that is cancelled": {
		created(-10), passes(-9, 90), node(workflow.NodeActivated, "1", -8), node(workflow.NodeDone, "1", -6), ends(workflow.TaskCancelled, -1),
	},
	"one that had finished when it was cancelled": {
		created(-10), node(workflow.NodeDone, "1", -6), ends(workflow.TaskFinished, -4), ends(workflow.TaskCancelled, -1), passes(-9, 90),
	},
	"one that goes back to a node": {
		created(-10), node(workflow.NodeDone, "1", -6), again(node(workflow.NodeActivated, "1", -5), 2), again(node(workflow.NodeDone, "1", -4), 2),
		again(node(workflow.NodeActivated, "1", -3), 3),
	},
	"one that is described twice": {
		created(-10), func() workflow.Event {
			e := created(-4)
			e.Created.Name, e.Created.Nodes[1].Roles = "改名", []string{"operator"}
			e.Created.Nodes[0].MaxDuration = 0
			return e
		}(), node(workflow.NodeActivated, "1", -9), node(workflow.NodeDone, "1", -5), node(workflow.NodeActivated, "2", -5),
	},
}

// permutations lists every order of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, shorter := range permutations(n - 1) {
		for i := 0; i <= len(shorter); i++ {
			out = append(out, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return out
}

// orders are all 120 orders of five events, and forty with some of them twice or three times.
func orders(seed uint64) [][]int {
	all := permutations(5)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, n := range r.Perm(120)[:40] {
		order := all[n]
		more := slices.Clone(order)
		for range 1 + r.IntN(5) {
			more = slices.Insert(more, r.IntN(len(more)+1), order[r.IntN(5)])
		}
		all = append(all, more)
	}
	return all
}

// FLOW-19: every order and repetition of a task's events ends in the same deliveries where nothing is sent
// between them.
func TestEveryOrderAndRepetitionOfEventsEndsInTheSameDeliveries(t *testing.T) {
	t.Parallel()
	for name, events := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for _, order := range orders(uint64(len(name))) {
				w := newWorld()
				f := w.flow(t)
				for _, i := range order {
					if _, err := f.Apply(t.Context(), "t", events[i]); err != nil {
						t.Fatal(err)
					}
				}
				got := w.deliveries()
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("in the order %v (-want +got):\n%s", order, diff)
				}
			}
			if name != "one that is cancelled" && len(want) == 0 {
				t.Error("nobody is told anything")
			}
		})
	}
}

// FLOW-19: where messages leave between the events, the end is the same but for what had left when the
// event came that took it back; and nobody is told the same twice.
func TestWhatWasSentBeforeAMissingEventCameIsAllThatDiffers(t *testing.T) {
	t.Parallel()
	for name, events := range scenarios {
		if name == "one that is described twice" {
			continue // who has the first words keeps them
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newWorld()
			if _, err := whole.flow(t).Apply(t.Context(), "t", events...); err != nil {
				t.Fatal(err)
			}
			want := whole.deliveries()
			for _, order := range orders(uint64(len(name))) {
				w := newWorld()
				f := w.flow(t)
				var early []string
				for _, i := range order {
					if _, err := f.Apply(t.Context(), "t", events[i]); err != nil {
						t.Fatal(err)
					}
					w.send()
					early = append(early, w.sent()...)
				}
				got := w.deliveries()
				for _, line := range want {
					if !slices.Contains(got, line) {
						t.Fatalf("in the order %v nobody is told %s", order, line)
					}
				}
				for i, line := range got {
					if i > 0 && got[i-1] == line {
						t.Fatalf("in the order %v somebody is told twice: %s", order, line)
					}
					if !slices.Contains(want, line) && !slices.Contains(early, line) {
						t.Fatalf("in the order %v there is besides %s", order, line)
					}
				}
			}
		})
	}
}

// sent are the lines of what has left.
func (w *world) sent() []string {
	var out []string
	for _, m := range w.messages {
		if m.state == posthouse.Sent {
			out = append(out, m.lines()...)
		}
	}
	return out
}
