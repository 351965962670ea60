package flow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/workflow"
)

func TestAJobIsReadFromNumbersAndTexts(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CST", 8*3600)
	want := Job{
		BizType: workflow.BizOrbitRemind, BizID: "1234567890123456789", Channel: 1, Payload: []byte(`{"remainMin": 45}`), Users: []string{"u1", "7"},
		DedupKey: "2_1_9_45_1", NextRunTime: time.Date(2025, 8, 2, 13, 15, 0, 0, zone), Operator: "42",
	}
	for _, text := range []string{
		`{"bizType": 2, "bizId": 1234567890123456789, "channel": 1, "payload": {"remainMin": 45}, "userIds": ["u1", 7], "dedupKey": "2_1_9_45_1", "nextRunTime": "2025-08-02 13:15:00", "operator": 42}`,
		`{"bizType": "2", "bizId": "1234567890123456789", "channel": "1", "payload": {"remainMin": 45}, "userIds": ["u1", "7"], "dedupKey": "2_1_9_45_1", "nextRunTime": "2025-08-02T05:15:00Z", "operator": "42"}`,
	} {
		got, problems := ReadJob([]byte(text), zone)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Job{})); diff != "" || len(problems) > 0 {
			t.Errorf("%s is read with %v as (-want +got):\n%s", text, problems, diff)
		}
	}
}

func TestAJobThatCannotBeReadNamesItsFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                               "job",
		`[]`:                             "job",
		`{} {}`:                          "job",
		`{"retries": 3}`:                 "job",
		`{"payload": {}, "dedupKey": 7}`: "job.dedupKey",
		`{}`:                             "bizType channel",
		`{"bizType": null, "bizId": 1.5, "channel": true, "userIds": [{}, []]}`:                                        "bizId bizType channel userIds[0] userIds[1]",
		`{"bizType": 9, "bizId": 1, "channel": 3, "userIds": [""]}`:                                                    "bizType channel userIds[0]",
		`{"bizType": 3, "bizId": 1, "channel": 0, "userIds": ["u1"], "nextRunTime": "tomorrow", "operator": {"a": 1}}`: "nextRunTime operator",
	} {
		_, problems := ReadJob([]byte(text), time.UTC)
		var paths []string
		for _, p := range problems {
			if p.Message == "" {
				t.Errorf("%s: %s says nothing", text, p.Path)
			}
			if !slices.Contains(paths, p.Path) {
				paths = append(paths, p.Path)
			}
		}
		slices.Sort(paths)
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%s: problems with %q, want %q: %v", text, got, want, problems)
		}
	}
}
