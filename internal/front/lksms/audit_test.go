package lksms

import (
	"net/http"
	"testing"
)

// What an operator changes at the front door is audited; what is not has a reason.
func TestEveryAddressThatChangesSomethingIsAudited(t *testing.T) {
	t.Parallel()
	unaudited := map[string]string{
		"POST /api/v1/sms/send":   "the log of requests has it",
		"POST /api/v1/sms/report": "the log of reports has it",
	}
	for _, r := range (&door{}).table() {
		at := r.method + " " + r.path
		if reason := unaudited[at]; r.method != http.MethodGet && r.audits() == (reason != "") {
			t.Errorf("%s is audited: %t; the reason not to is %q", at, r.audits(), reason)
		}
		if (r.scope == "") != (r.action == "") {
			t.Errorf("%s needs %q and is called %q", at, r.scope, r.action)
		}
	}
}
