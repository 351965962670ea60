package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/lockfile"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/server"
)

const serveHelp = `Start the server and keep it until SIGINT or SIGTERM: then sends that are under way
finish, for as long as --drain says, and requests, within a third of it. A second signal ends it at
once; nothing accepted is lost.

Each setting can be a flag, a variable, a line of .env in the working directory, or a line of the
YAML file that --config names (time_zone: Asia/Shanghai). The first of these that names it counts.
Durations are written as 500ms, 90s, 1h30m or 7d.

Each secret can stand in a file, which its variable with _FILE names: POSTHOUSE_DSN_FILE=/run/secrets/dsn.

Not on the command line, where others could read them:
`

func serveCommand(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Start the server",
		Long: serveHelp + strings.TrimRight(config.Variables(), "\n"),
		Example: `  posthouse serve
  posthouse serve --dsn postgres://posthouse@db/posthouse --addr :8080 --allow-networks 10.0.0.0/8
  posthouse serve --config /etc/posthouse.yaml    # dsn: mysql://… in it, or in POSTHOUSE_DSN`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := sh.Settings(cmd)
			if err != nil {
				return err
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			return runServer(ctx, sh, c)
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().SortFlags = false // they are in the table's order
	return cmd
}

// untilSignal is a context that ends with SIGINT or SIGTERM. The next signal ends the process.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release)
	return ctx, release
}

// How often the server collects garbage, where GOGC does not say: its heap is small and what a message allocates is garbage at
// once, so Go's own 100 collects hundreds of times a second, and each time takes back the stacks that the senders need again at
// once. docs/benchmarks.md has the figures.
const (
	garbagePercent = 200
	spareHeap      = 16 << 20 // bytes that the collector counts as live and nobody touches, so that they take no memory themselves
)

func runServer(ctx context.Context, sh *shell.Shell, c config.Config) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
		spare := make([]byte, spareHeap)
		defer runtime.KeepAlive(spare)
	}
	log := c.Logger(sh.Err, sh.ErrTerminal)
	for _, warning := range append(c.Warnings, risks(c, lockfile.Known)...) {
		log.Warn(warning)
	}
	limitMemory(log, memlimit.FromCgroup)
	flush, err := trace(ctx, &c, sh.Version, log)
	if err != nil {
		return err
	}
	defer func() { flush(context.WithoutCancel(ctx)) }()
	c.Server.Log, c.Server.Output, c.Server.Settings = log, sh.Out, c.InForce
	c.Server.Examine = examiner(c)
	for again := false; ; {
		err = serveOnce(ctx, sh, c, log)
		var late *notMade
		switch {
		case ctx.Err() != nil:
			return err
		case errors.Is(err, server.ErrPlace):
			again = true
			log.Info("the server is made anew", "why", err.Error())
		case again && errors.As(err, &late): // its database is being stopped, or promoted
			log.Warn("the server cannot be made anew yet", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(madeAgain):
			}
		default:
			return err
		}
	}
}

// madeAgain is how long a server that has changed its place's part waits for its database.
const madeAgain = time.Second

// notMade is an error of a server that did not begin.
type notMade struct{ error }

// Unwrap returns the cause.
func (e *notMade) Unwrap() error { return e.error }

// serveOnce serves until ctx ends or the server does.
func serveOnce(ctx context.Context, sh *shell.Shell, c config.Config, log *slog.Logger) (err error) {
	var firstKey, firstLink string
	c.Server.Announce = func(key string) { firstKey = key }
	c.Server.AnnounceLink = func(path string) { firstLink = path }
	s, err := server.New(ctx, c.Server)
	if err != nil {
		return &notMade{noFile(err, c.Server.MustExist)}
	}
	defer func() {
		ending := context.WithoutCancel(ctx)
		if stopErr := s.Stop(ending); err == nil {
			err = stopErr
		}
	}()
	if err := s.Start(context.WithoutCancel(ctx)); err != nil {
		return &notMade{err}
	}
	if err := announce(sh, s, database(c.Server.DSN), first{firstKey, firstLink}, frontDoor(c, s)); err != nil {
		return err
	}
	debug.FreeOSMemory() // what the start took, which the collector would not look at for a long time
	select {
	case err := <-s.Failed():
		return fmt.Errorf("the server ended: %w", err)
	case <-ctx.Done():
		log.Info("stopping: what is under way finishes", "at_most", cmp.Or(c.Server.Drain, 15*time.Second).String())
		return nil
	}
}

