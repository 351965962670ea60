package server

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse/internal/front/mail"
)

// SMTP is where mail is taken for fronts of the kind mail. Without Addr it is taken nowhere.
type SMTP struct {
	// Addr is where it is taken, such as :2525. Defaults to none.
	Addr string
	// TLSCert and TLSKey are files in PEM by which STARTTLS is answered, read again when they change. Default to those of Options.
	TLSCert, TLSKey string
	// AllowPlain takes tokens and mails of other machines without TLS. Defaults to false.
	AllowPlain bool
}

// PlainMail says why mail at an address where others can reach it would come without TLS, empty where it is safe.
func (o Options) PlainMail() string {
	host, _, _ := net.SplitHostPort(o.SMTP.Addr)
	ip := net.ParseIP(host)
	switch {
	case o.SMTP.Addr == "" || host == "localhost" || ip != nil && ip.IsLoopback():
		return ""
	case o.SMTP.TLSCert != "" || o.TLSCert != "":
		return ""
	}
	return fmt.Sprintf("smtp_listen %s can be reached from other machines, and there is no certificate for STARTTLS: give smtp_tls_cert and smtp_tls_key, or listen on 127.0.0.1; smtp_allow_plain takes tokens in the clear", o.SMTP.Addr)
}

// openMail makes the door for mail.
func (s *Server) openMail() error {
	o := s.o
	if why := o.PlainMail(); why != "" && !o.SMTP.AllowPlain {
		return errors.New(why)
	}
	secure, err := secured("smtp_", o.SMTP.TLSCert, o.SMTP.TLSKey, o.Log)
	if err != nil {
		return err
	}
	if secure == nil && s.doors.secure != nil {
		secure = s.doors.secure.Clone()
	}
	s.mailTLS = secure != nil
	domain := ""
	if u, err := url.Parse(o.PublicURL); err == nil {
		domain = u.Hostname()
	}
	s.mail = s.doors.add("mail: ", o.SMTP.Addr, mail.New(mail.Options{
		Desk: s.fronts, Domain: domain, TLS: secure, AllowPlain: o.SMTP.AllowPlain, Changed: s.doors.crowd.changed, Log: o.Log,
	}))
	return nil
}

// SMTPAddr is where mail is taken, once started; else empty.
func (s *Server) SMTPAddr() string {
	if s.mail == nil || s.mail.at == nil {
		return ""
	}
	return s.mail.at.Addr().String()
}

// mailReach is what senders of mail are told.
func (s *Server) mailReach() mail.Reach {
	addr := s.SMTPAddr()
	return mail.Reach{Port: addr[strings.LastIndexByte(addr, ':')+1:], TLS: s.mailTLS}
}
