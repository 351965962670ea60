package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/simulator"
)

// words are the demo's texts in one language.
type words struct {
	opened, furnished, sent, progress  string
	head                               []string
	totals, arrivals, printed, repeats string
	campaign                           string
	phones, notSent, lost, fleet       string
	alarm, digest                      string
	via                                map[posthouse.AckVia]string
	fleetHead                          []string // of the account, and of the reason; the times stand between
	try, places, stay                  string
}

var english = words{
	opened:    "server on %s (embedded SQLite), providers played by the simulator on %s\n",
	furnished: "configured %d channels, templates, a directory and a duty roster over HTTP\n",
	sent:      "handed in %d messages; waiting until every delivery is settled\n",
	progress:  "%d of %d deliveries settled",
	head:      []string{"What was sent", "Channel", "Recipient", "State", "Tries", "Why", "Provider's id"},
	totals:    "%d deliveries settled in %.1f s: %s\n",
	campaign:  "a campaign of %d people: %d delivered, %d undelivered (%s)\n",
	arrivals:  "the providers saw %d arrivals, refused %d, and got %d twice\n",
	printed:   "the console channel printed:\n",
	repeats:   "not sent twice:\n",
	phones:    "the fake phones sent:\n",
	notSent:   "not sent",
	lost:      "sent, and the phone did not say so",
	fleet:     "handed in %d messages more, for %d accounts of WeCom: each finds out how fast it may go\n",
	fleetHead: []string{"Calls a second", "Why"},
	alarm:     "an alarm: %s posted it in a group; after %s without an answer the person on duty got a call and a link: %s acknowledged it by %s, %.1f s after it came\n",
	via:       map[posthouse.AckVia]string{posthouse.AckLink: "the link"},
	digest:    "a digest: %d alerts became one post, which was %s\n",
	places:    "Console    %s\nAPI        %s\nDocs       %s\nMetrics    %s\nSimulator  %s\nPhones     %s\nLog        %s\nAPI key    %s\n",
	try:       "Try it:\n",
	stay:      "\nCtrl-C ends the demo.\n",
}

var chinese = words{
	opened:    "服务 %s（内嵌 SQLite），模拟的第三方平台 %s\n",
	furnished: "已通过 HTTP 配置 %d 个渠道、模板、通讯录和值班表\n",
	sent:      "已提交 %d 条消息，等待全部投递有结果\n",
	progress:  "%d / %d 条投递已有结果",
	head:      []string{"发送方式", "渠道", "收件人", "状态", "次数", "原因", "平台编号"},
	totals:    "%d 条投递，用时 %.1f 秒：%s\n",
	campaign:  "一个群发任务 %d 人：送达 %d，未送达 %d（%s）\n",
	arrivals:  "平台共收到 %d 次，拒绝 %d 次，重复 %d 次\n",
	printed:   "控制台渠道打印了：\n",
	repeats:   "没有重复发送：\n",
	phones:    "模拟手机发出的短信：\n",
	notSent:   "未发出",
	lost:      "已发出，手机没有回应",
	fleet:     "再提交 %d 条消息，由企业微信的 %d 个账号发送：每个账号自己摸索可以多快\n",
	fleetHead: []string{"每秒调用", "原因"},
	alarm:     "一条告警：%s 先发到群里，%s 内没人确认，于是给值班人打电话，并发去确认链接；%s 通过%s确认，距告警 %.1f 秒\n",
	via:       map[posthouse.AckVia]string{posthouse.AckLink: "链接"},
	digest:    "一份汇总：%d 条告警合成一条群消息，结果 %s\n",
	places:    "控制台     %s\n接口       %s\n文档       %s\n指标       %s\n模拟器     %s\n模拟手机   %s\n日志       %s\n密钥       %s\n",
	try:       "试一试：\n",
	stay:      "\n按 Ctrl-C 结束演示。\n",
}

// voice says what happens.
type voice struct {
	o     Options
	words words
	drawn bool
	last  string
}

func newVoice(o Options) *voice {
	v := &voice{o: o, words: english}
	if o.Lang == "zh" {
		v.words = chinese
	}
	return v
}

func (v *voice) line(format string, args ...any) {
	if !v.o.JSON {
		fmt.Fprintf(v.o.Out, format, args...)
	}
}

// progress redraws one line on a terminal; elsewhere it says each change on a line of its own.
func (v *voice) progress(done, of int) {
	text := fmt.Sprintf(v.words.progress, done, of)
	if text == v.last {
		return
	}
	v.last = text
	if !v.o.Terminal {
		v.line("  %s\n", text)
		return
	}
	v.drawn = true
	v.line("\r\x1b[K  %s", text)
}

