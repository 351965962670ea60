package store

import (
	"maps"
	"slices"

	"github.com/posthouse/posthouse/internal/store/layout"
)

// Memory is what a process remembers, beside the database, of the clean deliveries that it has claimed: a plain value, so that
// who explores schedules (torture/internal/prove) can keep it with a copy of the database and go back to both. A process that dies loses
// it. What only makes claims cheaper (where they begin, what was accepted a moment ago) is no part of it.
type Memory struct {
	Flights []Remembered
	Empty   []string // flights without deliveries, whose rows are still there
}

// Remembered is a flight with those of its deliveries that have no result yet.
type Remembered struct {
	layout.Flight
	Of           []string
	Left         int
	Pinned       map[string]string
	Shared, Over bool
}

// Memory is what this process remembers now.
func (s *Store) Memory() Memory {
	f := &s.Queue.flights
	f.mu.Lock()
	defer f.mu.Unlock()
	of := map[*flight][]string{}
	for id, known := range f.of {
		of[known] = append(of[known], id)
	}
	var m Memory
	for known, ids := range of {
		slices.Sort(ids)
		m.Flights = append(m.Flights, Remembered{known.Flight, ids, known.left, maps.Clone(known.pinned), known.shared, known.over})
	}
	slices.SortFunc(m.Flights, func(a, b Remembered) int { return slices.Compare(a.Of, b.Of) })
	m.Empty = slices.Clone(f.empty)
	return m
}

// Remember gives the process the memory of another moment, or of another process, and has it forget all else.
func (s *Store) Remember(m Memory) {
	of := map[string]*flight{}
	for _, r := range m.Flights {
		known := &flight{Flight: r.Flight, left: r.Left, pinned: maps.Clone(r.Pinned), shared: r.Shared, over: r.Over}
		for _, id := range r.Of {
			of[id] = known
		}
	}
	s.Queue.flights.mu.Lock()
	s.Queue.flights.of, s.Queue.flights.empty = of, slices.Clone(m.Empty)
	s.Queue.flights.mu.Unlock()
	for _, l := range []*lows{&s.Queue.lows, &s.Queue.cleanLows} {
		l.mu.Lock()
		l.byLane = nil
		l.mu.Unlock()
	}
	s.Queue.courses.mu.Lock()
	s.Queue.courses.byLane = nil
	s.Queue.courses.mu.Unlock()
	s.Queue.fresh.mu.Lock()
	s.Queue.fresh.lanes, s.Queue.fresh.size = nil, 0
	s.Queue.fresh.mu.Unlock()
}
