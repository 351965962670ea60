//go:build mta

package email_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// free is a port of 127.0.0.1 that nobody has.
func free(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Mailpit, which make mta builds, keeps what our driver sends and shows it by its API: it needs no root.
func TestMailpit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	port, api := free(t), fmt.Sprintf("127.0.0.1:%d", free(t))
	cmd := exec.Command(os.Getenv("POSTHOUSE_MAILPIT"), "--smtp", fmt.Sprintf("127.0.0.1:%d", port), "--listen", api, "--database", filepath.Join(dir, "mail.db"),
		"--smtp-tls-cert", write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}))),
		"--smtp-tls-key", write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))),
		"--smtp-auth-file", write("auth", "desk:a-password-of-ours\n"), "--smtp-require-starttls", "--smtp-allowed-recipients", `@example\.org$`,
		"--max-message-size", "1", "--disable-version-check", "--smtp-disable-rdns")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	// ask reads from its API, until it listens.
	ask := func(path string, into any) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; {
			res, err := http.Get("http://" + api + path)
			if err == nil {
				defer res.Body.Close()
				if err := json.NewDecoder(res.Body).Decode(into); err != nil {
					t.Fatal(err)
				}
				return
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	var list struct {
		Total    int
		Messages []struct{ ID, MessageID, Subject string }
	}
	ask("/api/v1/messages", &list)
	config := func(password string) map[string]any {
		return map[string]any{"host": "127.0.0.1", "port": port, "username": "desk", "password": password, "from": "Duty Desk <desk@example.com>"}
	}
	out := outgoing(1, posthouse.Content{Title: "今晚值班", Text: "18:00 起由您值班。\n.\n一行只有一个点。", Media: []posthouse.Media{{Upload: "f1"}}})
	if r := driver(t, config("a-password-of-ours")).Send(t.Context(), out); r.Class != posthouse.ClassOK {
		t.Fatalf("got %+v", r)
	}
	ask("/api/v1/messages", &list)
	if list.Total != 1 || list.Messages[0].Subject != "今晚值班" || !strings.Contains(list.Messages[0].MessageID, out.IdemKey) {
		t.Fatalf("Mailpit has %+v", list)
	}
	var whole struct {
		Text        string
		Attachments []struct{ FileName string }
	}
	ask("/api/v1/message/"+list.Messages[0].ID, &whole)
	if !strings.Contains(whole.Text, "\n.\n") && !strings.Contains(whole.Text, "\r\n.\r\n") || len(whole.Attachments) != 1 || whole.Attachments[0].FileName != "值班表.pdf" {
		t.Errorf("the mail is %+v", whole)
	}
	for name, c := range map[string]struct {
		password string
		change   func(*channel.Outgoing)
		want     posthouse.Class
	}{
		"a domain of others": {"a-password-of-ours", func(o *channel.Outgoing) { o.Recipient.Address = "li.na@example.net" }, posthouse.ClassRecipient},
		"a wrong password":   {"another", func(*channel.Outgoing) {}, posthouse.ClassAccount},
		"too large":          {"a-password-of-ours", func(o *channel.Outgoing) { o.Content.Text = strings.Repeat("很长的一行。\n", 100_000) }, posthouse.ClassContent},
	} {
		o := out
		c.change(&o)
		if r := driver(t, config(c.password)).Send(t.Context(), o); r.Class != c.want {
			t.Errorf("%s: got %+v, want %s", name, r, c.want)
		}
	}
}
