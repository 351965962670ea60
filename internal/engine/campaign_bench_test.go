package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// BenchmarkCampaign is the sending of a campaign by a driver that does nothing: ns for each member, with the template filled
// for each, on each database. heap-MB is what is in use when half of them are sent to.
func BenchmarkCampaign(b *testing.B) {
	for _, db := range []struct {
		name string
		dsn  func(testing.TB) string
	}{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mariadb", dbtest.MariaDB}} {
		b.Run(db.name, func(b *testing.B) { benchmarkCampaign(b, db.dsn(b)) })
	}
}

func benchmarkCampaign(b *testing.B, dsn string) {
	log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{DSN: dsn, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Schema.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	im, err := campaign.NewImporter(st.Audiences, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	e, err := New(Options{
		Stores: parts(storetest.All(st)), Rosters: st.Rosters, Limiter: limit.SQL{Rows: st.Limits}, Log: log,
		Campaigns: Campaigns{
			Segments: st.Segments, Legs: campaign.Post{Campaigns: st.Campaigns, Lists: st.Audiences, Templates: st.Templates, Importer: im},
			Steward: &campaign.Steward{Campaigns: st.Campaigns, History: st.Campaigns, Segments: st.Segments, Counts: st.Segments, Lists: st.Audiences, Importer: im},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Start(ctx); err != nil {
		b.Fatal(err)
	}
	defer e.Stop(ctx)
	c := &counted{want: int64(b.N), done: make(chan struct{})}
	ch := posthouse.Channel{Tenant: "t", Name: "c", Driver: "test", ChannelSettings: posthouse.ChannelSettings{MaxInflight: 1024}, Version: 1}
	if err := e.Routes.SetChannel(ch, state.Opened{Driver: c, Window: channel.Forever}); err != nil {
		b.Fatal(err)
	}
	desk := campaign.NewDesk(campaign.Options{
		Campaigns: st.Campaigns, History: st.Campaigns, Segments: st.Segments, Lists: st.Audiences, Templates: st.Templates, Importer: im,
		Channel: func(tenant, name string) *state.Channel { return e.Routes.Channel(tenant, name) }, Wake: e.Campaigner.Nudge, Repair: e.Campaigner.Repair,
	})
	_, err = st.Templates.PutTemplate(ctx, time.Now(), posthouse.Template{Tenant: "t", Name: "hi", Text: "${name}: ${sum} off until ${until}"})
	if err == nil {
		_, err = desk.Create(ctx, "t", work.Program(), wire.CampaignDraft{Name: "big", Channel: "c", Template: "hi"})
	}
	if err == nil {
		_, err = desk.Import(ctx, "t", "big", campaign.Part{Final: true}, crowdOf(b.N))
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if _, err := desk.Start(ctx, "t", work.Program(), "big", wire.CampaignStart{Force: true}); err != nil {
		b.Fatal(err)
	}
	<-c.done
	b.StopTimer()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MB")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "members/s")
}

// crowdOf is a file of n people.
func crowdOf(n int) io.Reader {
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriter(out)
		fmt.Fprintln(w, "openid,name,sum,until")
		for i := range n {
			fmt.Fprintf(w, "o6_bmjrPTlm6_2sgVt7hM%07d,张三%d,%d,2030-10-01\n", i, i%1000, i%90)
		}
		_ = w.Flush()
		_ = out.Close()
	}()
	return in
}
