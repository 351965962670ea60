package senders

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// sender is a program of another maker, and how it is told of a front of a kind. In the words of command, HOST is the server's host and
// port, SMTP and PORT where it takes mail, URL that of the front, TOKEN its token and SAYS what the message says.
type sender struct {
	name, kind string
	command    []string
	// stdin is what it reads, with the same words in it.
	stdin string
	// script is for Node.js instead, which has a, the arguments by name.
	script string
	// led says that the sender has a host built in, from which it is led to the server.
	led  bool
	note string
}

var senders = []sender{
	{name: "apprise json://", kind: "json", command: []string{"apprise", "-t", "try", "-b", "SAYS", "json://HOST/in/json/TOKEN"}},
	{name: "apprise gotify://", kind: "gotify", command: []string{"apprise", "-t", "try", "-b", "SAYS", "gotify://HOST/in/gotify/TOKEN"}},
	{name: "shoutrrr generic://", kind: "json", command: []string{"shoutrrr", "send", "-u", "generic://HOST/in/json/TOKEN?disabletls=yes&template=json", "-m", "SAYS"}},
	{name: "shoutrrr bark://", kind: "bark", command: []string{"shoutrrr", "send", "-u", "bark://:TOKEN@HOST/in/bark?scheme=http", "-m", "SAYS"}},
	{name: "shoutrrr ntfy://", kind: "ntfy", command: []string{"shoutrrr", "send", "-u", "ntfy://:TOKEN@HOST/in/ntfy/disks?scheme=http", "-m", "SAYS"}},
	{name: "swaks, AUTH PLAIN", kind: "mail", command: []string{"swaks", "--server", "SMTP", "--auth", "PLAIN", "--auth-user", "mail", "--auth-password", "TOKEN", "--from", "cron@db1", "--to", "ops@example.com", "--header", "Subject: try", "--body", "SAYS"}},
	{name: "swaks, AUTH LOGIN", kind: "mail", command: []string{"swaks", "--server", "SMTP", "--auth", "LOGIN", "--auth-user", "TOKEN", "--auth-password", "x", "--from", "cron@db1", "--to", "ops@example.com", "--body", "SAYS", "--attach", "@/etc/hostname"}},
	{name: "swaks, the recipient", kind: "mail", command: []string{"swaks", "--server", "SMTP", "--from", "cron@db1", "--to", "disks+TOKEN@post", "--body", "SAYS", "--pipeline"}},
	{name: "msmtp", kind: "mail", command: []string{"msmtp", "--file=/dev/null", "--host=127.0.0.1", "--port=PORT", "--auth=plain", "--user=mail", "--passwordeval=echo TOKEN", "--tls=off", "--from=cron@db1", "ops@example.com"}, stdin: "Subject: try\n\nSAYS\n"},
	{name: "nodemailer", kind: "mail", script: `require('nodemailer').createTransport({host: '127.0.0.1', port: +a.port, auth: {user: 'mail', pass: a.token}, tls: {rejectUnauthorized: false}}).sendMail({from: 'cron@db1', to: 'ops@example.com', subject: '磁盘', text: a.says, attachments: [{filename: '报告.txt', content: '满了'}]}).then(r => { console.log(r.response); process.exit(0) }, e => { console.log(e.message); process.exit(1) })`},
	{name: "push-all-in-one Ntfy", kind: "ntfy", script: `send(new (require('push-all-in-one').Ntfy)({NTFY_URL: a.url + '/', NTFY_TOPIC: 'disks', NTFY_AUTH: 'Bearer ' + a.token}), {})`},
	{name: "push-all-in-one Dingtalk", kind: "dingtalk", script: `send(new (require('push-all-in-one').Dingtalk)({DINGTALK_ACCESS_TOKEN: a.token}), {msgtype: 'text'})`, led: true},
	{name: "push-all-in-one WechatRobot", kind: "wecom", script: `send(new (require('push-all-in-one').WechatRobot)({WECHAT_ROBOT_KEY: a.token}), {msgtype: 'text'})`, led: true},
	{name: "push-all-in-one PushPlus", kind: "pushplus", script: `send(new (require('push-all-in-one').PushPlus)({PUSH_PLUS_TOKEN: a.token}), {})`, led: true},
	{name: "push-all-in-one ServerChanTurbo", kind: "serverchan", script: `send(new (require('push-all-in-one').ServerChanTurbo)({SERVER_CHAN_TURBO_SENDKEY: a.token}), {})`, led: true},
	{name: "push-all-in-one ServerChanV3", kind: "serverchan", script: `send(new (require('push-all-in-one').ServerChanV3)({SERVER_CHAN_V3_SENDKEY: 'sctp1t' + a.token}), {})`, led: true, note: "the key has the newer form"},
	{name: "push-all-in-one WechatApp", kind: "wecom-app", script: `send(new (require('push-all-in-one').WechatApp)({WECHAT_APP_CORPID: 'ww1', WECHAT_APP_SECRET: a.token, WECHAT_APP_AGENTID: 1}), {msgtype: 'text'})`, led: true},
	{name: "android-sms-gateway", kind: "smsgate", script: texts + `text(a.says)`},
	{name: "serverchan-sdk", kind: "serverchan", script: `require('serverchan-sdk').scSend(a.token, 'try', a.says).then(r => { console.log(JSON.stringify(r)); process.exit(r.code === 0 ? 0 : 1) })`, led: true},
}

// without are the kinds that no sender of the table drives, and why not.
var without = map[string]string{
	"alertmanager":   "driven by TestAPairOfAlertmanagers",
	"grafana":        "no package brings it here: its calls are recorded",
	"feishu":         "its senders have an https host built in that cannot be led: their calls are recorded",
	"message-pusher": "no package brings a sender here: its calls are recorded",
}

