package config

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/wire"
)

// from makes sources of a command line, an environment, and files in a folder of their own.
func from(t *testing.T, args, environ []string, files map[string]string) Sources {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(flags)
	if files["posthouse.yaml"] != "" {
		args = append(args, "--config", filepath.Join(dir, "posthouse.yaml"))
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Sources{Flags: flags, Environ: environ, Dir: dir}
}

// problems are those of an error, with the folder of the files left out of their paths.
func problems(t *testing.T, err error) []string {
	t.Helper()
	var e *posthouse.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want one with problems", err)
	}
	var out []string
	for _, p := range e.Problems {
		if i := strings.Index(p.Path, "posthouse.yaml"); i > 0 {
			p.Path = p.Path[i:]
		}
		out = append(out, p.Path+": "+p.Message)
	}
	return out
}

func TestFlagBeatsEnvironmentBeatsDotenvBeatsYAMLBeatsDefault(t *testing.T) {
	t.Parallel()
	flag, environ := []string{"--poll", "1s"}, []string{"POSTHOUSE_POLL=2s"}
	dotenv, yaml := "POSTHOUSE_POLL=3s\n", "poll: 4s\n"
	for name, test := range map[string]struct {
		args, environ []string
		files         map[string]string
		want          time.Duration
	}{
		"flag":               {flag, environ, map[string]string{".env": dotenv, "posthouse.yaml": yaml}, time.Second},
		"environment":        {nil, environ, map[string]string{".env": dotenv, "posthouse.yaml": yaml}, 2 * time.Second},
		"dotenv":             {nil, nil, map[string]string{".env": dotenv, "posthouse.yaml": yaml}, 3 * time.Second},
		"yaml":               {nil, nil, map[string]string{"posthouse.yaml": yaml}, 4 * time.Second},
		"default":            {nil, nil, nil, 0},
		"empty variable":     {nil, []string{"POSTHOUSE_POLL="}, map[string]string{"posthouse.yaml": yaml}, 4 * time.Second},
		"empty flag":         {[]string{"--poll="}, environ, nil, 0},
		"null in yaml":       {nil, nil, map[string]string{"posthouse.yaml": "poll: ~\n"}, 0},
		"bad value below it": {flag, []string{"POSTHOUSE_POLL=never"}, nil, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Load(from(t, test.args, test.environ, test.files))
			if err != nil {
				t.Fatal(err)
			}
			if got.Server.Poll != test.want {
				t.Errorf("got poll %v, want %v", got.Server.Poll, test.want)
			}
		})
	}
}

func TestConfigFileIsNamedByFlagVariableOrDotenv(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(path, []byte("addr: :9999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args, environ []string
		dotenv        string
	}{
		"flag":     {args: []string{"--config", path}, environ: []string{"POSTHOUSE_CONFIG=/nowhere"}},
		"variable": {environ: []string{"POSTHOUSE_CONFIG=" + path}, dotenv: "POSTHOUSE_CONFIG=/nowhere"},
		"dotenv":   {dotenv: "POSTHOUSE_CONFIG=" + path},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Load(from(t, test.args, test.environ, map[string]string{".env": test.dotenv}))
			if err != nil || got.Server.Addr != ":9999" {
				t.Errorf("got addr %q and error %v, want :9999", got.Server.Addr, err)
			}
		})
	}
}

