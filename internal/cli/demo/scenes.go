package demo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// stage is what scenes act on.
type stage struct {
	client  *client.Client
	api     string     // the server's URL
	door    server.SMS // the login of its SMS front door
	sent    []sent
	claimed int // how many of sent have their scene
	repeats []Repeat
}

// sent is one message that was accepted, and the scene it belongs to.
type sent struct {
	message string
	scene   *scene
}

// Repeat is a send that made no second message.
type Repeat struct {
	What    string `json:"what"`
	Message string `json:"message"`
	zh      string
}

// scene is one way to send. Its two names stand in the table.
type scene struct {
	en, zh string
	play   func(context.Context, *stage) error
}

// scenes are every way to send that there is, and every way it can end. The recipients with
// speaking names are the simulator's (package simulator, "Magic recipients").
var scenes = []*scene{
	{"one message", "单条消息", post(draft("tianyuan", "li.na"))},
	{"list: high, normal, low", "批量：高、中、低优先级", post(
		withPriority(posthouse.High, draft("oa", "wang.fang")), draft("oa", "zhang.wei"), withPriority(posthouse.Low, draft("oa", "liu.yang")))},
	{"three people, one call", "多个收件人，一次调用", post(draft("zhaohu", "zhao.min", "sun.li", "fail-recipient"))},
	{"template and payload", "模板 + 业务数据", playTemplate},
	{"scheduled in 1 s", "定时：1 秒后", playScheduled},
	{"signed webhook", "签名的 Webhook", post(draft("callback", "order-system"))},
	{"printed", "打印到控制台", post(draft("console", "ops"))},
	{"provider busy twice", "平台先忙两次", post(draft("tianyuan", "busy-twice"))},
	{"too fast for provider", "平台说发得太快", post(draft("oa", "too-fast"))},
	{"cut before it was sent", "连接断开，未发出", post(draft("zhaohu", "cut-before"))},
	{"answer lost, key known", "应答丢失，平台认幂等键", post(draft("callback", "lost-answer"))},
	{"answer lost, no key", "应答丢失，平台不认幂等键", post(draft("gateway", "lost-answer"))},
	{"provider always busy", "平台一直忙", post(draft("zhaohu", "always-busy"))},
	{"content refused", "内容被拒绝", post(draft("tianyuan", "refuse-content"))},
	{"deadline while retrying", "重试期间过期", playDeadline},
	{"deadline while paused", "渠道暂停期间过期", playPaused},
	{"cancelled in time", "及时撤销", playCancel},
	{"notice to a branch", "分行通知", notice("branch.001", "branch", "tianyuan")},
	{"notice, on duty", "总行通知，今天值班", notice(onDuty, "总行", "招呼")},
	{"notice, not on duty", "总行通知，今天不值班", notice("yang.bo", "总行", "天元")},
	{"task created", "工作流：任务创建", playTask(workflow.Event{Type: workflow.TaskCreated, Created: demoTask()})},
	{"step done: the next two", "工作流：节点完成，并行后继", playTask(workflow.Event{Type: workflow.NodeDone, Node: "confirm"})},
	{"task finished: everyone", "工作流：任务完成，通知全体", playTask(workflow.Event{Type: workflow.TaskFinished})},
	{"group robot", "钉钉群机器人", post(draft("robot", "ops-group"))},
	{"mail", "邮件", post(addressed(draft("mail"), "li.na@example.org"))},
	{"Feishu card", "飞书卡片", post(card(addressed(draft("feishu"), "ou_7d8a6e6d")))},
	{"SMS by a cloud, receipt", "云短信，状态报告", post(withPayload(addressed(draft(cloudChannel), "13800138006", "13900000021"), `{"time": "18:00"}`))},
	{"SMS, fetched by a phone", "短信：手机拉取发送", sms(nil, "13800138000", "+86 138-0013-8001")},
	{"SMS, network busy twice", "短信：网络先忙两次", sms(nil, "13900000003")},
	{"SMS, no such number", "短信：空号", sms(nil, "13900000001")},
	{"SMS, phone gives no answer", "短信：手机没有回应", sms(nil, "13900000009")},
	{"one-time password, sealed", "验证码：加密保存", sms(password, "13800138003")},
	{"SMS by the front door", "短信接口：模板", playDoor},
	{"same dedup_key", "去重键重复", playDedup},
	{"same Idempotency-Key", "幂等键重复", playRepeat},
}

func draft(channel string, users ...string) posthouse.Draft {
	d := posthouse.Draft{
		Channel: channel, Kind: "demo", Source: "posthouse demo",
		Content: &posthouse.Content{Title: "值班提醒", Text: "今晚 18:00 起请值班。Your shift starts at 18:00."},
	}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	return d
}

func addressed(d posthouse.Draft, addresses ...string) posthouse.Draft {
	for _, a := range addresses {
		d.To = append(d.To, posthouse.Recipient{Address: a})
	}
	return d
}

// card makes a content a card with a button.
func card(d posthouse.Draft) posthouse.Draft {
	d.Content.Type, d.Content.Extra = posthouse.CardContent, json.RawMessage(`{"url": "https://duty.example.com/tonight", "button": "查看排班"}`)
	return d
}

