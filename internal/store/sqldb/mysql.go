package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
)

// MySQL is MySQL or MariaDB.
var MySQL = &Dialect{
	Parted:       true,
	Name:         "mysql",
	Title:        "MySQL or MariaDB",
	Schemes:      []string{"mysql", "mariadb"},
	DeleteListed: deleteListed,
	Mend:         mendMySQL,
	Former: Former{
		Open: openFormerMySQL, Text: "CHAR",
		Tables: "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = DATABASE()",
		Moment: func(column string) string { return "CAST(UNIX_TIMESTAMP(" + column + ") * 1000000 AS SIGNED)" },
	},
	Blind:      "?",
	Goose:      goose.DialectMySQL,
	clock:      "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
	instant:    "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	Lock:       " FOR UPDATE",
	Share:      " LOCK IN SHARE MODE",
	Skip:       " FOR UPDATE SKIP LOCKED",
	Upsert:     onDuplicate,
	Partitions: Exchanged,
	Add:        addOnDuplicate,
	Fault:      mysqlFault,
	answered:   answeredByMySQL,
	unsent:     func(error) bool { return false },
	open:       openMySQL,
	check:      checkMySQL,

	openStandby: openMySQLStandby,

	openReplica: openMySQLReplica,
	follows:     "SELECT @@global.read_only",
	position:    "SELECT @@gtid_binlog_pos",
	reached:     "SELECT MASTER_GTID_WAIT(?, 0) = 0",

	patient:  patientMySQL,
	migrator: migratorMySQL,
	Unmake:   unmakeMySQL,
	Phrases:  mysqlPhrases,
	Concat:   func(a, b string) string { return "CONCAT(" + a + ", " + b + ")" },
	Flown:    "posthouse_flights f, JSON_TABLE(f.ids, '$[*]' COLUMNS (value varchar(26) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) j",
	Listed:   "JSON_TABLE(?, '$[*]' COLUMNS (value varchar(26) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) j",
	Objects: `SELECT table_name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END, table_comment
		FROM information_schema.tables WHERE table_schema = DATABASE()`,
	Catalogue:    mysqlCatalogue,
	ViewText:     "SELECT view_definition FROM information_schema.views WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?",
	Schemas:      true,
	giveUp:       giveUpMySQL,
	forces:       true,
	Skips:        true,
	deleteByKey:  "DELETE q FROM %s q FORCE INDEX (PRIMARY)",
	lockSchema:   "SELECT COALESCE(GET_LOCK(LEFT(CONCAT('posthouse.', DATABASE()), 64), 300), 0)",
	unlockSchema: "SELECT RELEASE_LOCK(LEFT(CONCAT('posthouse.', DATABASE()), 64))",
}

// openMySQL opens one kind of pool twice. ClientFoundRows: a guarded update must count the
// rows it matched. READ COMMITTED: the default's gap locks make claims deadlock.
func openMySQL(ctx context.Context, dsn string, log *slog.Logger) (pools, error) {
	return openEitherMySQL(ctx, dsn, log, false)
}

// openMySQLStandby does the same where the server may be a replica.
func openMySQLStandby(ctx context.Context, dsn string, log *slog.Logger) (pools, error) {
	return openEitherMySQL(ctx, dsn, log, true)
}

func openEitherMySQL(ctx context.Context, dsn string, log *slog.Logger, standby bool) (p pools, err error) {
	config, err := mysqlConfig(dsn)
	if err != nil {
		return pools{}, err
	}
	said, err := firstAsk(ctx, config, log, standby)
	if err != nil {
		return pools{}, err
	}
	isolation := "transaction_isolation"
	if said.mariadb() {
		isolation = "tx_isolation" // the name every MariaDB still knows
		// Locks of a connection that nobody knows any more must not be held for hours. In seconds.
		config.Params["idle_transaction_timeout"] = fmt.Sprint(int(writeTimeout.Seconds()))
	}
	config.Params[isolation] = "'READ-COMMITTED'"
	primary, err := newMySQLPrimary(config, log)
	if err != nil {
		return pools{}, err
	}
	primary.standby = standby
	if said.mariadb() {
		primary.alone = len(primary.addrs) == 1 && said.timeline == 0 && !said.galera
		p.mysql = primary
	}
	p.primary, p.write, p.read = primary.primary, mysqlOver(primary), mysqlOver(primary)
	p.own = 2 * mysqlConnections
	return p, nil
}