// samples has a value for each setting that differs from its default.
var samples = map[string]string{
	"dsn": "postgres://db/posthouse", "read_dsn": "postgres://copy/posthouse", "read_max_lag": "10s", "addr": ":9000", "api_key": "ph_a_b", "keyring": "k1:AAAA", "keyring_file": "keys", "create": "true", "state_dir": "/var/lib/posthouse", "accept_older": "2026-11-23T03:59:29.123456Z", "after_promotion": "new-epoch", "place": "a", "places": "a=https://a.example,b=https://b.example", "create_keyring": "true", "metrics_addr": "127.0.0.1:9100", "callback_rate": "3000", "metrics_token": "hidden", "tls_cert": "cert.pem", "tls_key": "key.pem", "front_hosts": "push.example=gotify,n.example=ntfy", "smtp_listen": ":2525", "smtp_tls_cert": "mail.pem", "smtp_tls_key": "mail.key", "smtp_allow_plain": "true", "max_connections": "100", "max_connections_per_address": "10", "trusted_proxies": "10.0.0.5,fd00::/8", "adopt_keyring": "true",
	"redis": "redis://cache:6379/0", "allow_networks": "10.0.0.0/8,192.168.7.1", "allow_private": "true", "require_totp": "true", "public_url": "https://posthouse.example", "oidc_issuer": "https://id.example/", "oidc_client_id": "posthouse", "oidc_client_secret": "hidden", "oidc_scopes": "groups", "oidc_name_claim": "email", "oidc_role_claim": "roles", "oidc_roles": "ops=default:operator", "time_zone": "UTC", "platform_url": "https://platform.example/",
	"workflow_resolver_url": "https://bpm.example/who", "workflow_resolver_secret": "hidden",
	"basic_auth_username": "管理员", "basic_auth_password": "hidden", "app_host": "::1", "app_port": "8001",
	"sms_channel": "texts", "sms_pending_format": "page", "sms_page_agents": "okhttp/3,Field", "sms_cors_origins": "https://desk.example", "sms_retry_delay": "1m", "sms_max_retries": "0", "sms_timeout": "10m", "sms_fair_after": "20m",
	"sms_log_keep": "30d", "audit_keep": "forever", "chain": "2m", "sms_sensitive": "true", "debug": "True",
	"min_senders": "8", "max_senders": "1024", "shape": "low=200/1s:500,acme/low=600/1m", "tenant_limit": "acme=100/1s,*=20/1s", "databases": "crm=mysql://u:p@h/crm", "repair_every": "1h", "poll": "1s", "rescue_every": "5s", "lease_margin": "3s", "drain": "1m", "keep": "forever", "keep_sent": "14d", "max_body": "8MiB", "max_bodies": "100MiB", "max_media": "10MiB", "max_tenant_media": "2GiB", "keep_media": "7d", "accept_only": "true", "no_migrate": "1",
	"log_level": "debug", "log_format": "json", "otlp_endpoint": "http://collector:4318",
}

func TestEverySettingCanBeAVariableAndALineOfYAMLAndDoesSomething(t *testing.T) {
	t.Parallel()
	plain, err := Load(Sources{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range serverSettings {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			sample := samples[s.name]
			byVariable, err := Load(from(t, nil, []string{s.variable() + "=" + sample}, nil))
			if err != nil {
				t.Fatal(err)
			}
			byFile, err := Load(from(t, nil, nil, map[string]string{"posthouse.yaml": s.name + ": " + sample}))
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(serverSettings, func(o setting[Config]) bool { return o.name == s.name })
			for from, c := range map[wire.SettingSource]Config{wire.SettingByVariable: byVariable, wire.SettingByFile: byFile, wire.SettingByDefault: plain} {
				if got := c.InForce[at]; got.Name != s.name || got.Source != from || s.secret && strings.Contains(got.Value, sample) {
					t.Errorf("in force from the %s is %+v", from, got)
				}
			}
			plain := plain
			plain.InForce, byVariable.InForce, byFile.InForce = nil, nil, nil
			if reflect.DeepEqual(byVariable, plain) {
				t.Error("the variable changes nothing")
			}
			if !reflect.DeepEqual(byVariable, byFile) {
				t.Errorf("variable and file differ: %+v, %+v", byVariable, byFile)
			}
		})
	}
}

