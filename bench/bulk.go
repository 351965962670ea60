package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	trials "github.com/posthouse/posthouse/bench/peers/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// bulkCommand is the argument by which this program is a server for campaigns on a database.
const bulkCommand = "bulk"

// bulk is a server for campaigns, in a process of its own.
type bulk struct {
	*member
	api      *client.Client
	raw      *sql.DB
	dsn      string
	database int           // the process of its server, 0 for none
	profiles string        // a directory, empty for none
	plain    time.Duration // of processor a member, of a campaign in a tenant without users
}

// profile lets a profile of the processor begin. The name is empty where the last one ends.
func (b *bulk) profile(name string, n int) error {
	if b.profiles == "" {
		return nil
	}
	if name != "" {
		kind, _, _ := strings.Cut(b.dsn, ":")
		name = filepath.Join(b.profiles, fmt.Sprintf("campaigns-%s-%d-%s.pprof", kind, n, name))
	}
	_, err := io.WriteString(b.in, name+"\n")
	return err
}

// openBulk starts it.
func (h *house) openBulk(ctx context.Context, dsn string) (*bulk, error) {
	cmd := exec.CommandContext(ctx, h.program, bulkCommand, dsn, h.sink.URL+sinkNow) //nolint:gosec // this program
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &bulk{member: &member{cmd, in}, dsn: dsn, profiles: h.o.profiles}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server does not say where it is: %w", err), b.stop())
	}
	url, key, _ := strings.Cut(strings.TrimSpace(said), " ")
	b.api, err = client.New(client.Options{URL: url, Key: key})
	if err == nil {
		b.raw, err = openRaw(dsn)
	}
	return b, err
}

// imported stores a list, and a template for it, and returns how long the list took.
func (b *bulk) imported(ctx context.Context, people io.Reader) (time.Duration, error) {
	_, err := b.api.Suppressions.Add(ctx, wire.SuppressionDraft{Address: "nobody"}) // so that a plan looks for those who opted out
	if err != nil {
		return 0, err
	}
	_, err = b.api.Templates.Put(ctx, posthouse.Template{Name: "hi", Text: "${name}: ${sum} off until ${until}"})
	if err == nil {
		_, err = b.api.Audiences.Create(ctx, wire.AudienceDraft{Name: "everybody"})
	}
	start := time.Now()
	if err == nil {
		_, err = b.api.Audiences.Import(ctx, "everybody", client.Part{Final: true}, people)
	}
	return time.Since(start), err
}

// planned makes a campaign for each channel, and measures what stands between the list and the first member.
func (b *bulk) planned(ctx context.Context, n int, say func(finding)) error {
	for _, name := range []string{trials.BulkNothing, trials.BulkPost} {
		if _, err := b.api.Channels.Pause(ctx, name, "nothing is to be sent yet"); err != nil {
			return err
		}
		_, err := b.api.Campaigns.Create(ctx, wire.CampaignDraft{Name: name, Channel: name, Template: "hi", Audience: "everybody"})
		if err != nil {
			return err
		}
		start := time.Now()
		if _, err := b.api.Campaigns.Plan(ctx, name); err != nil {
			return err
		}
		plan := time.Since(start)
		if _, err := b.api.Campaigns.Start(ctx, name, false); err != nil {
			return err
		}
		begin := time.Since(start) - plan
		if err := b.await(ctx, "SELECT CASE WHEN planned = last_seq THEN 1 ELSE 0 END FROM posthouse_campaigns WHERE name = '"+name+"'"); err != nil {
			return err
		}
		all := time.Since(start)
		if name != trials.BulkNothing {
			continue
		}
		f := finding{
			What: "campaigns: plan, start and segments, for 10,000,000", Value: all.Seconds() * planFor / float64(n), Bound: "at most " + planAtMost.String(),
			Note: fmt.Sprintf("of %s members: %s the plan, %s the start, %s the segments", thousands(n), short(plan), short(begin), short(all-plan-begin)),
		}
		f.Text = fmt.Sprintf("%.1f s", f.Value)
		say(f.atMost(planAtMost.Seconds()))
	}
	return nil
}