// prelude is what each script begins with.
const prelude = `const a = {url: process.env.FRONT, token: process.env.TOKEN, port: process.env.SMTP_PORT, says: process.env.SAYS};
const send = (s, o) => s.send('try', a.says, o).then(r => {
  console.log(JSON.stringify(r.data));
  process.exit(r.status === 200 && !r.data.errcode && (!r.data.code || r.data.code === 200) ? 0 : 1);
});
`

// texts has android-sms-gateway send texts, which wants to be given how it calls.
const texts = `const text = async (id) => {
  const { default: Client } = await import(process.env.NODE_PATH + '/android-sms-gateway/dist/index.js');
  const call = (method) => async (url, body, headers) => {
    const r = await fetch(url, {method, body: body && JSON.stringify(body), headers});
    const said = await r.text();
    if (!r.ok) throw new Error(r.status + ' ' + said);
    return JSON.parse(said);
  };
  const c = new Client('any', a.token, {post: call('POST'), get: (url, headers) => call('GET')(url, undefined, headers)}, a.url + '/3rdparty/v1');
  const sent = await c.send({id: id.slice(0, 36), message: a.says, phoneNumbers: ['13800138000'], simNumber: 1, ttl: 600});
  const state = await c.getState(sent.id);
  console.log(JSON.stringify([sent, state]));
  process.exit(sent.id === state.id && state.recipients[0].phoneNumber === '+8613800138000' ? 0 : 1);
};
process.on('unhandledRejection', e => { console.log(e.message); process.exit(1) });
`

// folder is where make fronts has installed senders, empty without it.
func folder() string { return os.Getenv("POSTHOUSE_SENDERS") }

// program is the command of a sender at a front; nil where the sender is not installed.
func (s sender) program(ctx context.Context, host, smtp, token, says string) *exec.Cmd {
	base := "http://" + host + "/in/" + s.kind
	port := smtp[strings.LastIndexByte(smtp, ':')+1:]
	if s.script != "" {
		if _, err := os.Stat(filepath.Join(folder(), "node_modules")); err != nil || folder() == "" {
			return nil
		}
		lead, err := filepath.Abs("testdata/lead.cjs")
		if err != nil {
			return nil
		}
		cmd := exec.CommandContext(ctx, "node", "-r", lead, "-e", prelude+s.script)
		cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(folder(), "node_modules"), "NO_PROXY=true", "FRONT="+base, "TOKEN="+token, "SAYS="+says, "SMTP_PORT="+port)
		if s.led {
			cmd.Env = append(cmd.Env, "LEAD="+base)
		}
		return cmd
	}
	fill := strings.NewReplacer("HOST", host, "SMTP", smtp, "PORT", port, "URL", base, "TOKEN", token, "SAYS", says)
	words := slices.Clone(s.command)
	for i := range words {
		words[i] = fill.Replace(words[i])
	}
	path := filepath.Join(folder(), words[0])
	if _, err := os.Stat(path); err != nil || folder() == "" {
		if path, err = exec.LookPath(words[0]); err != nil {
			return nil
		}
	}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Stdin = strings.NewReader(fill.Replace(s.stdin))
	return cmd
}

// Every sender that is installed has a message taken by the front of its kind, and learns that a wrong token is refused. make fronts
// installs them and prints the table.
func TestEverySender(t *testing.T) {
	t.Parallel()
	if folder() == "" {
		dbtest.Program(t, "apprise")
	}
	y := openYard(t)
	tokens := map[string]string{}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	line := func(words ...string) { _, _ = w.Write([]byte(strings.Join(words, "\t") + "\n")) }
	line("sender", "front", "a message", "a wrong token", "note")
	for _, s := range senders {
		note := s.note
		if s.led {
			note = strings.TrimPrefix(note+"; its host is built in, and led to the server", "; ")
		}
		if s.program(t.Context(), "", "", "", "") == nil {
			line(s.name, s.kind, "not installed", "", note)
			continue
		}
		if tokens[s.kind] == "" {
			tokens[s.kind] = y.frontOf(s.kind).Token
		}
		says := "says" + posthouse.NewID()
		good := y.drive(s, tokens[s.kind], says)
		if n := len(y.messages(s.kind, says)); n != 1 {
			good = strings.TrimSpace("FAILED " + good)
			t.Errorf("%s: %d messages, want one", s.name, n)
		}
		says = "wrong" + posthouse.NewID()
		wrong := y.drive(s, strings.Repeat("0", 64), says)
		if n := len(y.messages(s.kind, says)); n != 0 || wrong == "sent" {
			t.Errorf("%s: with a wrong token it was told %s, and there are %d messages", s.name, wrong, n)
		}
		line(s.name, s.kind, good, wrong, note)
	}
	kinds, err := y.api().Fronts.Kinds(t.Context())
	y.must(err)
	for _, k := range kinds {
		why, driven := without[k.Kind], slices.ContainsFunc(senders, func(s sender) bool { return s.kind == k.Kind })
		if (why == "") != driven {
			t.Errorf("%s: a sender is there: %v, and why none is: %q", k.Kind, driven, why)
		}
		if !driven {
			line("none", k.Kind, "", "", why)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &table)
}

// drive has a sender send, and says how it ended.
func (y *yard) drive(s sender, token, says string) string {
	y.Helper()
	ctx, cancel := context.WithTimeout(y.Context(), 2*time.Minute)
	defer cancel()
	said, err := s.program(ctx, y.member().Addr, y.smtp, token, says).CombinedOutput()
	y.Logf("%s: %.1000s", s.name, said)
	if err != nil {
		return "an error"
	}
	return "sent"
}
