// Package proxy is a TCP link that fails on request: it stands between a client
// and a server on one machine and makes the way slow, narrow, silent or broken,
// one way or both, and changes while connections are open.
//
//	link, err := proxy.Start(proxy.Options{Target: "127.0.0.1:5432", Protocol: proxy.Postgres})
//	…
//	link.Set(proxy.Faults{Up: proxy.Way{Latency: time.Second}}) // replaces what was set
//	link.Set(proxy.Faults{AnswerLost: proxy.Strike{Next: 3}})
//	link.Set(proxy.Faults{})                                    // all is well again
//	err = link.Close()
//
// It knows enough of the protocols of PostgreSQL and of MySQL to see a client's
// COMMIT, and can let the server do it and lose the answer, or lose the COMMIT
// itself: to the client both look the same, which is the point. It does the same to requests of HTTP.
//
// It is not a firewall: a connection to it always opens, because the kernel opens
// it, and it acknowledges bytes that it then keeps to itself. So the kernel's own
// time-outs never come to a client's help, which makes a black hole here worse
// than a real one.
package proxy
