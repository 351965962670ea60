package limit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// Two windows hold together. The second one refuses, and what it refuses is not
// taken from the first either.
func ExampleState_Take() {
	windows := []posthouse.Limit{
		{Max: 10, Per: posthouse.Duration(time.Second)},
		{Max: 12, Per: posthouse.Duration(time.Minute)},
	}
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

	var s limit.State
	fmt.Println(s.Take(now, windows, 25))
	now = now.Add(time.Second)
	fmt.Println(s.Take(now, windows, 25))
	fmt.Println(s.Peek(now, windows[:1]))
	// Output:
	// 10 granted, next in 1s: at most 10 each 1s
	// 2 granted, next in 59s: at most 12 each 1m
	// 8 granted
}

// Permits that were not used go back to the moment they were taken at.
func ExampleMemory() {
	ctx := context.Background()
	windows := []posthouse.Limit{{Max: 100, Per: posthouse.Duration(time.Hour)}}

	m := limit.NewMemory()
	g, _ := m.Take(ctx, "default/wecom", windows, 80)
	_ = m.Refund(ctx, "default/wecom", g, 30)
	free, _ := m.Peek(ctx, "default/wecom", windows)
	fmt.Println(g.N, free.N)

	unlimited, _ := m.Take(ctx, "default/console", nil, 80)
	fmt.Println(unlimited.N)

	_, err := m.Take(ctx, "default/typo", []posthouse.Limit{{Max: 0, Per: posthouse.Duration(time.Second)}}, 80)
	fmt.Println(err)
	// Output:
	// 80 50
	// 80
	// the limits of "default/typo" can not be kept: [0].max: is 0, must be from 1 to 1000000000; no limit is an empty list
}

// The text of a state fits into a row of a database.
func ExampleState_MarshalText() {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	windows := []posthouse.Limit{{Max: 3, Per: posthouse.Duration(time.Minute)}}

	var s limit.State
	s.Take(now, windows, 2)
	text, _ := s.MarshalText()
	fmt.Println(string(text))

	var read limit.State
	fmt.Println(read.UnmarshalText(text), read.Peek(now, windows).N)
	// Output:
	// agJChn9b8pQaAjs4cAQEAAg
	// <nil> 1
}
