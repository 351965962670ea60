package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

// chapter is a part of the list of commands.
type chapter struct{ id, title, commands string }

// chapters are the parts of the list of commands, in their order. Every command is in one.
func chapters() []chapter {
	return []chapter{
		{"run", "Run it, and look at it:", "serve demo simulate doctor healthy processes version"},
		{"messages", "Messages and deliveries:", "send status explain story notification cancel recall replay resolve decisions reveal proof remind media follow"},
		{"campaigns", "Messages to many:", "campaign audience suppression"},
		{"setup", "What is set up:", "channel preset front template route digest user roster agent subscription"},
		{"flow", "Workflows, jobs, and the outbox:", "task workflow job outbox"},
		{"access", "Keys, people and tenants:", "key people tenant audit"},
		{"database", "The database, and what it proves:", "migrate place backup restore import archive events chain verify"},
		{"shell", "Help, and your shell:", "help completion man"},
	}
}

// examples are those of commands that only hold others, or have too little to say to bring their own.
func examples() map[string]string {
	return map[string]string{
		"agent":        "agent add phone-1 --channel sms\nagent list\nagent run --app-id phone-1 --key ph_… --phone http://127.0.0.1:8090",
		"audience":     "audience add customers\naudience import customers people.csv",
		"audit":        "audit list --since 7d\naudit export --output audit.ndjson",
		"campaign":     "campaign add spring --channel console --own-text 'Hello ${name}'\ncampaign import spring people.csv\ncampaign plan spring\ncampaign start spring",
		"recall":       "recall 01JB2Z6N8Q4T7V0X3Y5W9A0000",
		"cancel":       "cancel 01JB2Z6N8Q4T7V0X3Y5W9A0000\ncancel --kind order --ref 1001",
		"chain":        "chain --dsn postgres://localhost/posthouse",
		"channel":      "channel set console --driver console\nchannel test console --to u1\nchannel list",
		"completion":   "completion bash > ~/.local/share/bash-completion/completions/posthouse",
		"decisions":    "decisions make retry --channel oa --reason epoch_hold\ndecisions list",
		"demo":         "demo",
		"doctor":       "doctor --dsn sqlite:posthouse.db",
		"explain":      "explain 01JB2Z6N8Q4T7V0X3Y5W9A0000",
		"front":        "front add alertmanager --to-channel console --recipients li.na\nfront list",
		"help":         "help channel set",
		"import":       "import lksms --help",
		"job":          "job list\njob enqueue task 1001 --help",
		"key":          "key add crm --scope send\nkey list\nkey delete ID",
		"man":          "man ~/.local/share/man/man1",
		"media":        "media add notice.pdf\nmedia list",
		"migrate":      "migrate --dsn postgres://localhost/posthouse\nmigrate status",
		"outbox":       "outbox list",
		"people":       "people add zhang.san --title 张三 --role default=operator\npeople link zhang.san",
		"place":        "place\nplace switch b --dsn postgres://localhost/posthouse",
		"preset":       "preset list\npreset show telegram\nchannel set alerts --preset telegram --secret token=@token.txt",
		"processes":    "processes",
		"remind":       "remind add --channel console --to u1 --text 'Hello' --every 15m --max 4\nremind list",
		"reveal":       "reveal 01JB2Z6N8Q4T7V0X3Y5W9A0000",
		"roster":       "roster set duty --day 1=li.na,wang.fang --day 2=zhang.wei\nroster today",
		"notification": "notification list --state waiting\nnotification ack 01JB2Z6N8Q4T7V0X3Y5W9A0000 --by li.na\nnotification resume --all",
		"digest":       "digest set alerts --window 5m --max 20\ndigest list\ndigest gathered --state waiting",
		"route":        "route put duty --file route.json\nroute preview duty --to li.na --text 'Hello'\nroute list",
		"simulate":     "simulate --addr 127.0.0.1:8090",
		"story":        "story 01JB2Z6N8Q4T7V0X3Y5W9A0000",
		"subscription": "subscription add https://example.com/hook\nsubscription list",
		"suppression":  "suppression add 13800138000 --channel sms\nsuppression list",
		"task":         "task event -f event.json\ntask show 1001",
		"template":     "template set duty --text 'Duty: ${name}'\ntemplate preview duty --payload '{\"name\": \"Ann\"}'",
		"tenant":       "tenant add bank\ntenant list",
		"user":         "user set li.na --name 李娜 --address sms=13800138000\nuser list",
		"version":      "version --json",
		"workflow":     "workflow init",
	}
}

// inChapters sorts the commands into chapters, and gives each an example.
func inChapters(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		shell.Hold(completion)
	}
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = knownCommand
	}
	of := map[string]string{}
	for _, c := range chapters() {
		root.AddGroup(&cobra.Group{ID: c.id, Title: c.title})
		for name := range strings.FieldsSeq(c.commands) {
			of[name] = c.id
		}
	}
	given := examples()
	for _, cmd := range root.Commands() {
		cmd.GroupID = of[cmd.Name()]
		if lines := given[cmd.Name()]; cmd.Example == "" && lines != "" {
			cmd.Example = "  posthouse " + strings.ReplaceAll(lines, "\n", "\n  posthouse ")
		}
	}
}

// knownCommand refuses to help with what is no command.
func knownCommand(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 {
		return shell.UnknownCommand(found, rest[0])
	}
	return err
}

// former is a command line in today's words: agent was the sender app before it held all that is about agents.
func former(args []string) []string {
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		if next := i + 1; arg == "agent" && next < len(args) && strings.HasPrefix(args[next], "-") && args[next] != "-h" && args[next] != "--help" {
			return append(append(append([]string{}, args[:next]...), "run"), args[next:]...)
		}
		break
	}
	return args
}
