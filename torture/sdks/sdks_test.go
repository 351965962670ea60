//go:build sdks

package sdks

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/simulator"
)

// played are the hosts of providers that the simulator plays as presets; it knows the others by their hosts.
var played = map[string]string{
	"api.jpush.cn": "jpush", "api.twilio.com": "twilio", "hooks.slack.com": "slack_hook", "sctapi.ftqq.com": "serverchan", "discord.com": "discord",
	"api.telegram.org": "telegram", "www.pushplus.plus": "pushplus", "wxpusher.zjiecode.com": "wxpusher", "oapi.dingtalk.com": "dingtalk_robot",
}

// sdk is a program of a provider's, or of somebody's who speaks to one.
type sdk struct {
	name string
	// provider is the simulator's, and script what Node.js runs: done ends it well where its argument is true.
	provider, script string
	// user, title and text are what arrives.
	user, title, text string
	// driver and config are ours, which send the same; below is where the simulator plays it. Presets have none: the simulator takes of
	// them only what the preset itself would send.
	driver, below string
	config        map[string]any
	content       posthouse.Content
	template      string
	payload       string
	// apart are members of the body that differ, with why.
	apart map[string]string
	// refused is what the simulator says to a call that is not the preset's, and note why it is not.
	refused string
	note    string
}

const ourKey = "a key of one's own"

