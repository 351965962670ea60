package mutant

import "github.com/posthouse/posthouse/torture/internal/overlay"

// timeoutIsFailure takes no answer for no.
var timeoutIsFailure = []overlay.Edit{{
	File: "channel/reply.go",
	Old:  "\tcase !r.Written:\n\t\treturn posthouse.ClassTransient\n",
	New:  "\tcase !r.Written, r.Code == CodeTimeout:\n\t\treturn posthouse.ClassTransient\n",
}}

// allByNetHTTP leaves also plain calls to net/http, for faults that are in its use.
var allByNetHTTP = overlay.Edit{
	File: "channel/client.go",
	Old:  "\tif c.wire.fits(req) {\n",
	New:  "\tif false {\n",
}

// bodyCanBeRead makes requests the usual way: net/http can then rewind the body, and finds the header
// that says that it may.
var bodyCanBeRead = []overlay.Edit{allByNetHTTP, {
	File: "channel/request.go",
	Old: `		switch name = http.CanonicalHeaderKey(name); name {
		case "Idempotency-Key", "X-Idempotency-Key":
			name = strings.ToLower(name)
		}
		header[name] = values
`,
	New: "\t\theader[http.CanonicalHeaderKey(name)] = values\n",
}, {
	File: "channel/request.go",
	Old:  "\t\tout.Body = io.NopCloser(bytes.NewReader(r.Body))\n",
	New: `		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		out.Body, _ = out.GetBody()
`,
}}

// redirectsFollowed calls by a client, which follows them, instead of by its transport.
var redirectsFollowed = []overlay.Edit{allByNetHTTP, {
	File: "channel/client.go",
	Old:  "return c.transport.RoundTrip(req.http(ctx))",
	New:  "return (&http.Client{Transport: c.transport}).Do(req.http(ctx))",
}}

// rubbishIsSuccess asks only whether the answer names an error, and rubbish names none.
var rubbishIsSuccess = []overlay.Edit{{
	File: "channel/httpapi/verdict.go",
	Old:  "\t\treturn no\n\t}\n\treturn unclear\n",
	New:  "\t\treturn no\n\t}\n\treturn yes\n",
}}
