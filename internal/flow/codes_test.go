package flow_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/workflow"
)

// FLOW-1: the numbers of the document and our names, in both directions.
func TestCodesAreTheDocuments(t *testing.T) {
	t.Parallel()
	kinds := []string{"task_created", "node_done", "orbit_remind", "task_finished", "task_abnormal", "node_timeout"}
	for n, kind := range kinds {
		if got := workflow.BizType(n).Kind(); got != kind {
			t.Errorf("biz_type %d is %q, want %q", n, got, kind)
		}
		if got, ok := workflow.BizTypeOf(kind); int(got) != n || !ok {
			t.Errorf("%s has biz_type %d, %t, want %d", kind, got, ok, n)
		}
	}
	for n, name := range []string{"oa", "dingtalk"} {
		if got := flow.ChannelName(n); got != name {
			t.Errorf("channel %d is %q, want %q", n, got, name)
		}
		if got, ok := flow.ChannelCode(name); got != n || !ok {
			t.Errorf("%s has channel %d, %t, want %d", name, got, ok, n)
		}
	}
	for n, word := range []string{"waiting", "success", "failed", "cancelled", "aborted"} {
		if got := flow.Status(n).String(); got != word {
			t.Errorf("status %d is %q, want %q", n, got, word)
		}
	}
}

func TestCodesBeyondTheDocumentHaveNoName(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 6, 99} {
		if got := workflow.BizType(n).Kind() + flow.ChannelName(n); got != "" {
			t.Errorf("the number %d has the name %q", n, got)
		}
		if flow.Status(n).Valid() {
			t.Errorf("status %d is valid", n)
		}
	}
	if _, ok := workflow.BizTypeOf("notice"); ok {
		t.Error("the kind notice has a biz_type")
	}
}

// FLOW-5: the dedup keys of section 3, among them its own example 0_1_0.
func TestDedupKeysAreTheDocuments(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0_1_0":       flow.TaskCreatedKey("1", "oa"),
		"1_1_8882_1":  flow.NodeDoneKey("1", "8882", "dingtalk"),
		"2_1_9_45_1":  flow.OrbitRemindKey("1", 9, 45, "dingtalk"),
		"3_1_0":       flow.TaskFinishedKey("1", "oa"),
		"4_1_1":       flow.TaskAbnormalKey("1", "dingtalk"),
		"5_8882_1":    flow.NodeTimeoutKey("8882", "dingtalk"),
		"1_a%5Fb_c_0": flow.NodeDoneKey("a_b", "c", "oa"),
		"1_a_b%5Fc_0": flow.NodeDoneKey("a", "b_c", "oa"),
		"0_%255F_0":   flow.TaskCreatedKey("%5F", "oa"),
		"5_8882_duty": flow.NodeTimeoutKey("8882", "duty"),
		"3_1_%30":     flow.TaskFinishedKey("1", "0"),
		"3_1_00":      flow.TaskFinishedKey("1", "00"),
		"3_1_9":       flow.TaskFinishedKey("1", "9"),
	} {
		if got != want {
			t.Errorf("the dedup key is %q, want %q", got, want)
		}
	}
}
