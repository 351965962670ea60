package channel

import "net/netip"

// metadata are the addresses where clouds serve their machines credentials and configuration, each with the document that
// names it. They are dialled only where the server's allow-list names them one by one: neither AllowPrivate, nor a wider
// network, nor a host name that resolves to one opens them. Whole networks stand here where a cloud keeps them for such use.
var metadata = prefixes(
	// Link-local (RFC 3927): AWS, Azure, Google, Oracle, OpenStack, Huawei, Baidu, IBM, DigitalOcean, Hetzner and others at
	// 169.254.169.254; AWS ECS and EKS credentials at 169.254.170.2 and .23; Tencent at 169.254.0.23; Scaleway at 169.254.42.42.
	"169.254.0.0/16",
	"fe80::/10",              // link-local (RFC 4291): OpenStack at fe80::a9fe:a9fe
	"168.63.129.16/32",       // Azure WireServer, a public address: learn.microsoft.com, "What is IP address 168.63.129.16?"
	"100.100.100.200/32",     // Alibaba Cloud: alibabacloud.com/help, "Instance metadata"
	"100.96.0.96/32",         // Volcano Engine: volcengine.com/docs, "实例元数据"
	"192.0.0.192/32",         // Oracle Cloud at Customer and Classic: docs.oracle.com, "Retrieving Instance Metadata"
	"fd00:ec2::/32",          // AWS, ::254 metadata and ::23 EKS Pod Identity: docs.aws.amazon.com, "Use instance metadata"
	"fd20:ce::254/128",       // Google Cloud: cloud.google.com/compute/docs/metadata, "IPv6-only instances"
	"fd00:c1::a9fe:a9fe/128", // Oracle Cloud Infrastructure: docs.oracle.com, "Getting Instance Metadata"
	"fd00:a9fe:a9fe::1/128",  // Akamai (Linode): techdocs.akamai.com, "Overview of the Metadata service"
	"fd00:42::42/128",        // Scaleway: scaleway.com/docs, "Using the metadata API"
	"fd00:100::100:200/128",  // Alibaba Cloud over IPv6: alibabacloud.com/help, "Instance metadata"
)

// isMetadata reports whether an address is such, also one that stands within an IPv6 address for a translator.
func isMetadata(addr netip.Addr) bool {
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	return within(metadata, addr)
}
