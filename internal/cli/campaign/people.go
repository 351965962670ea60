package campaign

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// target is what people are imported into.
type target struct {
	now       func(ctx context.Context) (posthouse.Audience, error)
	upload    func(ctx context.Context, p client.Part, body io.Reader) (posthouse.Audience, error)
	query     func(ctx context.Context, q wire.PeopleQuery) (posthouse.Audience, error)
	followers func(ctx context.Context, of wire.PeopleFollowing) (posthouse.Audience, error)
}

func ofCampaign(c *client.Client, name string) target {
	return target{
		now: func(ctx context.Context) (posthouse.Audience, error) {
			got, err := c.Campaigns.Get(ctx, name)
			return got.People, err
		},
		upload: func(ctx context.Context, p client.Part, body io.Reader) (posthouse.Audience, error) {
			return c.Campaigns.Import(ctx, name, p, body)
		},
		query: func(ctx context.Context, q wire.PeopleQuery) (posthouse.Audience, error) {
			return c.Campaigns.Query(ctx, name, q)
		},
		followers: func(ctx context.Context, of wire.PeopleFollowing) (posthouse.Audience, error) {
			return c.Campaigns.Followers(ctx, name, of)
		},
	}
}

func ofList(c *client.Client, name string) target {
	return target{
		now: func(ctx context.Context) (posthouse.Audience, error) { return c.Audiences.Get(ctx, name) },
		upload: func(ctx context.Context, p client.Part, body io.Reader) (posthouse.Audience, error) {
			return c.Audiences.Import(ctx, name, p, body)
		},
		query: func(ctx context.Context, q wire.PeopleQuery) (posthouse.Audience, error) {
			return c.Audiences.Query(ctx, name, q)
		},
		followers: func(ctx context.Context, of wire.PeopleFollowing) (posthouse.Audience, error) {
			return c.Audiences.Followers(ctx, name, of)
		},
	}
}

// people says how a file of people is read.
type people struct{ client.Part }

func (f *people) describe(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Format, "format", "", "the `FORM` of the file: csv or ndjson (default: what its first byte tells)")
	flags.StringVar(&f.Delimiter, "delimiter", "", "the `CHARACTER` between the fields of a CSV (default: what most lines agree on)")
	flags.StringSliceVar(&f.Columns, "columns", nil, "the `NAMES` of a CSV's columns, with commas, where its first line has none; an empty one leaves a column out")
	flags.StringVar(&f.Address, "address", "", "the `COLUMN` of the address (default: one named openid, phone, email, 手机号, 邮箱 or alike whose values fit the channel)")
	flags.StringVar(&f.Encoding, "encoding", "", "how its characters are written, a `WORD`: utf-8 or gbk (default: what the file shows to be)")
	flags.StringVar(&f.Sheet, "sheet", "", "the `NAME` of the sheet of a workbook (default: the first with a column of addresses)")
}

const importLong = `Import people from a file: CSV, a sheet of a workbook (.xlsx), or lines of JSON, plain or compressed by
gzip or zstd. FILE may be - for standard input. One column is the address, all others are variables. Encoding (UTF-8,
GBK, UTF-16), delimiter, header and the column of the address are found in the file; the flags say them where that misleads.

An import that was interrupted goes on where it was when the command is given again: it compares what is stored
with the file. Who stands there twice is told once, and records that cannot be read stop nothing: see refused.`

func importPeople(sh *shell.Shell) *cobra.Command {
	var how people
	cmd := &cobra.Command{
		Use: "import NAME FILE", Short: "Import a campaign's people from a file", Long: importLong, Args: shell.Takes("NAME", "FILE"),
		Example: `  posthouse campaign import coupon-a people.csv.gz --address openid`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return how.run(ctx, sh, ofCampaign(c, args[0]), args[1])
		}),
	}
	how.describe(cmd)
	return cmd
}

func (f *people) run(ctx context.Context, sh *shell.Shell, to target, path string) error {
	if err := f.look(sh, path); err != nil {
		return err
	}
	a, err := f.send(ctx, sh, to, path)
	if err != nil {
		return err
	}
	return sh.Show(a, func() { sh.Printf("%s\n", told(sh, a)) })
}

// look says at once that a file cannot be read, and names the sheets of a workbook that has several.
func (f *people) look(sh *shell.Shell, path string) error {
	if path == "-" {
		return nil
	}
	file, err := os.Open(path)
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return shell.Usagef("%s: the file cannot be read; %w", path, wrong.Err)
	}
	if err == nil && f.Sheet == "" {
		sh.TellSheets(file)
	}
	return errors.Join(err, file.Close())
}

