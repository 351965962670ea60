package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/workflow"
)

// listed are the ids of the jobs that a filter selects, page by page.
func (h *house) listed(f client.JobFilter) (ids []string) {
	h.Helper()
	for {
		page, err := h.api.Jobs.List(h.Context(), f)
		h.must(err)
		for _, j := range page.Items {
			ids = append(ids, j.ID)
		}
		if f.Cursor = page.Next; page.Next == "" {
			return ids
		}
	}
}

// The document has an index of status and time: jobs are listed by these alone, those that come again among them.
func TestJobsAreListedByStatusAlone(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		began := time.Now().Add(-time.Minute)
		sent, _ := h.enqueue(finished("1001", "", "u1"))
		failed, _ := h.enqueue(finished("1002", "", "fail-recipient"))
		future := `"nextRunTime": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `", "operator"`
		waits, _ := h.enqueue(strings.Replace(finished("1003", "", "u1"), `"operator"`, future, 1))
		again, _ := h.enqueue(`{"bizType": 5, "bizId": 8882, "channel": 0, "dedupKey": "5_8882_0", "userIds": ["u1"],
			"payload": {"taskName": "x", "nodeName": "y", "timeoutRemind": 30}, ` + strings.TrimSuffix(future, `, "operator"`) + `}`)
		gone, _ := h.enqueue(strings.Replace(finished("1004", "", "u1"), `"operator"`, future, 1))
		cancelled, _ := h.enqueue(strings.Replace(finished("1005", "", "u1"), `"operator"`, future, 1))
		h.change("delete", `{"bizType": 3, "bizIds": [1004]}`)
		h.change("status", `{"bizType": 3, "bizIds": [1005], "status": 3}`)
		_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "oa", Kind: "no_job", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}})
		h.must(err)
		h.jobReaches(sent, 1, map[string]int{"u1": 1})
		h.jobReaches(failed, 2, map[string]int{"fail-recipient": 2})
		for name, c := range map[string]struct {
			f    client.JobFilter
			want []string
		}{
			"all":                 {client.JobFilter{}, []string{again, cancelled, waits, failed, sent}},
			"all, one a page":     {client.JobFilter{Limit: 1}, []string{again, cancelled, waits, failed, sent}},
			"waiting":             {client.JobFilter{Statuses: []int{0}}, []string{again, waits}},
			"sent":                {client.JobFilter{Statuses: []int{1}}, []string{sent}},
			"failed":              {client.JobFilter{Statuses: []int{2}, Limit: 1}, []string{failed}},
			"cancelled or failed": {client.JobFilter{Statuses: []int{3, 2}}, []string{cancelled, failed}},
			"aborted":             {client.JobFilter{Statuses: []int{4}}, nil},
			"of a type":           {client.JobFilter{BizTypes: []workflow.BizType{5}}, []string{again}},
			"of a ref":            {client.JobFilter{BizID: "8882"}, []string{again}},
			"waiting of a ref":    {client.JobFilter{BizID: "1003", Statuses: []int{0}}, []string{waits}},
			"of both":             {client.JobFilter{BizTypes: []workflow.BizType{3}, BizID: "1002", Statuses: []int{2}}, []string{failed}},
			"since a minute":      {client.JobFilter{Since: began}, []string{again, cancelled, waits, failed, sent}},
			"before that":         {client.JobFilter{Until: began}, nil},
		} {
			if got := h.listed(c.f); !slices.Equal(got, c.want) {
				h.Errorf("%s: %v, want %v; deleted is %s", name, got, c.want, gone)
			}
		}
		for query, field := range map[string]string{"status=5": "query.status", "status=x": "query.status", "bizType=6": "query.bizType", "since=yesterday": "query.since", "cursor=m.x": "cursor"} {
			status, answer := h.call(http.MethodGet, "/v1/notify/jobs?"+query, "", "")
			if text := fmt.Sprint(answer["problems"]); status != 422 || !strings.Contains(text, field) {
				h.Errorf("?%s is answered HTTP %d %s", query, status, text)
			}
		}
	})
}
