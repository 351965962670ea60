package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

// Strangers who hold connections open and say nothing take no callers' room, and no provider's files.
func TestIdleConnectionsMakeRoomForCallers(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.MaxConnections, o.MaxConnectionsPerAddress = 5, -1 })
	var idle []net.Conn
	for range 20 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
		h.must(err)
		t.Cleanup(func() { conn.Close() })
		idle = append(idle, conn)
	}
	if _, err := io.Copy(io.Discard, idle[0]); err != nil && !strings.Contains(err.Error(), "reset") { // ends once it is closed
		t.Error(err)
	}
	if status, answer := h.call(http.MethodGet, "/v1/channels", "", ""); status != http.StatusOK {
		t.Errorf("a caller got %d %v", status, answer)
	}
	if n := h.metric(`posthouse_connections_closed_total{which="idle"}`); n < 15 {
		t.Errorf("the metric counts %v idle ones, want 15 or more", n)
	}
}

// More connections than files: the provider's would have none, and whoever set it so is told.
func TestMoreConnectionsThanFilesAreNamedAtTheStart(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]bool{5: false, 1 << 30: true} {
		var log lines
		open(t, dbtest.SQLite(t), func(o *server.Options) {
			o.MaxConnections, o.Log = most, slog.New(slog.NewTextHandler(&log, nil))
		})
		if got := log.String(); strings.Contains(got, "max_connections leaves too few files") != want {
			t.Errorf("%d connections: %s", most, got)
		}
	}
}

// certify writes a certificate for 127.0.0.1 with a name, and its key.
func certify(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	made, err := x509.CreateCertificate(rand.Reader, &text, &text, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// served is the name in the certificate that a server shows.
func served(t *testing.T, url string) string {
	t.Helper()
	dial := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the test made the certificate
	conn, err := dial.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestTLSIsServedByFilesThatMayChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certify(t, dir, "the first")
	withTLS := func(o *server.Options) { o.TLSCert, o.TLSKey = cert, key }
	h := open(t, dbtest.SQLite(t), withSMS(func(s *server.SMS) { s.Addr = "127.0.0.1:0" }), withTLS)
	for _, url := range []string{h.url, h.smsURL} {
		if got := served(t, url); !strings.HasPrefix(url, "https://") || got != "the first" {
			t.Errorf("%s shows %q", url, got)
		}
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the test made the certificate
	res, err := client.Get(h.url + "/healthz")
	h.must(err)
	res.Body.Close()
	client.CloseIdleConnections()
	h.must(os.WriteFile(cert, []byte("half of a"), 0o600))
	h.eventually("the log says that the new one cannot be used", func() bool {
		return served(t, h.url) == "the first" && len(h.log.with(line{"level": "ERROR"})) > 0
	})
	certify(t, dir, "the second")
	h.eventually("the new certificate is shown", func() bool { return served(t, h.url) == "the second" })
}

func TestHalfOfATLSPairIsRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]server.Options{
		"no key":  {TLSCert: "cert.pem"},
		"no file": {TLSCert: "/nowhere/cert.pem", TLSKey: "/nowhere/key.pem"},
	} {
		o.DSN = dbtest.SQLite(t)
		if err := starts(t, o); err == nil || !strings.Contains(err.Error(), "cert") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
