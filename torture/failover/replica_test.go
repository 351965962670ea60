package failover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// HA: lists are read from a replica, which freezes, dies and comes back under load. No list fails for it, each person finds in the next list
// what they have just written, no page leaves out what the one before was cut above, and the judge comes to the same end by the replica.
func TestHAReplicaThatListsAreReadFromMayFail(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			primary := open(t, kind)
			replica, err := primary.Standby(dbtest.StandbyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := replica.Stop(); err != nil {
					t.Error(err)
				}
			})
			h := house.Open(t, house.Options{DSN: primary.DSN, Env: []string{"POSTHOUSE_READ_DSN=" + replica.DSN}})
			h.PutChannel(t, h.Channel("generic"))
			l := (&pair{House: h}).load(t, 4)
			v := viewers(t, h)
			v.more(house.Form(10, 200))
			for _, strike := range []func() error{replica.Freeze, replica.Thaw, replica.Kill, replica.Restart} {
				if err := strike(); err != nil {
					t.Fatal(err)
				}
				v.more(house.Form(10, 200))
			}
			v.stop()
			l.stop()
			m := h.Members[0] // on a busy machine a replica comes up with what was written once nobody writes
			before := m.Metric(t, `posthouse_reads_total{from="replica"}`)
			house.Until(t, "the replica to answer again", func() bool {
				v.list("limit=20", "")
				return m.Metric(t, `posthouse_reads_total{from="replica"}`) > before
			})
			h.Settle(t)
			report := h.Verdict(t, "--sometimes", "none", "--read-dsn", replica.DSN)
			house.Report(t, house.Row{
				Test: "HA", Database: string(kind), What: "lists from a replica that freezes, dies and comes back under load", N: int(v.looks.Load()), Unit: "lists",
				Figure: fmt.Sprintf("%d messages; lists that failed %d, own writes not listed %d, gaps between pages %d; verify by the replica: %s", l.count(), v.failed.Load(), v.missed.Load(), v.gaps.Load(), report.Verdict),
				Bar:    "failed 0, not listed 0, gaps 0, the verdict holds", Bound: house.Bound(int(v.looks.Load())),
				Pass: v.failed.Load() == 0 && v.missed.Load() == 0 && v.gaps.Load() == 0 && report.Verdict == verify.Holds,
			})
		})
	}
}

// crowd looks at lists, and now and then writes.
type crowd struct {
	t                           *testing.T
	h                           *house.House
	end                         chan struct{}
	running                     sync.WaitGroup
	looks, failed, missed, gaps atomic.Int64
}

func viewers(t *testing.T, h *house.House) *crowd {
	t.Helper()
	c := &crowd{t: t, h: h, end: make(chan struct{})}
	for i := range 4 {
		c.running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-c.end:
					return
				case <-t.Context().Done():
					return
				default:
					c.look(fmt.Sprintf("viewer-%d-%d", i, n))
				}
			}
		})
	}
	t.Cleanup(c.stop)
	return c
}

func (c *crowd) stop() {
	select {
	case <-c.end:
	default:
		close(c.end)
	}
	c.running.Wait()
}

func (c *crowd) more(n int) {
	c.t.Helper()
	from := c.looks.Load()
	house.Until(c.t, "lists", func() bool { return c.looks.Load() >= from+int64(n) })
}

// look writes, reads the next list as a browser does, and turns a page without a word of when.
func (c *crowd) look(key string) {
	defer c.looks.Add(1)
	id, asOf, ok := c.write(key)
	if !ok {
		c.failed.Add(1)
		return
	}
	own, _, ok := c.list("limit=200", asOf)
	if !ok {
		c.failed.Add(1)
		return
	}
	if !slices.Contains(own, id) {
		c.missed.Add(1)
	}
	first, next, ok := c.list("limit=20", "") // by the replica, where that may answer
	if !ok {
		c.failed.Add(1)
		return
	}
	behind, _, ok := c.list("limit=20&cursor="+next, "")
	if !ok {
		c.failed.Add(1)
		return
	}
	for _, id := range own { // what was there before is on one of the two pages, or below or above both
		if next != "" && id < first[len(first)-1] && id >= behind[len(behind)-1] && !slices.Contains(behind, id) {
			c.gaps.Add(1)
		}
	}
}

func (c *crowd) write(key string) (id, asOf string, ok bool) {
	asked := time.Now()
	text, err := json.Marshal(house.Text("generic", 0))
	if err != nil {
		c.t.Error(err)
	}
	status, body, asOf := c.call(http.MethodPost, "/v1/messages", "", key, text)
	var sent posthouse.Accepted
	if err := json.Unmarshal(body, &sent); err != nil || status != http.StatusAccepted {
		c.t.Logf("POST: %d %s", status, body)
		return "", "", false
	}
	c.h.Tell(c.t, house.Told{Asked: asked, At: time.Now(), Op: "send", Key: key, Body: key, Recipients: 1, Answer: "accepted", Status: status, Message: sent.ID})
	return sent.ID, asOf, true
}

func (c *crowd) list(query, asOf string) (ids []string, next string, ok bool) {
	status, body, _ := c.call(http.MethodGet, "/v1/messages?"+query, asOf, "", nil)
	var page struct {
		Items []posthouse.Message
		Next  string
	}
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
		c.t.Logf("GET: %d %s", status, body)
		return nil, "", false
	}
	for _, m := range page.Items {
		ids = append(ids, m.ID)
	}
	return ids, page.Next, true
}

func (c *crowd) call(method, path, asOf, key string, body []byte) (status int, answer []byte, at string) {
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.h.Members[0].Addr+path, bytes.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0, nil, ""
	}
	req.Header.Set("Authorization", "Bearer "+c.h.Key)
	for name, value := range map[string]string{"Posthouse-As-Of": asOf, "Idempotency-Key": key} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error()), ""
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		return 0, []byte(err.Error()), ""
	}
	return res.StatusCode, out.Bytes(), res.Header.Get("Posthouse-As-Of")
}
