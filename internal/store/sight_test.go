package store

import (
	"context"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse/internal/work"
)

// Every list of messages and deliveries that takes a filter, those that come later too.
func TestAFilterWithoutSightFindsNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1, named("order", "7")))
		of, calls := reflect.ValueOf(s.Messages), 0
		for i := range of.NumMethod() {
			method := of.Method(i)
			if method.Type().NumIn() != 2 || method.Type().In(0) != reflect.TypeFor[context.Context]() || method.Type().In(1) != reflect.TypeFor[work.Filter]() {
				continue
			}
			calls++
			find := func(sight work.Sight) int {
				out := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(work.Filter{Tenant: "t1", Kind: "order", Ref: "7", Sight: sight})})
				if err, failed := out[len(out)-1].Interface().(error); failed {
					t.Fatal(err)
				}
				return out[0].Len()
			}
			name := of.Type().Method(i).Name
			if n := find(work.Sight{}); n != 0 {
				t.Errorf("%s finds %d for a filter without sight", name, n)
			}
			if n := find(work.SeeAll()); n != 1 {
				t.Errorf("%s finds %d for one that sees all, want 1", name, n)
			}
			if n := find(work.See([]string{"another"}, nil)); n != 0 {
				t.Errorf("%s finds %d for one that sees another channel", name, n)
			}
		}
		if calls < 3 {
			t.Errorf("only %d lists were tried", calls)
		}
	})
}
