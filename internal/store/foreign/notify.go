package foreign

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// The tables of the notification document that an import reads, and those of its system that say who people are.
const (
	NotifyJobs       = "tc_notify_job"
	NotifyRecipients = "tc_notify_recipient"
	NotifyTemplates  = "tc_notify_template"
	NotifyChannels   = "tc_notify_channel_config"
	NotifyUsers      = "sys_user"
	notifyRoles      = "sys_user_role"
)

// Notify is a database with the tables of the notification document, opened to be read. Nothing is written to it.
type Notify struct{ *database }

// OpenNotify opens such a database, as OpenLksms does.
func OpenNotify(ctx context.Context, dsn string, zone *time.Location) (*Notify, error) {
	f, err := open(ctx, dsn, zone, NotifyJobs)
	if err != nil {
		return nil, err
	}
	return &Notify{f}, nil
}

// Jobs reads jobs in the order of their rows, those behind a row, with their recipients.
func (n *Notify) Jobs(ctx context.Context, after int64, limit int) (list []work.NotifyJob, err error) {
	query := "SELECT id, " + n.numbers("biz_type", "channel", "status", "retry_count", "del_flag") + ", " + n.texts("biz_id", "dedup_key", "payload", "create_by", "update_by") +
		", " + n.at("next_run_time") + ", " + n.at("create_time") + ", " + n.at("update_time") + " FROM " + NotifyJobs
	err = n.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
		var j work.NotifyJob
		var deleted int
		var next, created, updated moment
		err := scan(&j.Row, &j.BizType, &j.Channel, &j.Status, &j.Retries, &deleted, &j.BizID, &j.Key, &j.Payload, &j.CreateBy, &j.UpdateBy,
			&next.value, &created.value, &updated.value)
		j.Deleted, j.NextRun, j.CreatedAt, j.UpdatedAt = deleted != 0, next.in(n.zone), created.in(n.zone), updated.in(n.zone)
		list = append(list, j)
		return err
	})
	if err != nil || len(list) == 0 {
		return list, err
	}
	return list, n.addRecipients(ctx, list)
}

// addRecipients reads the recipients of jobs. One that is deleted by itself is none.
func (n *Notify) addRecipients(ctx context.Context, list []work.NotifyJob) error {
	if !n.tables[NotifyRecipients] {
		return nil
	}
	place := map[int64]int{}
	for i := range list {
		place[list[i].Row] = i
	}
	query := "SELECT id, job_id, " + n.numbers("status", "del_flag") + ", " + n.texts("user_id", "last_error", "external_msgid") + ", " + n.at("update_time") +
		" FROM " + NotifyRecipients + " WHERE job_id >= ? AND job_id <= ? ORDER BY id"
	return n.look(ctx, query, []any{list[0].Row, list[len(list)-1].Row}, func(scan sqldb.Scanner) error {
		var r work.NotifyRecipient
		var deleted int
		var updated moment
		err := scan(&r.Row, &r.Job, &r.Status, &deleted, &r.User, &r.Error, &r.Message, &updated.value)
		r.UpdatedAt = updated.in(n.zone)
		if i, known := place[r.Job]; known && (deleted == 0 || list[i].Deleted) {
			list[i].Recipients = append(list[i].Recipients, r)
		}
		return err
	})
}

// Templates reads the templates that are not deleted.
func (n *Notify) Templates(ctx context.Context) (list []work.NotifyTemplate, err error) {
	query := "SELECT id, " + n.numbers("biz_type", "channel", "enabled") + ", " + n.texts("title_tpl", "content_tpl", "external_tpl_id") +
		" FROM " + NotifyTemplates + " WHERE COALESCE(del_flag, 0) = 0 ORDER BY id"
	err = n.look(ctx, query, nil, func(scan sqldb.Scanner) error {
		var t work.NotifyTemplate
		var enabled int
		err := scan(&t.Row, &t.BizType, &t.Channel, &enabled, &t.Title, &t.Text, &t.ExternalID)
		t.Enabled = enabled != 0
		list = append(list, t)
		return err
	})
	return list, err
}

// Channels reads the configurations of channels, by the document's number.
func (n *Notify) Channels(ctx context.Context) (map[int]string, error) {
	found := map[int]string{}
	query := "SELECT " + n.numbers("channel") + ", " + n.texts("config_json") + " FROM " + NotifyChannels + " WHERE COALESCE(del_flag, 0) = 0 ORDER BY id"
	err := n.look(ctx, query, nil, func(scan sqldb.Scanner) error {
		var number int
		var config string
		err := scan(&number, &config)
		found[number] = config
		return err
	})
	return found, err
}

// Users are those of the table of users, where there is one, else all who are recipients. Its columns differ between systems.
func (n *Notify) Users(ctx context.Context) ([]work.NotifyUser, error) {
	if !n.tables[NotifyUsers] {
		return n.usersOf(ctx, "SELECT DISTINCT "+n.texts("user_id")+", '', '' FROM "+NotifyRecipients+" ORDER BY 1")
	}
	columns, err := n.columns(ctx, NotifyUsers)
	if err != nil {
		return nil, err
	}
	one := func(names ...string) string {
		i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(columns, name) })
		if i < 0 {
			return "NULL"
		}
		return names[i]
	}
	id := one("user_id", "id")
	if id == "NULL" {
		return nil, fmt.Errorf("the table %s has no column user_id or id: who its users are cannot be read", NotifyUsers)
	}
	list, err := n.usersOf(ctx, "SELECT "+n.texts(id, one("username", "user_name"), one("nick_name", "real_name", "nickname", "name"))+" FROM "+NotifyUsers+" ORDER BY 1")
	if err != nil || !n.tables[notifyRoles] {
		return list, err
	}
	return list, n.addRoles(ctx, list)
}

func (n *Notify) usersOf(ctx context.Context, query string) (list []work.NotifyUser, err error) {
	err = n.look(ctx, query, nil, func(scan sqldb.Scanner) error {
		var u work.NotifyUser
		err := scan(&u.ID, &u.Username, &u.Name)
		list = append(list, u)
		return err
	})
	return list, err
}

func (n *Notify) addRoles(ctx context.Context, list []work.NotifyUser) error {
	place := map[string]int{}
	for i := range list {
		place[list[i].ID] = i
	}
	return n.look(ctx, "SELECT "+n.texts("user_id", "role_id")+" FROM "+notifyRoles+" ORDER BY 1, 2", nil, func(scan sqldb.Scanner) error {
		var user, role string
		err := scan(&user, &role)
		if i, known := place[user]; known && role != "" {
			list[i].Roles = append(list[i].Roles, role)
		}
		return err
	})
}

// columns are the names of a table's columns, in small letters.
func (n *Notify) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := n.db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, fmt.Errorf("read the database to import from: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	return names, cmp.Or(err, rows.Err())
}
