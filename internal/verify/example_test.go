package verify_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/internal/verify"
)

// A delivery that was sent, and a second copy of it that nothing explains.
func ExampleCheck() {
	const log = `{"delivery":"01KMJ000000000000000AB0001","version":1,"tenant":"bank","db_ts":"2026-03-01T08:00:00Z","type":"accept","to":"pending","token":0,"epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":2,"tenant":"bank","db_ts":"2026-03-01T08:00:01Z","type":"start","from":"pending","to":"sending","token":1,"attempt":1,"owner":"vm-1-a","lease_until":"2026-03-01T08:00:16Z","epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":3,"tenant":"bank","db_ts":"2026-03-01T08:00:02Z","type":"sent","from":"sending","to":"sent","token":1,"attempt":1,"owner":"vm-1-a","epoch":1}
`
	const sink = `{"seq":1,"at":"2026-03-01T08:00:01.5Z","provider":"generic","path":"/","key":"01KMJ000000000000000AB0001","user":"li.na","text":"hello","answer":"accepted","status":200}
{"seq":2,"at":"2026-03-01T08:00:01.7Z","provider":"generic","path":"/","key":"01KMJ000000000000000AB0001","user":"li.na","text":"hello","answer":"accepted","status":200}
`
	report, err := verify.Check(context.Background(), verify.Inputs{
		Events: verify.ReadEvents("events.jsonl", strings.NewReader(log)), Sink: strings.NewReader(sink), Sometimes: []string{"none"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict)
	for _, v := range report.Invariant("I14").Violations {
		fmt.Println(v.What)
		for _, line := range v.Excerpt {
			fmt.Println(" ", line)
		}
	}
	// Output:
	// violated
	// copy 2 arrived after 0 attempts of unknown outcome
	//   2026-03-01 08:00:01.500000  arrival 1 at generic, accepted with 200
	//   2026-03-01 08:00:01.700000  arrival 2 at generic, accepted with 200
	//   2026-03-01 08:00:02.000000  event 3 sent, sending → sent, token 1, attempt 1, owner vm-1-a
}
