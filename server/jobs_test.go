package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// FLOW-4, FLOW-16: the document's three functions in Go.
func ExampleServer_Jobs() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := server.New(ctx, server.Options{DSN: "sqlite:" + filepath.Join(dir, "posthouse.db"), Addr: "127.0.0.1:0", Output: io.Discard, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Stop(ctx)
	if err := s.Start(ctx); err != nil {
		log.Fatal(err)
	}
	tenant := posthouse.DefaultTenant
	if _, err := s.InstallTemplates(ctx, tenant); err != nil {
		log.Fatal(err)
	}
	if _, err := s.PutChannel(ctx, tenant, posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil {
		log.Fatal(err)
	}

	jobs := s.Jobs()
	timeout, oa, cancelled := wire.Ident("5"), wire.Ident("0"), wire.Ident("3")
	job := wire.NewJob{
		BizType: &timeout, BizID: "8882", Channel: &oa, UserIDs: []wire.Ident{"li.na"}, DedupKey: "5_8882_0", Operator: "task-service",
		Payload: []byte(`{"taskName": "应急成像-京津冀", "nodeName": "资源确认", "maxDuration": 60, "timeoutRemind": 30}`),
	}
	for range 2 {
		made, err := jobs.Enqueue(ctx, tenant, job)
		fmt.Println(made.JobID, made.Existing, err)
	}
	changed, err := jobs.UpdateStatus(ctx, tenant, wire.JobStatus{BizType: &timeout, BizIDs: []wire.Ident{"8882"}, Status: &cancelled, Operator: "task-service"})
	fmt.Println("cancelled", changed.Changed, err)
	view, err := jobs.Job(ctx, tenant, "5_8882_0")
	fmt.Println(view.State, err)
	deleted, err := jobs.DeleteByBiz(ctx, tenant, wire.JobDelete{BizType: &timeout, BizIDs: []wire.Ident{"8882"}, Operator: "task-service"})
	fmt.Println("deleted", deleted.Changed, err)
	// Output:
	// 5_8882_0 false <nil>
	// 5_8882_0 true <nil>
	// cancelled 1 <nil>
	// cancelled <nil>
	// deleted 1 <nil>
}