// firstAsk asks the primary who it is; or a replica, where that may be met.
func firstAsk(ctx context.Context, config *mysql.Config, log *slog.Logger, standby bool) (mysqlSaid, error) {
	primary, err := newMySQLPrimary(config, log)
	if err != nil {
		return mysqlSaid{}, err
	}
	primary.standby = standby
	c, err := primary.Connect(ctx)
	if err != nil {
		return mysqlSaid{}, err
	}
	defer func() { _ = c.Close() }() // it has said all
	return askMySQL(ctx, c.(driver.QueryerContext))
}

// patientMySQL opens a pool that waits for every answer, however long it takes.
func patientMySQL(dsn string) (*sql.DB, error) {
	config, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.ReadTimeout = 0
	primary, err := newMySQLPrimary(config, slog.Default())
	if err != nil {
		return nil, err
	}
	return mysqlOver(primary), nil
}

// silence is how long MariaDB may say nothing while it is waited for. Only this bounds a COMMIT, whose
// driver asks no context; it is longer than a statement waits for a lock.
const silence = 15 * time.Second

// mysqlConfig reads a DSN. Of several hosts with commas between, Addr has all.
func mysqlConfig(dsn string) (*mysql.Config, error) {
	form := errors.New("the DSN cannot be read: want mysql://user:password@host:port/database, or several with commas between: @host:port,host:port/database")
	dsn, more := severalHosts(dsn)
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, form
	}
	config := mysql.NewConfig()
	config.Net = "tcp"
	addrs := append([]string{u.Host}, more...)
	for i, host := range addrs {
		one := &url.URL{Host: host}
		if one.Hostname() == "" {
			return nil, form
		}
		if one.Port() == "" {
			addrs[i] = host + ":3306"
		}
	}
	config.Addr = strings.Join(addrs, ",")
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.Trim(u.Path, "/")
	config.ClientFoundRows = true
	config.InterpolateParams = true
	config.ParseTime = true
	config.Loc = time.UTC
	config.Timeout = 5 * time.Second
	config.ReadTimeout, config.WriteTimeout = silence, silence
	config.Collation = "utf8mb4_bin"
	config.Logger = &mysql.NopLogger{} // every error is returned too
	config.Params = map[string]string{
		"time_zone":                "'+00:00'",
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"innodb_lock_wait_timeout": "10",
	}
	for name, values := range u.Query() {
		switch name {
		case "tls":
			config.TLSConfig = values[0]
		default:
			return nil, fmt.Errorf("the DSN's parameter %q is not known: tls is allowed (true, skip-verify, preferred)", name)
		}
	}
	return config, nil
}

// severalHosts takes all hosts but the first out of a DSN.
func severalHosts(dsn string) (first string, more []string) {
	scheme, rest, ok := strings.Cut(dsn, "://")
	if !ok {
		return dsn, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@") + 1
	hosts := strings.Split(rest[at:end], ",")
	return scheme + "://" + rest[:at] + hosts[0] + rest[end:], hosts[1:]
}

// mysqlPool is a pool for look-ups, to the first of its hosts that answers.
func mysqlPool(config *mysql.Config) (*sql.DB, error) {
	hosts, err := newMySQLPrimary(config, slog.Default())
	if err != nil {
		return nil, err
	}
	hosts.any = true
	return mysqlOver(hosts), nil
}

func mysqlOver(connector driver.Connector) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(mysqlConnections)
	db.SetMaxIdleConns(mysqlConnections)
	db.SetConnMaxIdleTime(spare)
	return db
}

// mysqlConnections bounds one pool.
const mysqlConnections = 16

func giveUpMySQL(db *sql.DB) {
	db.SetMaxIdleConns(0)
	db.SetMaxIdleConns(mysqlConnections)
}

