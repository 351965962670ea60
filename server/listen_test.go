package server

import "testing"

// A server that listens at all addresses, as the image does, prints links that a browser opens.
func TestALinkLeadsSomewhereWhereAllAddressesAreListenedAt(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"[::]:8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::1]:8080": "[::1]:8080", "127.0.0.1:8080": "127.0.0.1:8080", "10.0.0.11:443": "10.0.0.11:443",
	} {
		if got := dialable(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