// cpu is what the server and its database have used.
func (b *bulk) cpu() time.Duration {
	used := trial.TreeCPU(b.cmd.Process.Pid)
	if b.database != 0 {
		used += trial.TreeCPU(b.database)
	}
	return used
}

// await asks the database until the answer is 1.
func (b *bulk) await(ctx context.Context, question string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var yes int
		if err := b.raw.QueryRowContext(ctx, question).Scan(&yes); err != nil || yes == 1 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sends lets one campaign after the other go.
func (b *bulk) sends(ctx context.Context, n int, say func(finding)) error {
	for _, one := range []struct {
		name, by string
		atLeast  float64
	}{{trials.BulkNothing, "a driver that does nothing", nothingAtLeast}, {trials.BulkPost, "HTTP to a provider that answers at once", postAtLeast}} {
		if err := b.profile(one.name, n); err != nil {
			return err
		}
		start, used := time.Now(), b.cpu()
		if _, err := b.api.Channels.Resume(ctx, one.name); err != nil {
			return err
		}
		if err := b.await(ctx, "SELECT CASE WHEN state = 'done' THEN 1 ELSE 0 END FROM posthouse_campaigns WHERE name = '"+one.name+"'"); err != nil {
			return err
		}
		took, spent := time.Since(start), b.cpu()-used
		c, err := b.api.Campaigns.Get(ctx, one.name)
		if err != nil {
			return err
		}
		if c.Progress.Sent != c.Progress.Members {
			return fmt.Errorf("%s: %d of %d members were sent to", one.name, c.Progress.Sent, c.Progress.Members)
		}
		if one.name == trials.BulkNothing {
			b.plain = spent / time.Duration(c.Progress.Members)
		}
		f := ratePer("campaigns: sends by "+one.by, int(c.Progress.Members), took, one.atLeast)
		f.Note = fmt.Sprintf("%s; %.1f µs of processor a member, server and database", f.Note, spent.Seconds()*1e6/float64(c.Progress.Members))
		say(f)
	}
	return nil
}

// usersEach is of how many members one is a user of the directory, and refusers how many of these have switched off the campaign's kind.
const (
	usersEach = 10
	refusers  = 100
)

// heeds sends the list another campaign that heeds who its members are: users of the directory with zones and languages of their own, quiet
// hours, texts in two languages, and kinds that some have switched off.
func (b *bulk) heeds(ctx context.Context, n int, say func(finding)) error {
	var users []posthouse.User
	for i := 0; i < n; i += usersEach {
		u := posthouse.User{ID: fmt.Sprintf("member%d", i), TimeZone: "Asia/Shanghai", Language: "en", Addresses: map[string]string{trials.BulkNothing: addressOf(i)}}
		if users = append(users, u); len(users) == 1000 || i+usersEach >= n {
			if _, err := b.api.Users.Put(ctx, users...); err != nil {
				return err
			}
			users = users[:0]
		}
	}
	for i := range refusers {
		_, err := b.api.Users.Choose(ctx, fmt.Sprintf("member%d", i*usersEach), wire.PutPreferences{Off: []posthouse.Unwanted{{Kind: "offers"}}})
		if err != nil {
			return err
		}
	}
	_, err := b.api.Templates.Put(ctx, posthouse.Template{Name: "both", Text: "${name}: ${sum} off until ${until}", Language: "zh", Texts: map[string]posthouse.TemplateText{"en": {Text: "${sum} off for ${name}, until ${until}"}}})
	if err != nil {
		return err
	}
	const name = "heeds"
	if _, err := b.api.Campaigns.Create(ctx, wire.CampaignDraft{Name: name, Kind: "offers", Channel: trials.BulkNothing, Template: "both", Audience: "everybody"}); err != nil {
		return err
	}
	if err := b.profile(name, n); err != nil {
		return err
	}
	start, used := time.Now(), b.cpu()
	if _, err := b.api.Campaigns.Start(ctx, name, false); err != nil {
		return err
	}
	if err := b.await(ctx, "SELECT CASE WHEN state = 'done' THEN 1 ELSE 0 END FROM posthouse_campaigns WHERE name = '"+name+"'"); err != nil {
		return err
	}
	took, spent := time.Since(start), b.cpu()-used
	c, err := b.api.Campaigns.Get(ctx, name)
	if err == nil && (c.Progress.Suppressed != refusers || c.Progress.Sent+refusers != c.Progress.Members) {
		err = fmt.Errorf("%s: %d of %d members were sent to, and %d suppressed", name, c.Progress.Sent, c.Progress.Members, c.Progress.Suppressed)
	}
	if err != nil {
		return err
	}
	f := ratePer("campaigns: sends that heed who members are, by a driver that does nothing", int(c.Progress.Members), took, nothingAtLeast)
	each := spent / time.Duration(c.Progress.Members)
	f.Note = fmt.Sprintf("%s with the segments; %.1f µs of processor a member, %.2f times as much as without users; one member in %d is one", f.Note, each.Seconds()*1e6, float64(each)/float64(b.plain), usersEach)
	say(f)
	return nil
}

// looksUp asks who got it.
func (b *bulk) looksUp(ctx context.Context, n int, say func(finding)) error {
	if err := b.profile("who", n); err != nil {
		return err
	}
	took := make([]time.Duration, campaignLookUps)
	for i := range took {
		at := rand.IntN(n/100)*100 + rand.IntN(99) //nolint:gosec // any
		start := time.Now()
		m, err := b.api.Campaigns.Who(ctx, trials.BulkNothing, addressOf(at))
		if took[i] = time.Since(start); err != nil {
			return err
		}
		if m.Seq != int64(at+1) {
			return fmt.Errorf("%s is number %d, want %d", addressOf(at), m.Seq, at+1)
		}
	}
	slices.Sort(took)
	f := finding{What: "campaigns: who got it, over HTTP", Value: median(took).Seconds(), Text: short(median(took)).String(), Bound: "at most " + lookUpAtMost.String()}
	f.Note = fmt.Sprintf("p99 %s of %d, with %s members", short(took[len(took)*99/100]), len(took), thousands(n))
	say(f.atMost(lookUpAtMost.Seconds()))
	return nil
}

// leavesOut plans and starts a campaign that leaves out whom others have told: everybody. Both read the whole list within one request.
func (b *bulk) leavesOut(ctx context.Context, n int, say func(finding)) error {
	if err := b.profile("told", n); err != nil {
		return err
	}
	draft := wire.CampaignDraft{Name: "again", Channel: trials.BulkNothing, Template: "hi", Audience: "everybody"}
	draft.NotToldWithin = posthouse.Duration(24 * time.Hour)
	if _, err := b.api.Campaigns.Create(ctx, draft); err != nil {
		return err
	}
	start := time.Now()
	p, err := b.api.Campaigns.Plan(ctx, draft.Name)
	plan := time.Since(start)
	if err == nil && p.ToldRecently != p.Members {
		err = fmt.Errorf("%d of %d were told", p.ToldRecently, p.Members)
	}
	if err == nil {
		_, err = b.api.Campaigns.Start(ctx, draft.Name, true)
	}
	begin := time.Since(start) - plan
	f := finding{
		What: "campaigns: the longest request, which leaves out all of 10,000,000 who were told", Value: max(plan, begin).Seconds() * planFor / float64(n), Bound: "at most " + requestAtMost.String(),
		Note: fmt.Sprintf("of %s members: %s the plan, %s the start", thousands(n), short(plan), short(begin)),
	}
	f.Text = fmt.Sprintf("%.1f s", f.Value)
	say(f.atMost(requestAtMost.Seconds()))
	return err
}

// stored is how many bytes the database has.
func (b *bulk) stored(ctx context.Context) (n int64, err error) {
	question := "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	switch {
	case strings.HasPrefix(b.dsn, "postgres:"):
		question = "SELECT pg_database_size(current_database())"
	case strings.HasPrefix(b.dsn, "mysql:"):
		question = "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	return n, b.raw.QueryRowContext(ctx, question).Scan(&n)
}
