package network

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// animal is a provider that answers in one way, and what each driver must make of that. The class says
// what is known: unknown where the message may have arrived, transient where it surely has not.
type animal struct {
	name             string
	serve            func(v *visit)
	url              func(base string) string // of what is not reached by the listener's own address
	address          string                   // to listen on; defaults to a port of 127.0.0.1
	httpapi, webhook posthouse.Class
	wait             [2]time.Duration // the least and the most that the account is parked, if it is
	slow             bool             // its answer does not come in time
}

const (
	isOK      = posthouse.ClassOK
	unknown   = posthouse.ClassUnknown
	transient = posthouse.ClassTransient
	rate      = posthouse.ClassRate
	account   = posthouse.ClassAccount
)

const day = 24 * time.Hour

// The time-outs of the channels: one that slow answers miss, and one that nothing else does.
const (
	shortTimeout = 5 * time.Second
	longTimeout  = time.Minute
)

func (a animal) timeout() posthouse.Duration {
	if a.slow {
		return posthouse.Duration(shortTimeout)
	}
	return posthouse.Duration(longTimeout)
}

func zoo() []animal {
	return []animal{
		{name: "says nothing", serve: reads(func(v *visit) { v.wait() }), slow: true, httpapi: unknown, webhook: unknown},
		{name: "never reads", serve: (*visit).ignore, slow: true, httpapi: unknown, webhook: unknown},
		{name: "a byte of the header at a time", serve: reads(func(v *visit) { v.drip(fine) }), slow: true, httpapi: unknown, webhook: unknown},
		{name: "a byte of the body at a time", serve: reads(func(v *visit) {
			v.say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
			v.drip(strings.Repeat(" ", 500))
		}), slow: true, httpapi: unknown, webhook: unknown},
		{name: "reset before the body", serve: reads((*visit).reset), httpapi: unknown, webhook: unknown},
		{name: "reset within the body", serve: reads(func(v *visit) { v.say(longer("{")); v.reset() }), httpapi: unknown, webhook: unknown},
		{name: "end before an answer", serve: reads(func(*visit) {}), httpapi: unknown, webhook: unknown},
		{name: "end within the header", serve: reads(func(v *visit) { v.say("HTTP/1.1 200 OK\r\nContent-Le") }), httpapi: unknown, webhook: unknown},
		{name: "end within the body", serve: reads(func(v *visit) { v.say(longer(`{"code":`)) }), httpapi: unknown, webhook: unknown},
		{name: "not HTTP", serve: says("+PONG\r\n\r\n"), httpapi: unknown, webhook: unknown},
		{name: "a header without end", serve: reads(func(v *visit) { v.flood("HTTP/1.1 200 OK\r\nX: ", 1<<22) }), httpapi: unknown, webhook: unknown},
		{name: "hints without end", serve: reads(func(v *visit) { v.say(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000)) }), httpapi: unknown, webhook: unknown},
		{name: "200 with rubbish", serve: says(with(200, "<html>Welcome to the guest network</html>")), httpapi: unknown, webhook: isOK},
		{name: "200 with a refusal", serve: says(with(200, `{"code":1001}`)), httpapi: posthouse.ClassRecipient, webhook: isOK},
		{name: "200 with success", serve: says(with(200, `{"code":0,"id":"1"}`)), httpapi: isOK, webhook: isOK},
		{name: "200 of 10 GB", serve: reads(func(v *visit) {
			v.flood("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n", 1<<28)
		}), httpapi: unknown, webhook: isOK},
		{name: "200 with a gzip bomb", serve: bomb, httpapi: unknown, webhook: isOK},
		{name: "302", serve: says("HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"), httpapi: account, webhook: account},
		{name: "429, wait 7 s", serve: says(after("7")), httpapi: rate, webhook: rate, wait: [2]time.Duration{5 * time.Second, 8 * time.Second}},
		{name: "429, wait until a date", serve: says(after(time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))), httpapi: rate, webhook: rate,
			wait: [2]time.Duration{50 * time.Minute, time.Hour}},
		{name: "429, wait 1e9 s", serve: says(after("1000000000")), httpapi: rate, webhook: rate, wait: [2]time.Duration{day - time.Minute, day + time.Minute}},
		{name: "429, wait -5 s", serve: says(after("-5")), httpapi: rate, webhook: rate, wait: [2]time.Duration{time.Second, 3 * time.Minute}}, // half a minute, doubled where it is refused again
		{name: "500", serve: says(with(500, "oops")), httpapi: unknown, webhook: unknown},
		{name: "503", serve: says(with(503, "busy")), httpapi: transient, webhook: transient},
		{name: "a certificate that has expired", serve: expired(), url: func(base string) string { return "https" + strings.TrimPrefix(base, "http") },
			httpapi: transient, webhook: transient},
		{name: "a name that nobody has", serve: says(fine), url: func(string) string { return "http://nobody.invalid/" }, httpapi: transient, webhook: transient},
		{name: "a port that nobody listens on", serve: says(fine), url: func(string) string { return "http://127.0.0.1:1/" }, httpapi: transient, webhook: transient},
		{name: "IPv6 alone", serve: says(with(200, `{"code":0}`)), address: "[::1]:0", httpapi: isOK, webhook: isOK},
	}
}

// reads serves one request: it reads it, then does f and hangs up.
func reads(f func(v *visit)) func(v *visit) {
	return func(v *visit) {
		if v.read() {
			f(v)
		}
	}
}

// says answers each request with a text.
func says(text string) func(v *visit) {
	return func(v *visit) {
		for v.read() {
			v.say(text)
		}
	}
}

func with(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d It Is\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// longer is a 200 whose body ends early.
func longer(body string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + body }

// after is a 429 with a Retry-After.
func after(wait string) string {
	return "HTTP/1.1 429 Too Many\r\nRetry-After: " + wait + "\r\nContent-Length: 0\r\n\r\n"
}

// ignore keeps the connection and reads nothing.
func (v *visit) ignore() { <-v.endpoint.done }

// drip says a text slowly: none of them ends within the time-out.
func (v *visit) drip(text string) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := range len(text) {
		if _, err := v.Write([]byte{text[i]}); err != nil {
			return
		}
		<-tick.C
	}
}

// flood says a text and then so many bytes more, as long as somebody reads.
func (v *visit) flood(text string, n int) {
	v.say(text)
	chunk := []byte(strings.Repeat("x", 1<<16))
	for range n / len(chunk) {
		if _, err := v.Write(chunk); err != nil {
			return
		}
	}
}

// bomb answers with 64 MiB in some 60 KiB.
func bomb(v *visit) {
	for v.read() { // whoever hangs up after a whole answer makes the next send on that connection one that never was
		v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", len(packed())))
		v.Write(packed())
	}
}

var packed = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	chunk := make([]byte, 1<<20)
	for range 64 {
		w.Write(chunk)
	}
	w.Close()
	return b.Bytes()
})

// expired speaks TLS with a certificate of last year.
func expired() func(v *visit) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	year := time.Now().AddDate(-1, 0, 0)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: year.AddDate(-1, 0, 0), NotAfter: year, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		panic(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
	return func(v *visit) { tls.Server(v.TCPConn, config).Handshake() }
}
