//go:build sdks

package sdks

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/email"
)

// said is a line of the mail server.
type said struct {
	Port   int
	Secure bool
	User   string
	Mail   string
}

// mailServer is npm's smtp-server, which needs no root as a mail server of a system does, and what it says.
func mailServer(t *testing.T, certificate tls.Certificate, ca string) *json.Decoder {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	must(t, err)
	private := filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	cmd := exec.CommandContext(t.Context(), "node", "testdata/mail.cjs")
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(os.Getenv("POSTHOUSE_SDKS"), "node_modules"), "NODE_NO_WARNINGS=1", "KEY="+private, "CERT="+ca)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return json.NewDecoder(bufio.NewReader(out))
}

// A mail server that strangers have written takes what our driver sends, and refuses what it does not: make mta does the same with Postfix,
// which wants root.
func TestAMailServerOfStrangers(t *testing.T) {
	certificate, ca := authority(t)
	t.Setenv("SSL_CERT_FILE", ca) // read at the first connection by TLS that this process makes, which is one of these
	server := mailServer(t, certificate, ca)
	var first said
	must(t, server.Decode(&first))
	open := func(password string) channel.Driver {
		config, problems := email.Type().Validate(map[string]any{
			"host": "127.0.0.1", "port": first.Port, "username": "desk", "password": password, "from": "Duty Desk <desk@example.com>",
		})
		if len(problems) > 0 {
			t.Fatalf("the configuration is refused: %+v", problems)
		}
		d, err := email.Type().Open(config, channel.Env{Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}, KeepAnswers: true})
		must(t, err)
		t.Cleanup(func() { d.(io.Closer).Close() })
		return d
	}
	id := posthouse.DeliveryID(posthouse.NewID(), 1)
	out := channel.Outgoing{
		Delivery: id, IdemKey: id, Attempt: 1, Recipient: posthouse.Recipient{User: "li.na", Address: "li.na@example.org"},
		Content: posthouse.Content{Title: "今晚值班", Text: "18:00 起由您值班。\n.\n一行只有一个点。"},
	}
	if r := open("a-password-of-ours").Send(t.Context(), out); r.Class != posthouse.ClassOK {
		t.Fatalf("got %+v", r)
	}
	var got said
	must(t, server.Decode(&got))
	m, err := mail.ReadMessage(strings.NewReader(got.Mail))
	must(t, err)
	if !got.Secure || got.User != "desk" || !strings.Contains(m.Header.Get("Message-Id"), id) {
		t.Errorf("it came with TLS %t by %q, as %q", got.Secure, got.User, m.Header.Get("Message-Id"))
	}
	for name, c := range map[string]struct {
		password string
		change   func(*channel.Outgoing)
		want     posthouse.Class
	}{
		"a mailbox that is none": {"a-password-of-ours", func(o *channel.Outgoing) { o.Recipient.Address = "nobody.here@example.org" }, posthouse.ClassRecipient},
		"a wrong password":       {"another", func(*channel.Outgoing) {}, posthouse.ClassAccount},
		"too large":              {"a-password-of-ours", func(o *channel.Outgoing) { o.Content.Text = strings.Repeat("很长的一行。\n", 5000) }, posthouse.ClassContent},
	} {
		o := out
		c.change(&o)
		if r := open(c.password).Send(t.Context(), o); r.Class != c.want {
			t.Errorf("%s: got %+v, want %s", name, r, c.want)
		}
	}
}