func withPayload(d posthouse.Draft, payload string) posthouse.Draft {
	d.Payload = json.RawMessage(payload)
	return d
}

func withPriority(p posthouse.Priority, d posthouse.Draft) posthouse.Draft {
	d.Priority = p
	return d
}

// post sends drafts in one request.
func post(drafts ...posthouse.Draft) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		_, err := s.post(ctx, drafts...)
		return err
	}
}

func (s *stage) post(ctx context.Context, drafts ...posthouse.Draft) (client.Sent, error) {
	out, err := s.client.Messages.Send(ctx, drafts...)
	for _, a := range out.Accepted {
		s.sent = append(s.sent, sent{message: a.ID})
	}
	return out, err
}

// notice sends through the duty-gated front door (DUTY-1).
func notice(user, userType, platform string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		out, err := s.client.Notices.Send(ctx, wire.NewNotice{
			UserID: user, UserType: userType, Platform: platform, Content: "机房巡检提醒：请确认今日值班安排。",
		})
		if err == nil {
			s.sent = append(s.sent, sent{message: posthouse.MessageID(out.ID)})
		}
		return err
	}
}

func playTemplate(ctx context.Context, s *stage) error {
	d := draft("tianyuan", "wu.gang")
	d.Content, d.Template = nil, "leave"
	d.Payload = json.RawMessage(`{"name": "李娜", "days": 3, "from": "2026-10-09"}`)
	_, err := s.post(ctx, d)
	return err
}

func playScheduled(ctx context.Context, s *stage) error {
	d := draft("oa", "xu.hui")
	d.NotBefore = time.Now().Add(time.Second)
	_, err := s.post(ctx, d)
	return err
}

// shortly is a deadline that passes in sight, and not before the message was accepted, on a slow
// machine either.
const shortly = 2 * time.Second

// playDeadline ends while the second try waits.
func playDeadline(ctx context.Context, s *stage) error {
	d := draft("gateway", "always-busy")
	d.Deadline = time.Now().Add(shortly)
	_, err := s.post(ctx, d)
	return err
}

func playPaused(ctx context.Context, s *stage) error {
	d := draft("closed", "he.tao")
	d.Deadline = time.Now().Add(shortly)
	_, err := s.post(ctx, d)
	return err
}

func playCancel(ctx context.Context, s *stage) error {
	d := draft("oa", "gao.yu")
	d.NotBefore = time.Now().Add(time.Hour)
	out, err := s.post(ctx, d)
	if err != nil {
		return err
	}
	_, err = s.client.Messages.Cancel(ctx, out.Accepted[0].ID)
	return err
}

// demoTask has a step that two others follow. Who handles them is a matter of the directory's roles.
func demoTask() *workflow.Task {
	return &workflow.Task{
		Name: "应急成像", Creator: "zhang.san", CreatorName: "张三", Channels: []string{"dingtalk"},
		Nodes: []workflow.Node{
			{ID: "confirm", Name: "资源确认", Roles: []string{"planner"}, Next: []string{"prepare", "review"}},
			{ID: "prepare", Name: "数据准备", Roles: []string{"operator"}},
			{ID: "review", Name: "质量复核", Roles: []string{"reviewer"}},
		},
	}
}

// playTask reports an event of the demo's task: who is told follows from what is known of it.
func playTask(e workflow.Event) func(context.Context, *stage) error {
	e.Task = "T2026-0001"
	return func(ctx context.Context, s *stage) error {
		outcomes, err := s.client.Tasks.Tell(ctx, e)
		if err != nil {
			return err
		}
		for _, told := range outcomes[0].Told {
			for _, id := range told.Messages {
				s.sent = append(s.sent, sent{message: id})
			}
		}
		return nil
	}
}

// playDedup hands in the same dedup_key twice: there is one message.
func playDedup(ctx context.Context, s *stage) error {
	d := draft("oa", "ma.chao")
	d.DedupKey = "shift-" + posthouse.NewID()
	first, err := s.post(ctx, d)
	if err != nil {
		return err
	}
	second, err := s.client.Messages.Send(ctx, d)
	if err != nil {
		return err
	}
	if second.Accepted[0].DuplicateOf == first.Accepted[0].ID {
		s.repeats = append(s.repeats, Repeat{"the same dedup_key again: duplicate_of", first.Accepted[0].ID, "再次提交同一去重键：duplicate_of"})
	}
	return nil
}

// playRepeat makes the same request twice: the second is answered with the first answer.
func playRepeat(ctx context.Context, s *stage) error {
	d, key := draft("oa", "lin.feng"), posthouse.NewID()
	first, err := s.client.Messages.SendOnce(ctx, key, d)
	if err != nil {
		return err
	}
	s.sent = append(s.sent, sent{message: first.Accepted[0].ID})
	second, err := s.client.Messages.SendOnce(ctx, key, d)
	if err != nil {
		return err
	}
	if second.Replayed && second.Accepted[0].ID == first.Accepted[0].ID {
		s.repeats = append(s.repeats, Repeat{"the same Idempotency-Key again: the first answer again", first.Accepted[0].ID, "再次提交同一幂等键：返回第一次的应答"})
	}
	return nil
}