var sdks = []sdk{
	{
		name: "@alicloud/dysmsapi20170525", provider: "sms_aliyun", user: "+8613800138000", title: "SMS_154950909", text: "code: 4821",
		script: `const D = require('@alicloud/dysmsapi20170525'), O = require('@alicloud/openapi-core').$OpenApiUtil;
new D.default(new O.Config({accessKeyId: 'LTAI5tExample', accessKeySecret: 'simulated-secret', endpoint: 'dysmsapi.aliyuncs.com'}))
.sendSms(new D.SendSmsRequest({phoneNumbers: '13800138000', signName: '驿站', templateCode: 'SMS_154950909', templateParam: '{"code":"4821"}', outId: 'k1'}))
.then(r => done(r.body.code === 'OK', r.body))`,
		driver: "sms", below: "/sms_aliyun", payload: `{"code":"4821"}`, template: "SMS_154950909",
		config: map[string]any{"provider": "aliyun", "access_key": "LTAI5tExample", "secret": simulator.SMSSecret, "sign": "驿站"},
		apart:  map[string]string{"OutId": ourKey},
	},
	{
		name: "tencentcloud-sdk-nodejs-sms", provider: "sms_tencent", user: "+8613800138000", title: "1110", text: "4821",
		script: `const C = require('tencentcloud-sdk-nodejs-sms').sms.v20210111.Client;
new C({credential: {secretId: 'AKIDExample', secretKey: 'simulated-secret'}, region: 'ap-guangzhou'})
.SendSms({PhoneNumberSet: ['+8613800138000'], SmsSdkAppId: '1400006666', SignName: '驿站', TemplateId: '1110', TemplateParamSet: ['4821'], SessionContext: 'k1'})
.then(r => done(r.SendStatusSet[0].Code === 'Ok', r))`,
		driver: "sms", below: "/sms_tencent", payload: `{"1":"4821"}`, template: "1110",
		config: map[string]any{"provider": "tencent", "access_key": "AKIDExample", "secret": simulator.SMSSecret, "sign": "驿站", "app_id": "1400006666"},
		apart:  map[string]string{"SessionContext": ourKey},
	},
	{
		name: "@larksuiteoapi/node-sdk", provider: "feishu", user: "ou_1", text: "Disk /var is 91 % full",
		script: `const lark = require('@larksuiteoapi/node-sdk');
new lark.Client({appId: 'cli_a1b2c3d4', appSecret: 'any', domain: lark.Domain.Feishu, loggerLevel: lark.LoggerLevel.error}).im.message
.create({params: {receive_id_type: 'open_id'}, data: {receive_id: 'ou_1', msg_type: 'text', content: JSON.stringify({text: 'Disk /var is 91 % full'}), uuid: 'k1'}})
.then(r => done(r.code === 0, r))`,
		driver: "feishu", below: "/feishu", content: posthouse.Content{Text: "Disk /var is 91 % full"},
		config: map[string]any{"app_id": "cli_a1b2c3d4", "app_secret": "any"},
		apart:  map[string]string{"uuid": ourKey},
	},
	{
		name: "@parse/node-apn", provider: "apns", user: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0", title: "db-1", text: "Disk /var is 91 % full",
		script: `const apn = require('@parse/node-apn');
const p = new apn.Provider({token: {key: FILE('/apns/AuthKey.p8'), keyId: 'SIMULATED1', teamId: 'SIMULATED2'}, production: true});
const n = new apn.Notification({topic: 'com.example.app', alert: {title: 'db-1', body: 'Disk /var is 91 % full'}, sound: 'default', payload: {order: 7}, pushType: 'alert', priority: 10});
p.send(n, '00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0').then(r => done(r.sent.length === 1, r))`,
		driver: "apns", below: "/apns", content: posthouse.Content{Title: "db-1", Text: "Disk /var is 91 % full"}, payload: `{"order":7}`,
		config: map[string]any{"key": "FILE /apns/AuthKey.p8", "key_id": "SIMULATED1", "team_id": "SIMULATED2", "topic": "com.example.app"},
		note:   "over HTTP/2",
	},
	{
		name: "firebase-admin", provider: "fcm", user: "device-1", title: "db-1", text: "Disk /var is 91 % full",
		script: `const {initializeApp, cert} = require('firebase-admin/app'), {getMessaging} = require('firebase-admin/messaging');
initializeApp({credential: cert(JSON.parse(FILE('/fcm/service-account.json')))});
getMessaging().send({token: 'device-1', notification: {title: 'db-1', body: 'Disk /var is 91 % full'}, data: {order: '7'}}).then(r => done(r.startsWith('projects/'), r))`,
		driver: "fcm", below: "/fcm", content: posthouse.Content{Title: "db-1", Text: "Disk /var is 91 % full"}, payload: `{"order":7}`,
		config: map[string]any{"service_account": "FILE /fcm/service-account.json"},
	},
	{
		name: "nodemailer", provider: "mail", user: "li.na@example.org", title: "On duty tonight", text: "From 18:00 on it is you.",
		script: `require('nodemailer').createTransport({host: '127.0.0.1', port: Number(process.env.MAIL), ignoreTLS: true})
.sendMail({from: 'desk@example.com', to: 'li.na@example.org', subject: 'On duty tonight', text: 'From 18:00 on it is you.'}).then(r => done(r.accepted.length === 1, r))`,
		note: "by SMTP",
	},
	{
		name: "jpush-sdk", provider: "preset-jpush",
		script: `const J = require('jpush-sdk');
J.buildClient('0123456789abcdef01234567', '76543210fedcba9876543210', 0).push().setPlatform('all').setAudience(J.registration_id('1a0018970a1b2c3d4e5'))
.setNotification(J.android('Disk /var is 91 % full', 'db-1'), J.ios({title: 'db-1', body: 'Disk /var is 91 % full'})).send((e, r) => done(!e, e || r))`,
		refused: "body.options", note: "it adds options.sendno and options.apns_production, which the preset leaves to JPush",
	},
	{
		name: "twilio", provider: "preset-twilio", user: "+15005550009", text: "Disk /var is 91 % full",
		script: `require('twilio')('AC00000000000000000000000000000000', '0123456789abcdef0123456789abcdef').messages
.create({to: '+15005550009', from: '+15005550006', body: 'Disk /var is 91 % full'}).then(r => done(r.sid.length > 0, r))`,
	},
	{
		name: "@slack/webhook", provider: "preset-slack_hook", text: "Disk /var is 91 % full",
		script: `const {IncomingWebhook} = require('@slack/webhook');
new IncomingWebhook('https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX').send({text: 'Disk /var is 91 % full'}).then(r => done(r.text === 'ok', r))`,
	},
	{
		name: "serverchan-sdk", provider: "preset-serverchan", title: "db-1", text: "Disk /var is 91 % full",
		script: `require('serverchan-sdk').scSend('SCT0000TxxxxxxxxxxxxxxxxxxxxxxxxX', 'db-1', 'Disk /var is 91 % full').then(r => done(r.code === 0, r))`,
	},
	{
		name: "push-all-in-one ServerChanTurbo", provider: "preset-serverchan", title: "db-1", text: "Disk /var is 91 % full",
		script:  `send('ServerChanTurbo', {SERVER_CHAN_TURBO_SENDKEY: 'SCT0000TxxxxxxxxxxxxxxxxxxxxxxxxX'})`,
		refused: "body.title", note: "it posts a form whose title is named text; the preset posts JSON, as the provider's own program does",
	},
	{
		name: "push-all-in-one PushPlus", provider: "preset-pushplus", title: "db-1", text: "Disk /var is 91 % full",
		script:  `send('PushPlus', {PUSH_PLUS_TOKEN: '0123456789abcdef0123456789abcdef'}, {template: 'txt'})`,
		refused: "body.channel", note: "it names the channel wechat, which is PushPlus's default",
	},
	{
		name: "push-all-in-one Dingtalk", provider: "preset-dingtalk_robot", text: "db-1\nDisk /var is 91 % full",
		script:  `send('Dingtalk', {DINGTALK_ACCESS_TOKEN: '0123456789abcdef', DINGTALK_SECRET: 'SEC0123456789abcdef'}, {msgtype: 'text'})`,
		refused: "body.msgUuid", note: "it has no idempotency key; its signature is the same",
	},
	{
		name: "push-all-in-one Discord", provider: "preset-discord", text: "db-1\nDisk /var is 91 % full",
		script:  `send('Discord', {DISCORD_WEBHOOK: 'https://discord.com/api/webhooks/000000000000000000/xxxxxxxxxxxxxxxx'})`,
		refused: "body.allowed_mentions", note: "it lets a text call everybody, which the preset does not",
	},
	{
		name: "push-all-in-one Telegram", provider: "preset-telegram", user: "-1001234567890", text: "db-1\nDisk /var is 91 % full",
		script:  `send('Telegram', {TELEGRAM_BOT_TOKEN: '123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11', TELEGRAM_CHAT_ID: -1001234567890})`,
		refused: "body.chat_id", note: "its chat_id is a number, the preset's a text: Telegram takes both",
	},
	{
		name: "push-all-in-one WxPusher", provider: "preset-wxpusher", user: "UID_0123456789", title: "db-1", text: "Disk /var is 91 % full",
		script:  `send('WxPusher', {WX_PUSHER_APP_TOKEN: 'AT_0123456789abcdef', WX_PUSHER_UID: 'UID_0123456789'}, {contentType: 1})`,
		refused: "body.summary", note: "it has no summary: the title is the text's first line",
	},
}

