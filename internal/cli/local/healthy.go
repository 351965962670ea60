package local

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
)

// healthyWithin is how long a server may take to say that it is well.
const healthyWithin = 5 * time.Second

func healthyCommand(sh *shell.Shell) *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "healthy", Short: "Ask the server of this machine whether it runs; exit 1 if it does not answer",
		Long: `Ask the server that the same settings would start, on this machine, for /healthz: whether it runs. It is
the health check of a container, whose image has no shell and no curl. With --ready it asks for
/readyz: whether it can do anything, which is no reason to restart it.`,
		Example: "  posthouse healthy\n  posthouse healthy --ready",
		Args:    shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := sh.Settings(cmd)
			if err != nil {
				return err
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			return askHealth(cmd.Context(), sh, healthURL(c, path))
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it can do anything, too")
	config.AddFlags(cmd.Flags(), "addr", "tls_cert", "tls_key", "log_level", "log_format")
	return cmd
}

// healthURL is where a server with these settings answers on its own machine.
func healthURL(c config.Config, path string) string {
	host, port, err := net.SplitHostPort(c.Server.Addr)
	if ip, bad := netip.ParseAddr(host); err == nil && (host == "" || bad == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
		if bad == nil && ip.Is6() {
			host = "::1"
		}
	}
	scheme := "http"
	if c.Server.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + path
}

func askHealth(ctx context.Context, sh *shell.Shell, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthyWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// The certificate names the server as callers know it, not this machine; nothing secret is sent or believed.
	direct := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // see above
	resp, err := (&http.Client{Transport: direct}).Do(req)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(text)))
	}
	return sh.Show(map[string]any{"healthy": true, "url": url}, func() { sh.Printf("%s answers: well\n", url) })
}
