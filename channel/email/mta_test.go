//go:build mta

package email_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// mta is Postfix as Debian has it, in a folder of its own: it asks for TLS and a password, keeps what goes to example.org in a folder, and takes nothing else.
type mta struct {
	port int
	kept string // the mailboxes, as folders
}

// services are Postfix's own, by which a mail goes from the connection to its folder.
const services = `pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
virtual unix - n n - - virtual
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
`

// openMTA starts it on a free port of 127.0.0.1. It wants root, for the users that it runs as.
func openMTA(t *testing.T) *mta {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		must(os.Chmod(at, 0o755))
	}
	m := &mta{kept: filepath.Join(dir, "kept")}
	owned := func(name, owner string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(os.Mkdir(path, 0o755))
		must(exec.Command("chown", owner, path).Run())
		return path
	}
	owned("kept", "nobody")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	m.port = free.Addr().(*net.TCPAddr).Port
	must(free.Close())
	write := func(name string, mode os.FileMode, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, []byte(text), mode))
		return path
	}
	cert := write("cert.pem", 0o644, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})))
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	must(err)
	private := write("key.pem", 0o600, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	secrets := filepath.Join(dir, "secrets")
	set := exec.Command("saslpasswd2", "-c", "-p", "-f", secrets, "-u", "mta.example.org", "desk")
	set.Stdin = strings.NewReader("a-password-of-ours")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("its password: %v\n%s", err, out)
	}
	must(exec.Command("chown", "postfix", secrets).Run())
	sasl := owned("sasl", "root")
	write("sasl/smtpd.conf", 0o644, "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: "+secrets+"\nmech_list: PLAIN LOGIN\n")
	people := write("people", 0o644, "li.na@example.org li.na/\n")
	write("main.cf", 0o644, strings.Join([]string{
		"compatibility_level = 3.6", "queue_directory = " + owned("spool", "root"), "data_directory = " + owned("data", "postfix"), "maillog_file = /dev/stdout",
		"mail_owner = postfix", "setgid_group = postdrop", "inet_interfaces = 127.0.0.1", "inet_protocols = ipv4", "myhostname = mta.example.org", "mydestination =",
		"mynetworks =", "virtual_mailbox_domains = example.org", "virtual_mailbox_base = " + m.kept, "virtual_mailbox_maps = texthash:" + people, "virtual_minimum_uid = 1",
		"virtual_uid_maps = static:65534", "virtual_gid_maps = static:65534", "smtpd_tls_cert_file = " + cert, "smtpd_tls_key_file = " + private,
		"smtpd_tls_security_level = encrypt", "smtpd_tls_received_header = yes", "smtpd_sasl_auth_enable = yes", "smtpd_sasl_path = smtpd", "cyrus_sasl_config_path = " + sasl,
		"smtpd_sasl_local_domain = mta.example.org", "smtpd_recipient_restrictions = permit_auth_destination, reject", "smtpd_relay_restrictions = permit_auth_destination, reject",
		"message_size_limit = 20480", "virtual_mailbox_limit = 0", "mailbox_size_limit = 0", "alias_maps =", "alias_database =", "",
	}, "\n"))
	write("master.cf", 0o644, fmt.Sprintf("127.0.0.1:%d inet n - n - - smtpd\npostlog unix-dgram n - n - 1 postlogd\n", m.port)+services)
	cmd := exec.Command("postfix", "-c", dir, "start-fg")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must(cmd.Start())
	t.Cleanup(func() {
		_ = exec.Command("postfix", "-c", dir, "stop").Run()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Postfix said:\n%s", said.String())
		}
	})
	for end := time.Now().Add(10 * time.Second); ; {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.port)); err == nil {
			c.Close()
			return m
		}
		if time.Now().After(end) {
			t.Fatalf("Postfix does not listen:\n%s", said.String())
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (m *mta) config(password string) map[string]any {
	return map[string]any{"host": "127.0.0.1", "port": m.port, "username": "desk", "password": password, "from": "Duty Desk <desk@example.com>"}
}

// next waits for a mail to be kept.
func (m *mta) next(t *testing.T) *mail.Message {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		list, err := filepath.Glob(filepath.Join(m.kept, "li.na", "new", "*"))
		if err != nil || len(list) == 0 {
			continue
		}
		f, err := os.Open(list[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close(); os.Remove(list[0]) })
		got, err := mail.ReadMessage(f)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	t.Fatal("no mail was kept")
	return nil
}

// What our driver takes for accepted, a real mail server keeps; what that refuses, it says for what. make mta installs it.
func TestARealMailServer(t *testing.T) {
	m := openMTA(t)
	d := driver(t, m.config("a-password-of-ours"))
	out := outgoing(1, posthouse.Content{Title: "今晚值班", Text: "18:00 起由您值班。\n.\n一行只有一个点。"})
	r := d.Send(t.Context(), out)
	if r.Class != posthouse.ClassOK {
		t.Fatalf("got %+v", r)
	}
	got := m.next(t)
	if id := got.Header.Get("Message-Id"); !strings.Contains(id, out.IdemKey) {
		t.Errorf("its Message-Id is %q, want one with the delivery's key %s", id, out.IdemKey)
	}
	if to := got.Header.Get("Delivered-To") + got.Header.Get("To"); !strings.Contains(to, "li.na") || !strings.Contains(got.Header.Get("Received"), "TLS") {
		t.Errorf("it came to %q by %q", to, got.Header.Get("Received"))
	}
	if r := d.(channel.Tester).Test(t.Context()); r.Class != posthouse.ClassOK {
		t.Errorf("the test of the channel: %+v", r)
	}
	for name, c := range map[string]struct {
		config map[string]any
		change func(*channel.Outgoing)
		want   posthouse.Class
	}{
		"a mailbox that is none": {m.config("a-password-of-ours"), func(o *channel.Outgoing) { o.Recipient.Address = "nobody.here@example.org" }, posthouse.ClassRecipient},
		"a domain of others":     {m.config("a-password-of-ours"), func(o *channel.Outgoing) { o.Recipient.Address = "li.na@example.net" }, posthouse.ClassRecipient},
		"a wrong password":       {m.config("another"), func(*channel.Outgoing) {}, posthouse.ClassAccount},
		"too large":              {m.config("a-password-of-ours"), func(o *channel.Outgoing) { o.Content.Text = strings.Repeat("很长的一行。\n", 5000) }, posthouse.ClassContent},
	} {
		t.Run(name, func(t *testing.T) {
			o := out
			c.change(&o)
			if r := driver(t, c.config).Send(t.Context(), o); r.Class != c.want {
				t.Errorf("got %+v, want %s", r, c.want)
			}
		})
	}
}
