package server

import (
	"context"
	"maps"
	"net/http"

	"github.com/posthouse/posthouse/internal/api/terms"
	"github.com/posthouse/posthouse/internal/front/lksms"
	"github.com/posthouse/posthouse/internal/web"
)

// openDoors makes what serves HTTP and takes mail.
func (s *Server) openDoors(ctx context.Context) (err error) {
	o := s.o
	s.doors = doors{log: o.Log, failed: s.failed, crowd: newCrowd(o.MaxConnections, o.MaxConnectionsPerAddress, o.TrustedProxies, o.Log, o.Registry)}
	if s.doors.secure, err = secured("", o.TLSCert, o.TLSKey, o.Log); err != nil {
		return err
	}
	s.proxies = &web.Proxies{Trusted: o.TrustedProxies, Log: o.Log}
	s.bodies = web.NewBodies(o.MaxBodies, o.MaxBody, o.Log)
	s.gate = web.NewGate(web.GateOptions{Keys: s.store.Keys, Log: o.Log, Metrics: o.Registry})
	if err := s.openPeople(ctx); err != nil {
		return err
	}
	if s.handler, err = s.apiHandler(); err != nil {
		return err
	}
	if s.place != nil {
		s.handler = s.place.refusing(s.handler) // for the pages of the console, which ask it
	}
	if o.SMS.on() {
		if err := s.openSMS(); err != nil {
			return err
		}
	}
	if err := s.openConsole(); err != nil {
		return err
	}
	s.openAcks()
	if err := s.openFronts(); err != nil {
		return err
	}
	if s.place != nil {
		s.handler = s.place.refusing(s.handler)
		if err := s.place.measure(o.Registry); err != nil {
			return err
		}
	}
	s.handler = web.Outermost(s.proxies.Forwarded(s.handler))
	if !o.NoListen {
		s.api = s.doors.open("", o.Addr, s.handler)
	}
	if !o.metricsAtAddr() && o.MetricsAddr != MetricsOff {
		only := http.NewServeMux()
		only.Handle("GET /metrics", metricsHandler(o))
		s.scrapes = s.doors.open("the metrics: ", o.MetricsAddr, only)
	}
	if o.SMTP.Addr == "" || s.passive() { // senders of mail keep it until the door opens
		return nil
	}
	return s.openMail()
}

// openSMS makes the SMS front door, beside the API and at an address of its own where it has one. There is nothing else
// there: that address is often open to phones.
func (s *Server) openSMS() error {
	s.o.SMS.warn(s.o.Log)
	door, err := s.smsHandler()
	if err != nil {
		return err
	}
	if s.place != nil {
		door = s.place.refusing(door)
	}
	both := http.NewServeMux()
	both.Handle("/", s.handler)
	both.Handle("/api/v1/", door)
	both.Handle("/health", door)
	s.handler = both
	if s.o.SMS.Addr != "" {
		s.sms = s.doors.open("the SMS front door: ", s.o.SMS.Addr, web.Outermost(s.proxies.Forwarded(door)))
	}
	return nil
}

func (s *Server) apiHandler() (http.Handler, error) {
	if err := measure(s.o, s.store.DB.Database(), s.channels.All); err != nil {
		return nil, err
	}
	var replica web.Replica
	if s.replica != nil {
		replica = s.replica
	}
	return web.New(web.Options{
		Replica: replica,
		Gate:    s.gate, Log: s.o.Log, MaxBody: s.o.MaxBody, Bodies: s.bodies, Version: s.o.Version, Rates: s.quotas, Audit: s.book(), Terms: saidOfTypes, Beside: lksms.Described(), Elsewhere: s.elsewhere,
	}, s.routes()), nil
}

// saidOfTypes is what the OpenAPI document says of the types of the API and of the SMS front door.
func saidOfTypes() (web.Terms, error) {
	said, err := terms.Read()
	if err == nil {
		maps.Copy(said.Names, lksms.Names())
	}
	return said, err
}

// URL is where the API is served, once started.
func (s *Server) URL() string { return s.doors.url(s.api) }

// SMSURL is where the SMS front door is served on an address of its own, once started; else empty.
func (s *Server) SMSURL() string { return s.doors.url(s.sms) }

// MetricsURL is where the metrics are served, once started; empty where they are not.
func (s *Server) MetricsURL() string {
	at := s.scrapes
	if s.o.metricsAtAddr() {
		at = s.api
	}
	if url := s.doors.url(at); url != "" {
		return url + "/metrics"
	}
	return ""
}

// doorShare is the part of the drain that requests have. A client that lost its network in the middle of its request
// would else hold up the stop for all of it, and cut sends that end late.
const doorShare = 3