// show prints the report.
func (v *voice) show(r Report, printed string) error {
	if v.o.JSON {
		return printJSON(v.o.Out, r)
	}
	if v.drawn {
		v.line("\r\x1b[K")
	}
	v.line("\n")
	v.line("%s\n", v.table(r.Rows))
	v.line(v.words.totals, len(r.Rows), r.Seconds, v.outcomes(r.Outcomes))
	var why []string
	for _, reason := range r.Campaign.Reasons {
		why = append(why, fmt.Sprintf("%s %d", reason.Code, reason.Members))
	}
	v.line(v.words.campaign, r.Campaign.Members, r.Campaign.Delivered, r.Campaign.Undelivered, strings.Join(why, ", "))
	if n := r.Alarm.Notification; n.Ack != nil {
		v.line(v.words.alarm, "robot", takesNote, n.Ack.By, v.words.via[n.Ack.Via], n.Ack.At.Sub(n.CreatedAt).Seconds())
	}
	if d := r.Digest; d.Outcome != "" {
		v.line(v.words.digest, len(d.Members), d.Outcome)
	}
	v.line(v.words.arrivals, r.Arrivals, r.Refused, r.Duplicates)
	if len(r.Repeats) > 0 {
		v.line("%s", v.words.repeats)
	}
	for _, repeat := range r.Repeats {
		what := repeat.What
		if v.o.Lang == "zh" {
			what = repeat.zh
		}
		v.line("  %s %s\n", what, repeat.Message)
	}
	v.showSMS(r.SMS)
	if len(r.Fleet) > 0 {
		v.line("\n%s\n", v.o.Table(fleetTable(r.Fleet, &v.words)))
	}
	if printed != "" {
		v.line("%s  %s\n", v.words.printed, strings.ReplaceAll(strings.TrimSpace(printed), "\n", "\n  "))
	}
	return nil
}

// showSMS prints what the phones sent, a line each.
func (v *voice) showSMS(list []SMS) {
	if len(list) > 0 {
		v.line("%s", v.words.phones)
	}
	for _, m := range list {
		mark := ""
		switch m.Answer {
		case string(simulator.Refused):
			mark = "  (" + v.words.notSent + ": " + m.Code + ")"
		case string(simulator.Lost):
			mark = "  (" + v.words.lost + ")"
		}
		v.line("  %s → %s  %s%s\n", m.Phone, m.To, config.Printable(linkIn.ReplaceAllString(m.Text, "${1}…")), mark)
	}
}

// The widest texts of the two columns that others write.
const (
	widestWhy = 40
	widestRef = 14
)

func (v *voice) table(rows []Row) string {
	lines := make([][]string, len(rows))
	last := ""
	for i, r := range rows {
		name := r.Scene
		if v.o.Lang == "zh" {
			name = r.zh
		}
		lines[i] = []string{
			name, r.Channel, r.Recipient, v.state(r), strconv.Itoa(r.Attempts),
			text.Snip(config.Printable(r.Why), widestWhy, "…"), text.Snip(config.Printable(r.ProviderRef), widestRef, "…"),
		}
		if name == last { // said once for all recipients
			lines[i][0] = ""
		}
		last = name
	}
	return v.o.Table(v.words.head, lines)
}

// state is a row's state, coloured by how it ended.
func (v *voice) state(r Row) string {
	if !v.o.Terminal {
		return string(r.State)
	}
	colour := text.FgYellow
	switch r.State {
	case posthouse.Sent, posthouse.Delivered:
		colour = text.FgGreen
	case posthouse.Failed, posthouse.Undelivered:
		colour = text.FgRed
	case posthouse.Suppressed, posthouse.Cancelled, posthouse.Expired:
		colour = text.FgHiBlack
	}
	return colour.Sprint(string(r.State))
}

// outcomes reads: sent 12, sent after a retry 4, failed 3.
func (v *voice) outcomes(counts map[string]int) string {
	order := []string{string(posthouse.Sent), outcomeRetried}
	for _, s := range posthouse.States() {
		if !slices.Contains(order, string(s)) {
			order = append(order, string(s))
		}
	}
	var out []string
	for _, o := range order {
		name := o
		if o == outcomeRetried {
			name = "sent after a retry"
			if v.o.Lang == "zh" {
				name = "sent（重试后）"
			}
		}
		if n := counts[o]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", name, n))
		}
	}
	return strings.Join(out, ", ")
}

// stay says where to go on.
func (v *voice) stay(p Places) {
	if v.o.JSON {
		return
	}
	v.line("\n")
	v.line(v.words.places, p.Console, p.API, p.Docs, p.Metrics, p.Simulator, p.Phones, p.Log, p.Key)
	v.line("\n%s", v.words.try)
	v.line("  export POSTHOUSE_URL=%s POSTHOUSE_API_KEY=%s\n", p.API, p.Key)
	v.line(`  curl -sS $POSTHOUSE_URL/v1/messages -H "Authorization: Bearer $POSTHOUSE_API_KEY" -H 'Content-Type: application/json' \` + "\n")
	v.line(`    -d '{"channel": "tianyuan", "to": [{"user": "li.na"}], "content": {"text": "你好"}}'` + "\n")
	v.line("  curl -sS -u %s:%s $POSTHOUSE_URL/api/v1/sms/send -H 'Content-Type: application/json' \\\n", p.SMSUser, p.SMSPassword)
	v.line(`    -d '{"phone_number": "13800138000", "content": "你好"}'` + "\n")
	v.line("  %[1]s status\n  %[1]s send --channel oa --to busy-twice --text hello --wait\n", v.o.Command)
	v.line("%s", v.words.stay)
}
