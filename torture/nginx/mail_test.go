//go:build nginx

package nginx

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/smtp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// Mail comes in through nginx by STARTTLS, whichever of the servers is there.
func TestMailThroughNginxFindsTheServerThatIsThere(t *testing.T) {
	h := house.Open(t, house.Options{DSN: house.Postgres.DSN(t), Members: 2, Env: []string{"POSTHOUSE_TRUSTED_PROXIES=127.0.0.1"}})
	h.PutChannel(t, h.Channel("generic"))
	cert, key := certify(t)
	at := house.FreeAddr(t)
	changes := map[string]string{"listen 2525;": "listen " + at + ";"}
	for i, m := range h.Members {
		mail := house.FreeAddr(t)
		changes[[]string{"server posthouse-1:2525 ", "server posthouse-2:2525 "}[i]] = "server " + mail + " "
		m.Env = []string{"POSTHOUSE_SMTP_LISTEN=" + mail, "POSTHOUSE_SMTP_TLS_CERT=" + cert, "POSTHOUSE_SMTP_TLS_KEY=" + key}
		m.Kill(t)
		m.Start(t)
	}
	start(t, h, edited(t, "mail.conf", changes))
	api := h.Members[1].Client(t, 1)
	front, err := api.Fronts.Put(t.Context(), "disks", wire.PutFront{
		Kind: "mail", FrontSettings: posthouse.FrontSettings{Channel: "generic", To: []posthouse.Recipient{{User: "li.na"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	arrived := func() int {
		page, err := api.Messages.List(t.Context(), client.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items)
	}
	for i, gone := range []*house.Member{nil, h.Members[0]} {
		if gone != nil {
			gone.Kill(t)
		}
		for n := range 4 { // nginx takes turns
			if err := mail(at, front.Token); err != nil {
				t.Errorf("mail %d of round %d: %v", n, i, err)
			}
		}
	}
	if got := arrived(); got != 8 {
		t.Errorf("%d messages were made of 8 mails", got)
	}
}

// mail sends one with the token of a front.
func mail(addr, token string) (err error) {
	c, err := smtp.Dial(addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.StartTLS(&tls.Config{InsecureSkipVerify: true}); err != nil { //nolint:gosec // the test made the certificate
		return err
	}
	if err := errors.Join(c.Auth(smtp.PlainAuth("", "disks", token, "127.0.0.1")), c.Mail("db1@example.com"), c.Rcpt("ops@example.com")); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	_, err = w.Write([]byte("Subject: Disk of db1\r\n\r\n91% of /var at " + time.Now().String() + "\r\n"))
	return errors.Join(err, w.Close())
}

// certify writes a certificate and its key.
func certify(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"post.example.com"}}
	made, err := x509.CreateCertificate(rand.Reader, &text, &text, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
