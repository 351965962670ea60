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

// Permits that were not used go back to the moment they were counted at.
func ExampleMemory() {
	ctx := context.Background()
	wecom := limit.Bound{Key: "default/wecom", Windows: []posthouse.Limit{{Max: 100, Per: posthouse.Duration(time.Hour)}}}

	m := limit.NewMemory()
	g, _ := m.Take(ctx, []limit.Bound{wecom}, 80)
	_ = m.Refund(ctx, g, 30)
	free, _ := m.Peek(ctx, []limit.Bound{wecom})
	fmt.Println(g.N, free.N)

	unlimited, _ := m.Take(ctx, []limit.Bound{{Key: "default/console"}}, 80)
	fmt.Println(unlimited.N)

	typo := limit.Bound{Key: "default/typo", Windows: []posthouse.Limit{{Max: 0, Per: posthouse.Duration(time.Second)}}}
	_, err := m.Take(ctx, []limit.Bound{typo}, 80)
	fmt.Println(err)
	// Output:
	// 80 50
	// 80
	// the limits of "default/typo" cannot be kept: [0].max: is 0, must be from 1 to 1000000000; no limit is an empty list
}

// A channel and its account let through what both have room for. What the account
// refuses is not taken from the channel either.
func ExampleLimiter() {
	ctx := context.Background()
	channel := limit.Bound{Key: "default/wecom", Windows: []posthouse.Limit{{Max: 100, Per: posthouse.Duration(time.Hour)}}}
	account := limit.Bound{Key: "default/wecom/sales", Windows: []posthouse.Limit{{Max: 20, Per: posthouse.Duration(time.Minute)}}}

	var l limit.Limiter = limit.NewMemory()
	g, _ := l.Take(ctx, []limit.Bound{channel, account}, 50)
	fmt.Println(g.N, g.Key)
	g, _ = l.Take(ctx, []limit.Bound{channel, account}, 50)
	fmt.Println(g.N, g.Key)
	free, _ := l.Peek(ctx, []limit.Bound{channel})
	fmt.Println(free.N)
	// Output:
	// 20 default/wecom/sales
	// 0 default/wecom/sales
	// 80
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