// prelude is what each script begins with.
const prelude = `const FILES = JSON.parse(process.env.FILES), FILE = (path) => FILES[path];
const done = (ok, said) => { console.log(typeof said === 'string' ? said : JSON.stringify(said)); process.exit(ok ? 0 : 1); };
const send = (name, config, option) => new (require('push-all-in-one')[name])(config).send('db-1', 'Disk /var is 91 % full', option || {})
  .then(r => done(r.status < 300, r.data), e => { console.error(e.message, e.response && JSON.stringify(e.response.data)); process.exit(1); });
process.on('unhandledRejection', (e) => { console.error(e); process.exit(1); });
`

// call is a request that reached the simulator.
type call struct {
	host, path string
	query      url.Values
	body       []byte
}

// canonical is a call's body as members: JSON, or a form with the query.
func (c *call) canonical() any {
	var out map[string]any
	if json.Unmarshal(c.body, &out) == nil {
		return out
	}
	all := url.Values{}
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		form = nil
	}
	out = map[string]any{}
	for _, list := range []url.Values{c.query, form} {
		for name := range list {
			all[name] = list[name]
			out[name] = list.Get(name)
		}
	}
	return out
}

// stage is the simulator, with what reached it.
type stage struct {
	sim  *simulator.Simulator
	mu   sync.Mutex
	last *call
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.last = &call{r.Host, r.URL.Path, r.URL.Query(), body}
	s.mu.Unlock()
	host, _, _ := strings.Cut(r.Host, ":")
	if preset := played[host]; preset != "" {
		r.URL.Path, r.URL.RawPath = "/presets/"+preset+r.URL.Path, ""
	}
	s.sim.ServeHTTP(w, r)
}

// take is what came last.
func (s *stage) take() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.last
	s.last = nil
	return c
}

