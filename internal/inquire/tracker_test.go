package inquire

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/work"
)

func TestOneQuestionIsForOneRefAndAHundredAtMost(t *testing.T) {
	t.Parallel()
	var due []work.Awaited
	for i := range 130 {
		due = append(due, work.Awaited{Channel: "c", Ref: "big", Delivery: fmt.Sprint(i)})
	}
	due = append(due, work.Awaited{Channel: "c", Ref: "big", Asks: 1}, work.Awaited{Channel: "d", Ref: "big"}, work.Awaited{Channel: "c", Ref: "big", Account: "x"})
	due = slices.Insert(due, 50, work.Awaited{Channel: "c", Ref: "small"})
	var sizes []int
	for _, group := range alike(due) {
		sizes = append(sizes, len(group))
	}
	slices.Sort(sizes)
	if diff := cmp.Diff([]int{1, 1, 1, 1, 30, 100}, sizes); diff != "" {
		t.Error(diff)
	}
}
