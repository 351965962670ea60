package server

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/work"
)

// nameHere is what this process is called in leases: by host and number for people, and at random for another one of both.
func nameHere() string { return fmt.Sprintf("%.64s-%d-%04x", host(), os.Getpid(), rand.IntN(1<<16)) }

// host is the name of the machine, empty where it has none.
func host() string {
	name, _ := os.Hostname()
	return name
}

// herald says that this process is there. The engine has begun: its epoch is known.
func (s *Server) herald() *upkeep.Herald {
	return &upkeep.Herald{Store: s.store.Processes, Log: s.o.Log, Untrusted: s.proxies.Untrusted, Share: s.engine.Share, Process: work.Process{
		ID: s.name, Host: fmt.Sprintf("%.255s", host()), Version: fmt.Sprintf("%.128s", s.o.Version), Schema: s.knows, Epoch: s.engine.Epoch(), Key: s.keyring.Newest(), Keyring: s.keyring.Fingerprint(),
		AcceptOnly: s.o.AcceptOnly, Started: s.began,
	}}
}
