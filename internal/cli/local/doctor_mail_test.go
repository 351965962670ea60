package local

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/posthouse/posthouse/server"
)

// The doctor says whether mail is taken where the settings say so, and whether it comes in the clear.
func TestTheDoctorLooksWhetherMailIsTaken(t *testing.T) {
	t.Parallel()
	serve := func(secure *tls.Config) string {
		at, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return nil, nil }))
		s.TLSConfig = secure
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Serve(at) // it ends with the test
		}()
		t.Cleanup(func() { _ = s.Close(); <-done })
		return at.Addr().String()
	}
	const silent = "127.0.0.1:1" // a port that was given back is another one's soon
	for name, c := range map[string]struct {
		smtp server.SMTP
		want []finding
	}{
		"nowhere":        {server.SMTP{}, nil},
		"nobody":         {server.SMTP{Addr: silent}, []finding{{"mail", true, "no server takes mail at " + silent + " now"}}},
		"with TLS":       {server.SMTP{Addr: serve(&tls.Config{MinVersion: tls.VersionTLS12})}, []finding{{"mail", true, ", with STARTTLS"}}},
		"without":        {server.SMTP{Addr: serve(nil)}, []finding{{"mail", true, ", without STARTTLS"}}},
		"for all to see": {server.SMTP{Addr: ":0", AllowPlain: true}, []finding{{"mail", false, "smtp_listen :0 can be reached from other machines"}, {"mail", true, "no server takes mail at localhost:0 now"}}},
	} {
		got := examineMail(t.Context(), server.Options{SMTP: c.smtp})
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if got[i].Check != want.Check || got[i].OK != want.OK || !strings.Contains(got[i].Detail, want.Detail) {
				t.Errorf("%s: got %v, want %v", name, got[i], want)
			}
		}
	}
}
