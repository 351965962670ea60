//go:build mta

package senders

import (
	"fmt"
	"io"
	"net"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// services are Postfix's own, by which it hands a mail on.
const services = `pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
scache unix - - n - 1 scache
`

// openMTA starts Postfix as Debian has it, in a folder of its own, which hands everything on to an address and comes again within
// seconds. It returns where it takes mail. It wants root, for the users that it runs as.
func openMTA(t *testing.T, next string) string {
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
	for name, owner := range map[string]string{"spool": "root", "data": "postfix"} {
		must(os.Mkdir(filepath.Join(dir, name), 0o755))
		must(exec.Command("chown", owner, filepath.Join(dir, name)).Run())
	}
	host, port, err := net.SplitHostPort(next)
	must(err)
	addr := house.FreeAddr(t)
	must(os.WriteFile(filepath.Join(dir, "main.cf"), []byte(strings.Join([]string{
		"compatibility_level = 3.6", "queue_directory = " + dir + "/spool", "data_directory = " + dir + "/data", "maillog_file = /dev/stdout", "mail_owner = postfix", "setgid_group = postdrop",
		"inet_interfaces = 127.0.0.1", "inet_protocols = ipv4", "myhostname = mta.example.org", "mydestination =", "mynetworks = 127.0.0.0/8", "smtpd_relay_restrictions = permit_mynetworks, reject",
		"relayhost = [" + host + "]:" + port, "disable_dns_lookups = yes", "recipient_delimiter =", "smtp_tls_security_level = none", "notify_classes =", "alias_maps =", "alias_database =",
		"queue_run_delay = 1s", "minimal_backoff_time = 1s", "maximal_backoff_time = 1s", "smtp_connect_timeout = 5s", "",
	}, "\n")), 0o644))
	must(os.WriteFile(filepath.Join(dir, "master.cf"), []byte(addr+" inet n - n - - smtpd\npostlog unix-dgram n - n - 1 postlogd\n"+services), 0o644))
	run(t, "postfix", "-c", dir, "start-fg")
	t.Cleanup(func() { _ = exec.Command("postfix", "-c", dir, "stop").Run() }) // before what it began is ended
	house.Until(t, "Postfix listens", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return addr
}

// deaf is a way to where mail is taken, on which the answer to a mail can be lost.
type deaf struct {
	addr string
	lose atomic.Bool
	lost atomic.Int64
}

func deafWay(y *yard) *deaf {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	y.must(err)
	w := &deaf{addr: at.Addr().String()}
	y.Cleanup(func() { at.Close() })
	go func() {
		for {
			in, err := at.Accept()
			if err != nil {
				return
			}
			go w.carry(in, y.smtp)
		}
	}()
	return w
}

// carry passes on what both sides say, until one of them ends or an answer is lost.
func (w *deaf) carry(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, in) // its end is that of the sender
		out.Close()
	}()
	answer := make([]byte, 4096)
	for {
		n, err := out.Read(answer)
		if err != nil {
			return
		}
		if strings.Contains(string(answer[:n]), "accepted as") && w.lose.CompareAndSwap(true, false) {
			w.lost.Add(1)
			return
		}
		if _, err := in.Write(answer[:n]); err != nil {
			return
		}
	}
}

// A real mail server comes again with what was not committed, and with what it did not hear of: each mail is one message. make mta
// installs it.
func TestAMailServerComesAgain(t *testing.T) {
	y := openYard(t)
	f := y.front("mail")
	way := deafWay(y)
	mta := openMTA(t, way.addr)
	tell := func(subject, token string) {
		t.Helper()
		y.must(smtp.SendMail(mta, nil, "cron@db1.example.org", []string{"disks+" + token + "@post.example.org"}, []byte("Subject: "+subject+"\r\n\r\nfull\r\n")))
	}
	once := func(subject string) {
		t.Helper()
		house.Until(t, "there is a message of "+subject, func() bool { return len(y.messages("mail", subject)) > 0 })
	}

	tell("Refused", strings.Repeat("0", 64))
	tell("Good", f.Token)
	once("Good")

	letGo := y.holdUp()
	tell("Killed", f.Token)
	y.heldUp()
	y.member().Kill(t)
	letGo()
	y.member().Start(t)
	once("Killed")

	way.lose.Store(true)
	tell("Unheard", f.Token)
	house.Until(t, "it came again", func() bool { return way.lost.Load() == 1 && y.outcomes(f.Name)[posthouse.FrontDuplicate] > 0 })
	once("Unheard")

	_, err := y.api().Channels.Pause(t.Context(), "out", "")
	y.must(err)
	_, err = y.api().Tenants.Put(t.Context(), "default", wire.PutTenant{Quota: posthouse.Quota{Open: 1}})
	y.must(err)
	refused := func() float64 {
		return y.member().Metric(t, `posthouse_front_requests_total{front="mail",kind="mail",outcome="unavailable"}`)
	}
	before, n := refused(), 0 // one that starts anew may have told it to come again
	for ; refused() == before; n++ {
		tell(fmt.Sprintf("Full%d.", n), f.Token)
		house.Until(t, "it was taken, or not", func() bool { return len(y.messages("mail", fmt.Sprintf("Full%d.", n))) > 0 || refused() > before })
	}
	_, err = y.api().Tenants.Put(t.Context(), "default", wire.PutTenant{})
	y.must(err)
	once(fmt.Sprintf("Full%d.", n-1))

	for _, m := range y.messages("mail", "") {
		if list := y.messages("mail", m.Content.Title); len(list) != 1 || m.Content.Title == "Refused" {
			t.Errorf("there are %d messages of %s", len(list), m.Content.Title)
		}
	}
}
