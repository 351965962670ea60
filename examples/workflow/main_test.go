package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FLOW-3, FLOW-6, FLOW-19: the example says what its comment says.
func TestTheExampleTellsEveryone(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	const want = `created and rolled back:
created:
  li.na     ← 新任务：应急成像
  wang.wei  ← 新任务：应急成像
  zhao.min  ← 新任务：应急成像
the first step is done:
  wang.wei  ← 待您办理：应急成像
  zhao.min  ← 待您办理：应急成像
finished:
  li.na     ← 任务完成：应急成像
  wang.wei  ← 任务完成：应急成像
  zhang.san ← 任务完成：应急成像
  zhao.min  ← 任务完成：应急成像
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