func mysqlFault(err error) Fault {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		switch e.Number {
		case 1205, 1213, 1020:
			return faultBusy
		case 1021, 1114, 3:
			return faultFull
		case 1062:
			return faultTaken
		case 1146:
			return FaultNoTable
		case 1044, 1142, 1227:
			return FaultDenied
		case 1040, 1047, 1053, 1077, 1078, 1079, 1180, 1290, 1836, 1927: // 1047 and 1180: a node of Galera that has lost the others, at a commit too
			return faultConnection
		}
		return FaultOther
	}
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, errReplica) || errors.Is(err, errFormer) {
		return faultConnection
	}
	return networkFault(err)
}

func checkMySQL(ctx context.Context, db *sql.DB) ([]Finding, error) {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	if err := checkMySQLVersion(version); err != nil {
		return nil, err
	}
	var found []Finding
	for _, s := range []struct{ name, bad, why string }{
		{"innodb_flush_log_at_trx_commit", "0 2", "accepted messages can be lost in a crash: want 1"},
		{"innodb_doublewrite", "OFF 0", "a power cut can tear pages: want ON"},
		{"read_only", "ON 1", "this server refuses writes: want the primary"},
	} {
		var name, got string
		err := db.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES LIKE '"+s.name+"'").Scan(&name, &got)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, bad := range strings.Fields(s.bad) {
			if got == bad {
				found = append(found, Finding{s.name, got, s.why})
			}
		}
	}
	var binlog, sync string
	if err := db.QueryRowContext(ctx, "SELECT @@log_bin, @@sync_binlog").Scan(&binlog, &sync); err != nil {
		return nil, err
	}
	if binlog == "1" && sync != "1" {
		found = append(found, Finding{"sync_binlog", sync, "with the binary log on, a crash can lose what a replica needs: want 1"})
	}
	return found, nil
}

// checkMySQLVersion refuses servers without SKIP LOCKED or defaults for texts: MySQL has both
// since 8.0.13, MariaDB since 10.6. Others that speak MySQL's protocol give its version with a name of their own behind it.
func checkMySQLVersion(version string) error {
	number, rest, _ := strings.Cut(version, "-")
	var parts []int
	for _, s := range strings.Split(number, ".") {
		n, _ := strconv.Atoi(s)
		parts = append(parts, n)
	}
	for _, other := range []string{"TiDB", "OceanBase"} {
		if strings.Contains(rest, other) {
			return fmt.Errorf("the server is %s (%s), on which nothing of Posthouse was tried: want MySQL 8.0.13 or MariaDB 10.6, or newer", other, version)
		}
	}
	least, product := []int{8, 0, 13}, "MySQL"
	if strings.Contains(rest, "MariaDB") {
		least, product = []int{10, 6}, "MariaDB"
	}
	if slices.Compare(parts, least) < 0 {
		return fmt.Errorf("%s %s is too old: want MySQL 8.0.13 or MariaDB 10.6, or newer (SKIP LOCKED)", product, number)
	}
	return nil
}

// answeredByMySQL reports whether the server said an error: then a failed COMMIT is surely undone.
func answeredByMySQL(err error) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said)
}

// deleteListed begins a DELETE of n rows of a table by their keys. A list in an IN would do, but MySQL and MariaDB scan
// a small table for it whatever index is forced, and so wait for the rows of others.
func deleteListed(table string, keys []string, n int) string {
	first, on := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		first[i], on[i] = "? AS "+key, "d."+key+" = g."+key
	}
	return "DELETE d FROM (SELECT " + strings.Join(first, ", ") + strings.Repeat(" UNION ALL SELECT "+Marks(len(keys)), n-1) + ") g STRAIGHT_JOIN " +
		table + " d ON " + strings.Join(on, " AND ")
}

// mendMySQL gives the library's table the row it begins with. MySQL commits a new table by itself, so
// a process that was killed right after leaves one without a row, which the library refuses.
func mendMySQL(ctx context.Context, db *sql.DB) error {
	var made bool
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '"+VersionTable+"'").Scan(&made)
	if err != nil || !made {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO posthouse_schema_version (version_id, is_applied) SELECT 0, TRUE FROM DUAL WHERE NOT EXISTS (SELECT * FROM posthouse_schema_version)")
	return err
}