// memoryShare is the share of a container's memory beyond which the collector works harder. SQLite keeps its pages outside of what
// the collector knows of, and so do the stacks of the system.
const memoryShare = 0.8

// limitMemory keeps the process within the memory that its container gives it, where GOMEMLIMIT does not say: else the kernel ends it
// before the collector has seen a reason to work.
func limitMemory(log *slog.Logger, of memlimit.Provider) {
	limit, err := memlimit.Set(memlimit.WithProvider(of), memlimit.WithRatio(memoryShare))
	switch {
	case err != nil:
		log.Debug("how much memory this process may have is not known", "error", err)
	case limit < math.MaxInt64:
		log.Debug("memory is bounded", "bytes", limit)
	}
}

// frontDoor is where SMS senders and phones go, empty where they cannot.
func frontDoor(c config.Config, s *server.Server) string {
	if c.Server.SMS.Username == "" {
		return ""
	}
	return cmp.Or(s.SMSURL(), s.URL()) + "/api/v1/sms"
}

// first is what the first start has made.
type first struct{ key, link string }

// announce says where the server is, and what nobody will see again: the first key, and the link to the console.
func announce(sh *shell.Shell, s *server.Server, database string, made first, sms string) error {
	url, metrics := s.URL(), cmp.Or(s.MetricsURL(), "none")
	said := map[string]string{"url": url, "database": database, "first_key": made.key, "version": sh.Version}
	if sms != "" {
		said["sms_url"] = sms
	}
	if at := s.SMTPAddr(); at != "" {
		said["smtp"] = at
	}
	if made.link != "" {
		said["first_link"] = url + made.link
	}
	return sh.Show(said, func() {
		sh.Printf("posthouse %s serves %s (database: %s)\n", sh.Version, url, database)
		sh.Printf("  console  %s/console/\n", url)
		sh.Printf("  docs     %s/docs\n  metrics  %s\n", url, metrics)
		if sms != "" {
			sh.Printf("  SMS      %s\n", sms)
		}
		if at := s.SMTPAddr(); at != "" {
			sh.Printf("  SMTP     %s\n", at)
		}
		if made.key != "" {
			sh.Printf("  API key  %s\n           shown this once: keep it, and export POSTHOUSE_API_KEY for the other commands\n", made.key)
		}
		if made.link != "" {
			sh.Printf("  sign in  %s\n           to the console, once and within a day\n", url+made.link)
		}
	})
}

// database names the kind of a DSN's database.
func database(dsn string) string {
	if path, ok := sqldb.SQLiteFile(dsn); ok {
		return sqldb.TitleOf(dsn) + ", " + path
	}
	return sqldb.TitleOf(dsn)
}

// public reports whether others than this machine can reach an address.
func public(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// risks are settings that are allowed and unsafe. locks says that the system keeps a second process off a file.
func risks(c config.Config, locks bool) []string {
	var out []string
	if path, ok := sqldb.SQLiteFile(c.Server.DSN); ok && !locks {
		out = append(out, "this system keeps no second server off "+path+": see to it yourself that only one is started on it")
	}
	if public(c.Server.Addr) && c.Server.TLSCert == "" {
		out = append(out, "addr "+c.Server.Addr+" can be reached from other machines, in plain HTTP: give tls_cert and tls_key, or put a proxy with TLS in front")
	}
	if sms := c.Server.SMS; c.Server.TLSCert == "" && sms.Username != "" && sms.Addr != "" && public(sms.Addr) {
		out = append(out, "the SMS front door at "+sms.Addr+" can be reached from other machines, with passwords in plain HTTP: put a proxy with TLS in front")
	}
	if why := c.Server.PlainMail(); why != "" && c.Server.SMTP.AllowPlain {
		out = append(out, why)
	}
	if public(c.Server.Addr) && c.Server.MetricsAddr == server.MetricsOpen && c.Server.MetricsToken == "" {
		out = append(out, "the metrics at "+c.Server.Addr+" name all tenants' channels to anybody: give metrics_token, or metrics_addr")
	}
	if c.Server.OIDC.Issuer != "" && c.Server.PublicURL == "" {
		out = append(out, "public_url is not set: the redirect URI that oidc_issuer is told follows the Host of each request; name the URL at which browsers see the server")
	}
	if c.Server.AllowPrivate {
		out = append(out, "allow_private lets channels reach every address inside: allow_networks can name just those they need")
	}
	if c.Server.Keep < 0 {
		out = append(out, "keep is forever: the database grows without end")
	}
	return out
}
