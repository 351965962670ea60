package channel_test

import (
	"net/netip"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

var (
	publicAddresses   = []string{"8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "2606:4700::1111", "2001:4860:4860::8888", "64:ff9b::808:808", "::ffff:8.8.8.8"}
	privateAddresses  = []string{"127.0.0.1", "127.255.0.9", "::1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "fc00::1", "fd12:3456::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"}
	reservedAddresses = []string{
		"0.0.0.0", "0.1.2.3", "::", "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "fec0::1",
		"224.0.0.1", "239.255.255.255", "ff02::1", "240.0.0.1", "255.255.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "100::1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::127.0.0.1",
	}
)

func TestNetworkAllowsPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		network                   channel.Network
		public, private, reserved bool
	}{
		"by default":        {channel.Network{}, true, false, false},
		"with AllowPrivate": {channel.Network{AllowPrivate: true}, true, true, false},
	} {
		for want, list := range map[*bool][]string{&is.public: publicAddresses, &is.private: privateAddresses, &is.reserved: reservedAddresses} {
			for _, address := range list {
				to := netip.AddrPortFrom(netip.MustParseAddr(address), 443)
				if got := is.network.Allows(to); got != *want {
					t.Errorf("%s: %s allowed = %t, want %t", name, address, got, *want)
				}
			}
		}
	}
}

func TestNetworkKeepsAwayFromOtherServicesPorts(t *testing.T) {
	t.Parallel()
	for port, want := range map[uint16]bool{80: true, 443: true, 8080: true, 88: true, 0: false, 22: false, 25: false, 3306: false, 5432: false, 6379: false} {
		for _, address := range []string{"8.8.8.8", "10.0.0.1"} {
			to := netip.AddrPortFrom(netip.MustParseAddr(address), port)
			if got := (channel.Network{AllowPrivate: true}).Allows(to); got != want {
				t.Errorf("%s allowed = %t, want %t", to, got, want)
			}
		}
	}
}

func TestAllowListOpensWhatItNames(t *testing.T) {
	t.Parallel()
	var n channel.Network
	for _, entry := range []string{"10.1.0.0/16", "::1", "169.254.1.7", "gateway.bank.example"} {
		if err := n.ParseAllow(entry); err != nil {
			t.Fatal(err)
		}
	}
	for to, want := range map[string]bool{
		"10.1.2.3:25": true, "10.2.0.1:80": false, "[::1]:80": true, "127.0.0.1:80": false, "169.254.1.7:80": true, "[::ffff:10.1.2.3]:80": true,
	} {
		if got := n.Allows(netip.MustParseAddrPort(to)); got != want {
			t.Errorf("%s allowed = %t, want %t", to, got, want)
		}
	}
	for host, want := range map[string]bool{"gateway.bank.example": true, "GATEWAY.bank.example.": true, "x.gateway.bank.example": false} {
		if got := n.AllowsHost(host); got != want {
			t.Errorf("%s allowed = %t, want %t", host, got, want)
		}
	}
}

// What clouds keep for their machines is dialled only where it is named one by one.
func TestMetadataIsDialledOnlyWhereItIsNamed(t *testing.T) {
	t.Parallel()
	wide := channel.Network{AllowPrivate: true, Hosts: []string{"metadata.example", "169.254.169.254"}}
	for _, entry := range []string{"0.0.0.0/0", "::/0", "169.254.0.0/16", "100.64.0.0/10", "fd00::/8", "169.254.169.254/31", "fd00:ec2::254/127"} {
		if err := wide.ParseAllow(entry); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "168.63.129.16", "100.100.100.200",
		"100.96.0.96", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:a9fe:a9fe::1",
		"fd00:42::42", "fd00:100::100:200", "fe80::a9fe:a9fe", "fe80::a9fe:a9fe%eth0", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "64:ff9b::a9fe:a9fe",
	} {
		addr := netip.MustParseAddr(address)
		to := netip.AddrPortFrom(addr, 80)
		for name, n := range map[string]channel.Network{"by default": {}, "with all that is wider": wide} {
			if n.Allows(to) {
				t.Errorf("%s: %s is allowed", name, address)
			}
		}
		named := wide
		if err := named.ParseAllow(address); err != nil || !named.Allows(to) {
			t.Errorf("%s is not allowed where it is named: %v", address, err)
		}
	}
	for _, neighbour := range []string{"168.63.129.17", "100.100.100.201", "fd20:ce::255", "192.0.0.193"} {
		if !wide.Allows(netip.AddrPortFrom(netip.MustParseAddr(neighbour), 80)) {
			t.Errorf("%s is not allowed, which is nobody's metadata", neighbour)
		}
	}
}

// A host name of the allow-list does not open metadata by what it resolves to.
func TestAListedHostDoesNotOpenMetadata(t *testing.T) {
	t.Parallel()
	n := channel.Network{AllowPrivate: true, Hosts: []string{"169.254.169.254"}} // the name resolves to itself
	c := newClient(t, channel.Env{Network: n}, channel.ClientOptions{})
	r := c.Do(t.Context(), channel.Request{URL: parse(t, "http://169.254.169.254/latest/meta-data/")})
	if r.Code != channel.CodeBlocked || r.Class() != posthouse.ClassBlocked {
		t.Errorf("got code %q, class %q, %v; want %s", r.Code, r.Class(), r.Err, channel.CodeBlocked)
	}
}

func TestAllowListEntryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "10.0.0.0/33", "http://x", "a b", "host:80"} {
		var n channel.Network
		if err := n.ParseAllow(entry); err == nil {
			t.Errorf("%q is accepted as %+v", entry, n)
		}
	}
}

// FuzzNetwork compares with a plain reading of what is not public.
func FuzzNetwork(f *testing.F) {
	for _, a := range append(append(publicAddresses, privateAddresses...), reservedAddresses...) {
		b, _ := netip.MustParseAddr(a).WithZone("").MarshalBinary()
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		plain := addr.Unmap()
		hidden := plain.IsPrivate() || plain.IsLoopback() || plain.IsUnspecified() || plain.IsMulticast() || plain.IsLinkLocalUnicast()
		if allowed := (channel.Network{}).Allows(netip.AddrPortFrom(addr, 80)); allowed && hidden {
			t.Errorf("%s is allowed", addr)
		}
	})
}