func TestDefaultsShownAreTheDefaultsMeant(t *testing.T) {
	t.Parallel()
	var shown Config
	for _, s := range serverSettings {
		if s.def == "" {
			continue
		}
		if err := s.parse(&shown, s.def); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	plain, err := Load(Sources{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if shown.Server.DSN != plain.Server.DSN || shown.Server.Addr != plain.Server.Addr || shown.LogLevel != plain.LogLevel {
		t.Errorf("got %+v, want %+v", plain, shown)
	}
}

func TestListsAndToggles(t *testing.T) {
	t.Parallel()
	got, err := Load(from(t, []string{"--accept-only", "--no-migrate=false"}, nil,
		map[string]string{"posthouse.yaml": "allow_networks:\n- 10.1.2.3/8\n- fd00::1\nallow_private: yes\n"}))
	if err == nil {
		t.Fatalf("got %+v, want an error: yes is not true or false", got)
	}
	got, err = Load(from(t, []string{"--accept-only", "--no-migrate=false"}, nil,
		map[string]string{"posthouse.yaml": "allow_networks:\n- 10.1.2.3/8\n- fd00::1\nno_migrate: true\n"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::1/128")}
	if !reflect.DeepEqual(got.Server.AllowNetworks, want) {
		t.Errorf("got networks %v, want %v", got.Server.AllowNetworks, want)
	}
	if !got.Server.AcceptOnly || got.Server.NoMigrate {
		t.Errorf("got accept_only %v and no_migrate %v, want true and false", got.Server.AcceptOnly, got.Server.NoMigrate)
	}
}

func TestEveryProblemIsReportedAtOnceWithWhereItStands(t *testing.T) {
	t.Parallel()
	_, err := Load(from(t,
		[]string{"--addr", "8080", "--log-level=loud", "--keep", "0s"},
		[]string{"POSTHOUSE_POLL=fast", "POSTHOUSE_DSN=oracle://scott:tiger@db", "POSTHOUSE_ALLOW_NETWORKS=10.0.0.0/8,inside"},
		map[string]string{
			".env":           "POSTHOUSE_TIME_ZONE=Peking\n",
			"posthouse.yaml": "# settings\nadr: :80\nmax_body: 4 apples\ndrain: {a: b}\ndrain: 1s\nlog_format: xml\n",
		}))
	want := []string{
		`posthouse.yaml:2: adr: there is no setting of this name; did you mean addr?`,
		`posthouse.yaml:4: drain: it must be one value, or a list of values`,
		`POSTHOUSE_DSN: this is not a database; sqlite:PATH, postgres://… and mysql://… are allowed`,
		`--addr: "8080" is not an address such as 127.0.0.1:8080 or :8080`,
		`POSTHOUSE_ALLOW_NETWORKS: "inside" is not a network such as 10.0.0.0/8 or an address`,
		`.env: POSTHOUSE_TIME_ZONE: "Peking" is not an IANA time zone such as Asia/Shanghai or UTC`,
		`POSTHOUSE_POLL: "fast" is not a duration such as 500ms, 90s, 5m, 1h30m or 7d`,
		`--keep: "0s" is not above zero`,
		`posthouse.yaml:3: max_body: "4 apples" is not a size such as 1048576, 512KiB or 4MiB`,
		`--log-level: "loud" is not a level; debug, info, warn and error are allowed`,
		`posthouse.yaml:6: log_format: "xml" is not allowed; json and text are`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), "tiger") {
		t.Errorf("the error shows a password: %v", err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, want string }{
		"a list":          {"- addr\n", "posthouse.yaml: it must be a map of settings, such as addr: 127.0.0.1:8080"},
		"not YAML":        {"addr: [\n", "posthouse.yaml: it is not YAML: line 1: did not find expected node content"},
		"two documents":   {"addr: :1\n---\naddr: :2\n", "posthouse.yaml: it holds more than one document; one is allowed"},
		"a setting twice": {"addr: :1\naddr: :2\n", "posthouse.yaml:2: addr: it is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(from(t, nil, nil, map[string]string{"posthouse.yaml": test.file}))
			if diff := cmp.Diff([]string{test.want}, problems(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	_, err := Load(from(t, []string{"--config", "/nowhere/posthouse.yaml"}, nil, nil))
	if got, want := err.Error(), "the file cannot be read; no such file or directory"; !strings.Contains(got, want) {
		t.Errorf("got %q, want it to contain %q", got, want)
	}
	_, err = Load(from(t, nil, nil, map[string]string{".env": "POSTHOUSE_API_KEY='ph_a_hidden\n"}))
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got error %v, want one that does not quote the line", err)
	}
}

// FLEET-10: shapes are read by tenant and priority, and what is wrong with one is said.
func TestFLEET_10_Shapes(t *testing.T) {
	t.Parallel()
	got, err := Load(from(t, []string{"--shape", "low=200/1s:500"}, []string{"POSTHOUSE_SHAPE=high=1/1s"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(posthouse.Shapes{"*": {posthouse.Low: {Rate: 200, Burst: 500}}}, got.Server.Shapes); diff != "" {
		t.Errorf("one shape (-want +got):\n%s", diff)
	}
	got, err = Load(from(t, nil, nil, map[string]string{"posthouse.yaml": "shape:\n- low=600/1m\n- acme/low=unlimited\n- acme/normal=1/2s\n"}))
	if err != nil {
		t.Fatal(err)
	}
	want := posthouse.Shapes{"*": {posthouse.Low: {Rate: 10}}, "acme": {posthouse.Low: {}, posthouse.Normal: {Rate: 0.5}}}
	if diff := cmp.Diff(want, got.Server.Shapes); diff != "" {
		t.Errorf("several shapes (-want +got):\n%s", diff)
	}
	for given, want := range map[string]string{
		"low":                    `"low" is not a shape such as low=200/1s, low=200/1s:500 or acme/low=50/1s`,
		"/low=1/1s":              `"/low=1/1s" is not a shape such as low=200/1s, low=200/1s:500 or acme/low=50/1s`,
		"urgent=1/1s":            `"urgent" is not a priority: want high, normal or low`,
		"low=200":                `"200" is not a rate such as 200/1s or 600/1m, nor unlimited`,
		"low=0/1s":               `"0/1s" is not a rate such as 200/1s or 600/1m, nor unlimited`,
		"low=1/0s":               `"1/0s" is not a rate such as 200/1s or 600/1m, nor unlimited`,
		"low=1/1s:many":          `"many" is not how many may begin at once: want a number above zero`,
		"low=1/1s,low=unlimited": `"low" is given twice`,
	} {
		_, err := Load(from(t, []string{"--shape", given}, nil, nil))
		if err == nil {
			t.Errorf("%s is taken", given)
		} else if got := problems(t, err); len(got) != 1 || got[0] != "--shape: "+want {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

func TestEmptyFilesAreFine(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"\n", "# nothing yet\n", "---\n"} {
		if _, err := Load(from(t, nil, nil, map[string]string{"posthouse.yaml": content})); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// PULL-11: the variables of a deployment that this server takes over, in the environment or in .env.
func TestVariablesOfTheServerBeforeUsWork(t *testing.T) {
	t.Parallel()
	taken := map[string]string{
		"DATABASE_URL": "postgresql+asyncpg://user:pw@localhost:5432/lksms_db", "BASIC_AUTH_USERNAME": "admin", "BASIC_AUTH_PASSWORD": "s3cret-enough",
		"APP_HOST": "0.0.0.0", "APP_PORT": "8000", "DEBUG": "true",
		"MAX_RETRY_COUNT": "5", "RETRY_DELAY_MINUTES": "7", "PROCESSING_TIMEOUT_MINUTES": "20",
	}
	var lines []string
	for name, value := range taken {
		lines = append(lines, name+"="+value)
	}
	for name, sources := range map[string]Sources{
		"environment": from(t, nil, lines, nil),
		".env":        from(t, nil, nil, map[string]string{".env": strings.Join(lines, "\n")}),
	} {
		got, err := Load(sources)
		if err != nil {
			t.Fatal(err)
		}
		sms := got.Server.SMS
		if got.Server.DSN != "postgresql://user:pw@localhost:5432/lksms_db" || got.LogLevel != slog.LevelDebug ||
			sms.MaxRetries != 5 || sms.RetryDelay != 7*time.Minute || sms.Timeout != 20*time.Minute ||
			sms.Username != "admin" || sms.Password != "s3cret-enough" || sms.Addr != "0.0.0.0:8000" {
			t.Errorf("%s: got %+v", name, got)
		}
		if len(got.Warnings) != 0 {
			t.Errorf("%s: got warnings %q", name, got.Warnings)
		}
	}
	ours, err := Load(from(t, nil, []string{"DATABASE_URL=mysql://a/b", "POSTHOUSE_DSN=sqlite:ours.db", "APP_PORT=9000", "DEBUG=app:*"}, nil))
	if err != nil || ours.Server.DSN != "sqlite:ours.db" || ours.Server.SMS.Addr != "0.0.0.0:9000" || ours.LogLevel != slog.LevelInfo {
		t.Errorf("got %+v and error %v, want our own variable before the other, and no debug", ours, err)
	}
}

// PULL-11: a path is what SQLAlchemy takes it for, where only that writes it so.
func TestTheFileOfAPythonProgramIsFound(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"sqlite+aiosqlite:///app.db": "sqlite:app.db", "sqlite+aiosqlite:////var/app.db": "sqlite:/var/app.db",
		"sqlite:////var/app.db": "sqlite:/var/app.db", "sqlite:///./app.db": "sqlite:./app.db", "sqlite:///var/app.db": "sqlite:///var/app.db",
	} {
		got, err := Load(from(t, nil, []string{"DATABASE_URL=" + given}, nil))
		if err != nil || got.Server.DSN != want {
			t.Errorf("%s: got %q and error %v, want %q", given, got.Server.DSN, err, want)
		}
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	t.Parallel()
	got, err := Load(from(t, nil, []string{"POSTHOUSE_DNS=x", "POSTHOUSE_URL=http://a", "POSTHOUSE_TEST_X=1", "HOME=/"},
		map[string]string{".env": "POSTHOUSE_ADRR=:1\n"}))
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, w := range got.Warnings {
		head, _, _ := strings.Cut(w, "?")
		heads = append(heads, head)
	}
	want := []string{
		"POSTHOUSE_DNS: there is no variable of this name; did you mean POSTHOUSE_DSN",
		".env: POSTHOUSE_ADRR: there is no variable of this name; did you mean POSTHOUSE_ADDR",
	}
	for i := range want {
		if i >= len(heads) || !strings.HasPrefix(heads[i], want[i]) {
			t.Errorf("got warnings %q, want %q", got.Warnings, want)
		}
	}
	if len(heads) != len(want) {
		t.Errorf("got %d warnings, want %d: %q", len(heads), len(want), got.Warnings)
	}
}

func TestClientSettings(t *testing.T) {
	t.Parallel()
	load := func(environ []string, args ...string) (Client, error) {
		flags := pflag.NewFlagSet("send", pflag.ContinueOnError)
		AddClientFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return LoadClient(Sources{Flags: flags, Environ: environ, Dir: t.TempDir()})
	}
	got, err := load([]string{"POSTHOUSE_URL=https://posthouse.example", "POSTHOUSE_API_KEY=ph_a_b", "POSTHOUSE_CONFIG=/nowhere"}, "--key", "ph_c_d")
	if want := (Client{"https://posthouse.example", "ph_c_d"}); err != nil || got != want {
		t.Errorf("got %+v and error %v, want %+v", got, err, want)
	}
	if got, err := load(nil); err != nil || got.URL != "http://127.0.0.1:8080" {
		t.Errorf("got %+v and error %v, want the default URL", got, err)
	}
	if _, err := load([]string{"POSTHOUSE_URL=posthouse.example"}); err == nil {
		t.Error("a URL without a scheme was taken")
	}
}

// A .env that lies where one stands may be anybody's: the environment's key must not go to the address in it.
func TestOnlyAFileThatIsNamedTellsACommandWhereItsServerIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte("\ufeffPOSTHOUSE_URL=http://stranger.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(args ...string) (Client, error) {
		flags := pflag.NewFlagSet("send", pflag.ContinueOnError)
		AddClientFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return LoadClient(Sources{Flags: flags, Environ: []string{"POSTHOUSE_API_KEY=ph_a_b"}, Dir: dir})
	}
	if got, err := load(); err != nil || got.URL != "http://127.0.0.1:8080" {
		t.Errorf("got %+v and error %v, want the default URL", got, err)
	}
	if got, err := load("--env-file", path); err != nil || got.URL != "http://stranger.example" {
		t.Errorf("got %+v and error %v, want the URL of the file that was named", got, err)
	}
	if _, err := load("--env-file", filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there was named, and nothing said so")
	}
}

func TestTheServersFileOfVariables(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args    []string
		content string
		want    string
	}{
		"as it is":               {nil, "POSTHOUSE_ADDR=:1\n", ":1"},
		"with a byte order mark": {nil, "\ufeffPOSTHOUSE_ADDR=:1\n", ":1"},
		"not wanted":             {[]string{"--env-file="}, "POSTHOUSE_ADDR=:1\n", "127.0.0.1:8080"},
	} {
		got, err := Load(from(t, test.args, nil, map[string]string{".env": test.content}))
		if err != nil || got.Server.Addr != test.want {
			t.Errorf("%s: got address %q and error %v, want %q", name, got.Server.Addr, err, test.want)
		}
	}
}

// A deployment that names its database part by part.
func TestADatabaseIsFoundByItsParts(t *testing.T) {
	t.Parallel()
	const parts = "POSTGRES_SERVER=db\nPOSTGRES_PORT=5433\nPOSTGRES_USER=sms\nPOSTGRES_PASSWORD=p@ss/word\nPOSTGRES_DB=lksms_db\n"
	for name, test := range map[string]struct {
		environ []string
		files   map[string]string
		want    string
	}{
		"all":                 {nil, map[string]string{".env": parts}, "postgres://sms:p%40ss%2Fword@db:5433/lksms_db"},
		"environment first":   {[]string{"POSTGRES_HOST=other"}, map[string]string{".env": parts}, "postgres://sms:p%40ss%2Fword@other:5433/lksms_db"},
		"the least":           {[]string{"POSTGRES_DB=lksms_db"}, nil, "postgres://postgres@localhost:5432/lksms_db"},
		"a DSN counts before": {nil, map[string]string{".env": parts + "DATABASE_URL=mysql://a/b\n"}, "mysql://a/b"},
		"YAML counts before":  {nil, map[string]string{".env": parts, "posthouse.yaml": "dsn: sqlite:a.db\n"}, "sqlite:a.db"},
		"a server's password": {[]string{"POSTGRES_PASSWORD=x"}, nil, "sqlite:posthouse.db"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Load(from(t, nil, test.environ, test.files))
			if err != nil || got.Server.DSN != test.want {
				t.Errorf("got %q and error %v, want %q", got.Server.DSN, err, test.want)
			}
		})
	}
}

func TestSettingsOfAnotherProgramAreNamed(t *testing.T) {
	t.Parallel()
	got, err := Load(from(t, nil, []string{"REDIS_URL=redis://cache", "POSTGRES_PASSWORD=hidden", "HOME=/"},
		map[string]string{".env": "SECRET_KEY=hidden\nPROJECT_NAME=lksms\nAPP_PORT=8000\n"}))
	want := []string{
		"settings of another program are not read: REDIS_URL, POSTGRES_PASSWORD",
		".env: settings of another program are not read: PROJECT_NAME, SECRET_KEY",
	}
	if diff := cmp.Diff(want, got.Warnings); diff != "" || err != nil {
		t.Errorf("error %v, warnings (-want +got):\n%s", err, diff)
	}
	got, err = Load(from(t, nil, nil, map[string]string{".env": "POSTGRES_DB=lksms_db\nPOSTGRES_PASSWORD=hidden\n"}))
	if err != nil || len(got.Warnings) != 0 {
		t.Errorf("error %v, warnings %q, want none: all of them are read", err, got.Warnings)
	}
}

// The default file is made where there is none, but not where a server has worked: the file was moved away, or the DSN forgotten.
func TestTheDefaultFileIsNotMadeWhereAServerHasWorked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must := func(args ...string) bool {
		t.Helper()
		c, err := Load(from(t, append(args, "--state-dir", dir), nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		return c.Server.MustExist
	}
	if must() || !must("--dsn", "sqlite:other.db") {
		t.Error("in an empty folder the default file is made, and no other")
	}
	if err := os.WriteFile(schema.MarkFile(dir, "h"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !must() || must("--create") {
		t.Error("where a server has worked it is made for whoever asks for it")
	}
}
