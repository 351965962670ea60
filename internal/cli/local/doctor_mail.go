package local

import (
	"context"
	"net"
	"net/smtp"
	"time"

	"github.com/posthouse/posthouse/server"
)

// examineMail says whether mail is taken where the settings say so, and whether others can send it in the clear.
func examineMail(ctx context.Context, o server.Options) []finding {
	const name = "mail"
	if o.SMTP.Addr == "" {
		return nil
	}
	var out []finding
	if why := o.PlainMail(); why != "" {
		out = append(out, finding{name, false, why})
	}
	at := o.SMTP.Addr
	if host, port, err := net.SplitHostPort(at); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		at = net.JoinHostPort("localhost", port)
	}
	tls, err := greets(ctx, at)
	switch {
	case err != nil:
		return append(out, finding{name, true, "no server takes mail at " + at + " now"})
	case tls:
		return append(out, finding{name, true, "taken at " + at + ", with STARTTLS"})
	}
	return append(out, finding{name, true, "taken at " + at + ", without STARTTLS"})
}

// greets reports whether a server of mail offers STARTTLS.
func greets(ctx context.Context, at string) (tls bool, err error) {
	const wait = 2 * time.Second
	conn, err := (&net.Dialer{Timeout: wait}).DialContext(ctx, "tcp", at)
	if err != nil {
		return false, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that counts
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return false, err
	}
	c, err := smtp.NewClient(conn, "localhost")
	if err != nil {
		return false, err
	}
	if err := c.Hello("localhost"); err != nil {
		return false, err
	}
	tls, _ = c.Extension("STARTTLS")
	return tls, c.Quit()
}