// authority makes a certificate for all hosts, and the file with who has signed it.
func authority(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	names := []string{
		"dysmsapi.aliyuncs.com", "sms.tencentcloudapi.com", "open.feishu.cn", "api.push.apple.com", "fcm.googleapis.com", "oauth2.googleapis.com",
	}
	for host := range played {
		names = append(names, host)
	}
	slices.Sort(names)
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "providers"}, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Each program sends by its own rules, to the hosts that it has built in, and the simulator takes it; our driver sends the same.
func TestProvidersOwnPrograms(t *testing.T) {
	modules := os.Getenv("POSTHOUSE_SDKS")
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("the programs are not installed: %v: make sdks does that", err)
	}
	s := &stage{sim: simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)})}
	must(t, s.sim.Start(t.Context(), ""))
	t.Cleanup(func() { s.sim.Stop(t.Context()) })
	mail, err := s.sim.StartMail(t.Context(), "")
	must(t, err)
	certificate, ca := authority(t)
	outer := httptest.NewUnstartedServer(s)
	outer.EnableHTTP2 = true
	outer.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	outer.StartTLS()
	t.Cleanup(outer.Close)
	inner := httptest.NewServer(s)
	t.Cleanup(inner.Close)
	files := map[string]string{}
	for _, path := range []string{"/apns/AuthKey.p8", "/fcm/service-account.json"} {
		files[path] = fetch(t, s.sim.URL()+path)
	}
	handed, err := json.Marshal(files)
	must(t, err)
	lead, err := filepath.Abs("testdata/lead.cjs")
	must(t, err)
	at, err := url.Parse(outer.URL)
	must(t, err)

	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	line := func(words ...string) { _, _ = w.Write([]byte(strings.Join(words, "\t") + "\n")) }
	line("program", "played by", "taken", "and ours", "note")
	for _, d := range sdks {
		t.Run(d.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "node", "-r", lead, "-e", prelude+d.script)
			cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(modules, "node_modules"), "NODE_EXTRA_CA_CERTS="+ca, "NODE_NO_WARNINGS=1", "PORT="+at.Port(), "PLAIN="+inner.URL[strings.LastIndex(inner.URL, ":")+1:],
				"MAIL="+mail[strings.LastIndex(mail, ":")+1:], "FILES="+string(handed))
			before := len(s.sim.Arrivals(simulator.Filter{Provider: d.provider}))
			out, err := cmd.CombinedOutput()
			theirs := s.take()
			taken, ours := "yes", "the preset's own form"
			all := s.sim.Arrivals(simulator.Filter{Provider: d.provider})[before:]
			if d.refused != "" {
				taken, ours = "no", "another"
				if len(all) == 0 || !strings.Contains(all[0].Text, d.refused) {
					t.Errorf("it was to be refused for %s; it ends with %v:\n%s\narrived: %+v", d.refused, err, out, all)
				}
				line(d.name, d.provider, taken, ours, d.note)
				return
			}
			if err != nil || len(all) != 1 || all[0].Answer != simulator.Accepted {
				taken = "NO"
				t.Errorf("it ends with %v:\n%s\narrived: %+v", err, out, all)
				if theirs != nil {
					t.Errorf("its call: %s %s %s", theirs.host, theirs.path, theirs.body)
				}
			} else if a := all[0]; d.user != "" && a.User != d.user || a.Title != d.title || a.Text != d.text {
				t.Errorf("arrived: %+v, want %q, %q, %q", a, d.user, d.title, d.text)
			}
			switch {
			case d.driver != "" && theirs != nil:
				ours = s.compare(t, d, inner.URL, files, theirs)
			case d.driver == "" && !strings.HasPrefix(d.provider, "preset-"):
				ours = ""
			}
			line(d.name, d.provider, taken, ours, d.note)
		})
	}
	must(t, w.Flush())
	t.Logf("\n%s", table.String())
}

// compare has our driver send the same, and says how far it is the same.
func (s *stage) compare(t *testing.T, d sdk, base string, files map[string]string, theirs *call) string {
	t.Helper()
	typ, _ := builtin.Lookup(d.driver)
	raw := map[string]any{"url": base + d.below}
	if d.driver == "fcm" {
		raw["token_url"] = base + d.below + "/token"
	}
	for name, value := range d.config {
		if text, is := value.(string); is && strings.HasPrefix(text, "FILE ") {
			value = files[strings.TrimPrefix(text, "FILE ")]
		}
		raw[name] = value
	}
	config, problems := typ.Validate(raw)
	if len(problems) > 0 {
		t.Fatalf("our configuration is refused: %+v", problems)
	}
	driver, err := typ.Open(config, channel.Env{Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}, KeepAnswers: true})
	must(t, err)
	defer driver.(io.Closer).Close()
	id := posthouse.DeliveryID(posthouse.NewID(), 1)
	out := channel.Outgoing{Delivery: id, IdemKey: id, Attempt: 1, Recipient: posthouse.Recipient{User: "u1", Address: d.user}, Content: d.content, TemplateID: d.template}
	if d.payload != "" {
		out.Payload = json.RawMessage(d.payload)
	}
	if r := driver.Send(t.Context(), out); r.Class != posthouse.ClassOK {
		t.Errorf("ours ends with %+v", r)
		return "NO"
	}
	mine, other := s.take().canonical().(map[string]any), theirs.canonical().(map[string]any)
	said := "the same"
	for name, why := range d.apart {
		if mine[name] == nil || other[name] == nil {
			t.Errorf("%s: ours %v, theirs %v", name, mine[name], other[name])
		}
		delete(mine, name)
		delete(other, name)
		said = "the same but " + name + ", " + why
	}
	if diff := cmp.Diff(other, mine); diff != "" {
		t.Errorf("what we send is another (-theirs +ours):\n%s", diff)
		said = "DIFFERS"
	}
	return said
}

func fetch(t *testing.T, from string) string {
	t.Helper()
	res, err := http.Get(from)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	return string(b)
}
