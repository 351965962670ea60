// Command workflow is a small system that runs tasks of several steps and tells everybody concerned.
//
// It has a table of its own, and Posthouse stands on the same database. What happens to a task and the event
// that reports it are written in one transaction: a task that was rolled back is told to nobody, one that was
// committed to everybody who handles a step, by role. Run it with
//
//	go run ./examples/workflow
//
// Here server and simulator run inside this process and go with it; as a rule Posthouse is a program of its own.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/workflow"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run plays a task from its creation to its end, and prints who was told what.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "posthouse-workflow")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "tasks.db")
	post, stop, err := openPost(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	tasks, err := openTasks(ctx, file)
	if err != nil {
		return err
	}
	defer tasks.db.Close()

	fmt.Fprintln(out, "created and rolled back:")
	if err := tasks.write(ctx, "rolled-back", "created", created("rolled-back", "作废的任务"), rollback); err != nil {
		return err
	}
	for _, step := range []struct {
		what  string
		event workflow.Event
		told  int
	}{
		{"created", created("1001", "应急成像"), 3},
		{"the first step is done", workflow.Event{Type: workflow.NodeDone, Task: "1001", Node: "confirm"}, 2},
		{"finished", workflow.Event{Type: workflow.TaskFinished, Task: "1001"}, 4},
	} {
		fmt.Fprintln(out, step.what+":")
		if err := tasks.write(ctx, "1001", step.what, step.event, commit); err != nil {
			return err
		}
		if err := post.told(ctx, out, step.told); err != nil {
			return err
		}
	}
	return nil
}

// created describes a task of two steps. Who handles them is a matter of roles.
func created(id, name string) workflow.Event {
	return workflow.Event{Type: workflow.TaskCreated, Task: id, Created: &workflow.Task{
		Name: name, Creator: "zhang.san", CreatorName: "张三",
		Nodes: []workflow.Node{
			{ID: "confirm", Name: "资源确认", Roles: []string{"planner"}, Next: []string{"prepare"}},
			{ID: "prepare", Name: "数据准备", Roles: []string{"operator"}},
		},
	}}
}

// tasks is the business: a table, and the outbox beside it.
type tasks struct {
	db  *sql.DB
	box *outbox.Box
}

func openTasks(ctx context.Context, file string) (*tasks, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	box, err := outbox.New(outbox.Options{Database: outbox.SQLite})
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE tasks (id TEXT, state TEXT)")
	return &tasks{db, box}, err
}

type ending func(*sql.Tx) error

func commit(tx *sql.Tx) error   { return tx.Commit() }
func rollback(tx *sql.Tx) error { return tx.Rollback() }

// write keeps what happened to a task and reports it, in one transaction.
func (t *tasks) write(ctx context.Context, id, state string, event workflow.Event, end ending) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after the end
	if _, err := tx.ExecContext(ctx, "INSERT INTO tasks (id, state) VALUES (?, ?)", id, state); err != nil {
		return err
	}
	if err := t.box.Report(ctx, tx, event); err != nil {
		return err
	}
	return end(tx)
}

// post is Posthouse, with a DingTalk gateway that the simulator plays.
type post struct {
	provider *simulator.Simulator
	seen     int64 // the last arrival that was printed
}

func openPost(ctx context.Context, file string) (*post, func() error, error) {
	provider := simulator.New(simulator.Options{})
	if err := provider.Start(ctx, ""); err != nil {
		return nil, nil, err
	}
	var key string // the first one, which is shown once
	house, err := server.New(ctx, server.Options{
		DSN: "sqlite:" + file, Addr: "127.0.0.1:0", AllowPrivate: true, Log: slog.New(slog.DiscardHandler), Output: io.Discard,
		Announce: func(text string) { key = text },
	})
	if err != nil {
		return nil, nil, errors.Join(err, provider.Stop(ctx))
	}
	stop := func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(house.Stop(ctx), provider.Stop(ctx))
	}
	if err = house.Start(ctx); err == nil {
		err = furnish(ctx, house.URL(), key, provider.URL())
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return &post{provider: provider}, stop, nil
}

// furnish configures the channel, the texts and the people, over HTTP.
func furnish(ctx context.Context, url, key, provider string) error {
	c, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		return err
	}
	_, _, err = c.Channels.Put(ctx, posthouse.Channel{Name: "dingtalk", Driver: "dingtalk", Config: map[string]any{
		"baseUrl": provider + "/dingtalk/send", "agentId": "AGENT", "corpId": "CORP",
	}})
	if err != nil {
		return err
	}
	if _, err := c.Templates.Install(ctx); err != nil {
		return err
	}
	_, err = c.Users.Put(ctx,
		person("zhang.san", "张三", "planner"), person("li.na", "李娜", "planner"),
		person("wang.wei", "王伟", "operator"), person("zhao.min", "赵敏", "operator"))
	return err
}

// person is known at the gateway by their user name.
func person(id, name string, roles ...string) posthouse.User {
	return posthouse.User{ID: id, Name: name, Roles: roles, Addresses: map[string]string{"dingtalk": id}}
}

// told waits until so many more were told, and prints what reached them.
func (p *post) told(ctx context.Context, out io.Writer, n int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		arrivals := p.provider.Arrivals(simulator.Filter{Since: &p.seen, Limit: 100})
		if len(arrivals) >= n {
			var lines []string
			for _, a := range arrivals {
				lines = append(lines, fmt.Sprintf("  %-9s ← %s", a.User, a.Title))
				p.seen = max(p.seen, a.Seq)
			}
			slices.Sort(lines)
			for _, line := range lines {
				fmt.Fprintln(out, line)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d were told: %w", len(arrivals), n, ctx.Err())
		}
	}
}