// importTries is how often an import goes on by itself after the connection was lost.
const importTries = 5

// send imports a file, and goes on where it was after a connection was lost.
func (f *people) send(ctx context.Context, sh *shell.Shell, to target, path string) (posthouse.Audience, error) {
	p := f.Part
	p.Final = true
	if path == "-" {
		return to.upload(ctx, p, sh.In)
	}
	return persist(ctx, sh, func() (posthouse.Audience, error) { return f.once(ctx, sh, to, p, path) })
}

// persist imports, and goes on after a connection was lost.
func persist(ctx context.Context, sh *shell.Shell, once func() (posthouse.Audience, error)) (posthouse.Audience, error) {
	for try := 1; ; try++ {
		a, err := once()
		if err == nil || !lost(err) || ctx.Err() != nil || try == importTries {
			return a, err
		}
		sh.Notef("the connection was lost, and the import goes on: %v\n", err)
		pause := time.NewTimer(time.Duration(try) * 300 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}

// lost reports whether an error is of the way to the server, and not its own.
func lost(err error) bool {
	var answered *posthouse.Error
	var usage shell.UsageFault
	return !errors.As(err, &usage) && (!errors.As(err, &answered) || answered.Code == posthouse.CodeUnavailable)
}

// once sends what is not stored yet of a file.
func (f *people) once(ctx context.Context, sh *shell.Shell, to target, p client.Part, path string) (posthouse.Audience, error) {
	a, err := to.now(ctx)
	if err != nil {
		return a, err
	}
	if a.State == posthouse.AudienceReady {
		return a, f.repeats(path, a)
	}
	file, err := os.Open(path)
	if err != nil {
		return a, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	if head, _ := in.Peek(audience.ToldBy); a.Offset > 0 && !audience.Packed(head) { // of a compressed one, a workbook and UTF-16 the server passes what it has
		h := sha256.New()
		if n, err := io.CopyN(h, in, a.Offset); err != nil {
			return a, shell.Usagef("%s ends at byte %d, and %d are stored already: it is another file", path, n, a.Offset)
		}
		p.Offset, p.SHA256 = a.Offset, hex.EncodeToString(h.Sum(nil))
		if p.SHA256 != a.SHA256 {
			return a, shell.Usagef("%s is another file than the one whose first %d bytes are stored", path, a.Offset)
		}
	}
	var size int64
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	bar := &sendingBar{sh: sh, on: sh.ErrTerminal, in: in, done: p.Offset, size: size}
	defer bar.end()
	return to.upload(ctx, p, bar)
}

// repeats is an error where a file is not the one that a complete audience was made of. Of a workbook with several sheets it cannot be told: the
// server has chosen the one with addresses of the channel.
func (f *people) repeats(path string, a posthouse.Audience) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := audience.Open(file, audience.Format{Sheet: f.Sheet}, nil)
	if err != nil {
		return err
	}
	defer text.Close()
	h := sha256.New()
	n, err := io.Copy(h, text)
	switch {
	case err != nil:
		return err
	case n == a.Offset && hex.EncodeToString(h.Sum(nil)) == a.SHA256, len(text.Sheets) > 1 && f.Sheet == "":
		return nil
	}
	return shell.Usagef("%s is another file than the one that was imported, and the people are complete: nothing of it is added. Put all people into one file, or make another campaign", path)
}

// sendingBar shows on a terminal how much of a file was sent.
type sendingBar struct {
	sh         *shell.Shell
	on         bool
	in         io.Reader
	done, size int64
	shown      int64 // percent
}

func (b *sendingBar) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.done += int64(n)
	if at := 100 * b.done / max(b.size, 1); b.on && at != b.shown {
		b.shown = at
		b.sh.Notef("\r%3d %% of %d MB sent", at, b.size>>20)
	}
	return n, err
}

func (b *sendingBar) end() {
	if b.on {
		b.sh.Notef("\r\x1b[K")
	}
}

// Lists is what is done with stored lists.
func Lists(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("audience", "Stored lists of people that several campaigns use",
		audienceCreate(sh), audienceList(sh), audienceShow(sh), audienceImport(sh), query(sh, ofList), followers(sh, ofList), audienceRefused(sh),
		deletion(sh, "Delete a stored list that no campaign uses", func(ctx context.Context, c *client.Client, name string) error { return c.Audiences.Delete(ctx, name) })))
}
