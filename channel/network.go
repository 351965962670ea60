package channel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// Network decides which addresses drivers may connect to, so that a URL somebody typed cannot
// reach into the house. The check is made on the address that is really dialled, after the name
// was looked up. The zero value allows public addresses only.
type Network struct {
	// AllowPrivate also allows loopback, private, carrier-grade NAT and unique local addresses.
	// Those where clouds keep their metadata stay forbidden.
	AllowPrivate bool
	// Allow lists networks that may be dialled whatever they are, on any port. An address where
	// clouds keep their metadata is allowed only by a network that is that one address.
	Allow []netip.Prefix
	// Hosts lists host names that may be dialled whatever they resolve to, but for metadata.
	Hosts []string

	ports []uint16 // of otherPorts, those of the protocol that is spoken
}

// ErrBlocked is the cause of a connection that Network forbids.
var ErrBlocked = errors.New("the address is not one this server may connect to")

// Allows reports whether an address and port may be dialled.
func (n Network) Allows(to netip.AddrPort) bool {
	addr := to.Addr().WithZone("").Unmap()
	if slices.ContainsFunc(n.Allow, func(p netip.Prefix) bool { return p.Contains(addr) && (p.IsSingleIP() || !isMetadata(addr)) }) {
		return true
	}
	if isMetadata(addr) {
		return false
	}
	if !addr.IsValid() || !n.anyPort(to.Port()) {
		return false
	}
	return public(addr) || n.AllowPrivate && within(private, addr)
}

// Warn says why a URL leads to nothing that may be called, as far as an address stands in it, and which setting would allow it. It is
// empty for any other: what a name leads to is found out when it is dialled.
func (n Network) Warn(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	host := plainHost(u)
	literal := host
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		literal = "127.0.0.1"
	}
	to, err := netip.ParseAddrPort(net.JoinHostPort(literal, portOf(u)))
	if err != nil || n.Allows(to) || n.AllowsHost(host) {
		return ""
	}
	return fmt.Sprintf("%s is an address that this server does not call: nothing goes there until it runs with --allow-networks %s (the setting allow_networks)", host, to.Addr())
}

// AllowsHost reports whether a host is listed by name.
func (n Network) AllowsHost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return slices.ContainsFunc(n.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// Control is a net.Dialer's Control: it refuses what Allows does not allow.
func (n Network) Control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") || !n.Allows(to) {
		return ErrBlocked
	}
	return nil
}

// controlOf is the Control for what a host name resolves to: one that is listed may be anywhere but at metadata.
func (n Network) controlOf(host string) func(network, address string, c syscall.RawConn) error {
	if n.AllowsHost(host) {
		n.Allow = append(slices.Clip(n.Allow), everything...)
	}
	return n.Control
}

// everything are all addresses there are.
var everything = prefixes("0.0.0.0/0", "::/0")

// public reports whether an address is one of the Internet at large. IPv6 addresses that carry
// an IPv4 address for a translator are judged by that.
func public(addr netip.Addr) bool {
	if addr.Is4() {
		return !within(special4, addr)
	}
	if nat64.Contains(addr) {
		b := addr.As16()
		return public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return unicast6.Contains(addr) && !within(special6, addr)
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// The tables follow the IANA special-purpose address registries, IPv4 and IPv6.
var (
	private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "::1/128", "fc00::/7")

	special4 = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
		"172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")

	unicast6 = netip.MustParsePrefix("2000::/3") // all that is handed out
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

// otherPorts belong to services that do not speak HTTP and could be made to understand a request
// all the same: mail, name, file and directory servers, databases.
var otherPorts = []uint16{
	0, 7, 9, 19, 20, 21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 514, 587, 636, 873, 993, 995,
	1433, 1521, 2049, 2379, 3306, 3389, 5432, 5672, 5900, 6379, 9042, 11211, 27017,
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// ParseAllow reads one entry of an allow-list: a network such as 10.0.0.0/8, an address, or a
// host name.
func (n *Network) ParseAllow(entry string) error {
	if p, err := netip.ParsePrefix(entry); err == nil {
		n.Allow = append(n.Allow, p.Masked())
		return nil
	}
	if a, err := netip.ParseAddr(entry); err == nil {
		a = a.WithZone("").Unmap()
		n.Allow = append(n.Allow, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	if entry == "" || strings.ContainsAny(entry, "/: \t\r\n") {
		return fmt.Errorf("%q is not a network such as 10.0.0.0/8, an address or a host name", entry)
	}
	n.Hosts = append(n.Hosts, entry)
	return nil
}
