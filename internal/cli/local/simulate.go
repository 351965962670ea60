package local

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/simulator"
)

// simulate plays providers.
type simulate struct {
	*shell.Shell
	addr, mail, journal string
	seed                uint64
	secrets             []string
	plain               bool

	robotSecret, robotKeyword string
	presets                   string
}

func simulateCommand(sh *shell.Shell) *cobra.Command {
	f := &simulate{Shell: sh}
	cmd := &cobra.Command{
		Use: "simulate", Short: "Play the providers that messages are sent to",
		Long: `Play providers over HTTP: tianyuan (天元), zhaohu (招呼), oa, generic, webhook and four kinds of DingTalk
(钉钉): dingtalk (a gateway), dingtalk_robot, dingtalk_work and dingtalk_card; WeCom (企业微信): wecom and wecom_robot; WeChat (微信): wechat
and wechat_subscribe; the phones of sender apps, which posthouse agent run --phone tells what to send; a mail server, with --mail; text messages by sms_aliyun and
sms_tencent, whose access keys have the secret simulated-secret; feishu, fcm, apns and huawei, whose keys it hands out; and every preset at /presets/NAME. Nothing it takes goes any further. Its page shows what arrived and makes it fail in every way
a provider can; recipients with names such as busy-twice, lost-answer or fail-recipient fail by themselves, on phones also
the numbers 13900000001 to 13900000013.`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8090", "where it listens, `HOST:PORT`; port 0 takes a free one")
	flags.StringVar(&f.mail, "mail", "", "where it takes mail by SMTP, `HOST:PORT`, such as 127.0.0.1:8025; none where it is left out")
	flags.StringVar(&f.journal, "journal", "", "a `FILE` that gets each arrival as a line of JSON, before its sender is answered")
	flags.Uint64Var(&f.seed, "seed", 1, "the `NUMBER` that faults by probability are drawn from")
	flags.StringArrayVar(&f.secrets, "webhook-secret", nil, "a `SECRET` whsec_… whose signatures the webhook receiver asks for; may be repeated")
	flags.StringVar(&f.robotSecret, "robot-secret", "", "the `SECRET` that posts to the DingTalk robot must be signed with")
	flags.StringVar(&f.robotKeyword, "robot-keyword", "", "a `WORD` that posts to the DingTalk robot must hold")
	flags.StringVar(&f.presets, "presets", "", "a `FOLDER` with presets of your own that are played too, NAME.yaml with NAME.shapes")
	flags.BoolVar(&f.plain, "plain-recipients", false, "recipients with speaking names do not fail by themselves")
	return cmd
}

func (f *simulate) options() (simulator.Options, error) {
	o := simulator.Options{Seed: f.seed, PlainRecipients: f.plain, RobotSecret: f.robotSecret, RobotKeyword: f.robotKeyword}
	if f.presets != "" {
		o.Presets = os.DirFS(f.presets)
	}
	for _, text := range f.secrets {
		secret, err := simulator.ParseSecret(text)
		if err != nil {
			return o, shell.Usagef("--webhook-secret: %w", err)
		}
		o.WebhookSecrets = append(o.WebhookSecrets, secret)
	}
	return o, nil
}

func (f *simulate) run(ctx context.Context) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	o.Log = config.Config{}.Logger(f.Err, f.ErrTerminal)
	if f.journal != "" {
		journal, err := simulator.OpenJournal(f.journal)
		if err != nil {
			return err
		}
		defer journal.Close()
		o.Journal = journal
	}
	sim := simulator.New(o)
	if err := sim.Start(ctx, f.addr); err != nil {
		return err
	}
	is := map[string]any{"url": sim.URL(), "providers": sim.Providers()}
	takes := ""
	if f.mail != "" {
		if takes, err = sim.StartMail(ctx, f.mail); err != nil {
			return err
		}
		is["mail"] = takes
	}
	ctx, release := untilSignal(ctx)
	defer release()
	err = f.Show(is, func() {
		f.Printf("the simulator plays %s\n  page      %s/\n  phones    %s/phones\n  arrivals  %s/messages\n", shell.Words(sim.Providers()), sim.URL(), sim.URL(), sim.URL())
		if takes != "" {
			f.Printf("  mail      smtp://%s\n", takes)
		}
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := sim.Stop(ending); err != nil {
		return fmt.Errorf("stop the simulator: %w", err)
	}
	return nil
}
