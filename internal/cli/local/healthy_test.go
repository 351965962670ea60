package local

import (
	"testing"

	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/server"
)

func TestWhereAServerIsAskedHowItIs(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080/healthz", ":8080": "http://127.0.0.1:8080/healthz", "0.0.0.0:80": "http://127.0.0.1:80/healthz",
		"[::]:8080": "http://[::1]:8080/healthz", "10.0.0.7:8080": "http://10.0.0.7:8080/healthz", "posthouse.local:8080": "http://posthouse.local:8080/healthz",
	} {
		if got := healthURL(config.Config{Server: server.Options{Addr: addr}}, "/healthz"); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if got := healthURL(config.Config{Server: server.Options{Addr: ":8443", TLSCert: "cert.pem"}}, "/readyz"); got != "https://127.0.0.1:8443/readyz" {
		t.Errorf("with a certificate: %s", got)
	}
}
