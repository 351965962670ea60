package console

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// practice is the channel that the guide makes to the simulated providers.
const practice = "practice"

// guide is what the page of the first steps shows.
type guide struct {
	Simulator string            // where it is, as far as anybody has said
	Practice  posthouse.Channel // without a name before it is made
	Reached   *wire.ChannelTested
	Told      []posthouse.Delivery // over it, the newest first
	To, Text  string
	Once      string // the Idempotency-Key: a double click sends once
	Problems  []posthouse.Problem
}

// usualSimulator is where "posthouse simulate" is, unless it is told otherwise.
const usualSimulator = "http://127.0.0.1:8090"

func showGuide(v *visit) error {
	g := guide{Simulator: cmp.Or(v.o.Sandbox, usualSimulator)}
	return g.draw(v, http.StatusOK)
}

// draw reads how far the steps are, and shows them.
func (g *guide) draw(v *visit, status int) error {
	ch, err := v.call().Channels.Get(v.ctx(), practice)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return err
	}
	g.Practice, g.Once = ch, posthouse.NewID()
	g.To, g.Text = cmp.Or(g.To, "zhang.san"), cmp.Or(g.Text, say("guide_text", v.zh))
	if ch.Name != "" {
		page, err := v.call().Deliveries.List(v.ctx(), client.Filter{Channel: practice, Limit: 1})
		if err != nil {
			return err
		}
		g.Told = page.Items
	}
	return v.draw(status, "guide", "guide", g)
}

// takeStep does what a form of the guide asks.
func takeStep(v *visit) error {
	g := guide{Simulator: strings.TrimSuffix(v.form("simulator"), "/"), To: v.form("to"), Text: v.form("text")}
	var err error
	if v.form("step") == "send" {
		err = g.send(v)
	} else {
		err = g.connect(v)
	}
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
		return err
	}
	if g.Problems = coded.Problems; len(g.Problems) == 0 {
		g.Problems = problemAt("simulator", coded.Message)
	}
	g.Simulator = cmp.Or(g.Simulator, v.o.Sandbox, usualSimulator)
	return g.draw(v, http.StatusUnprocessableEntity)
}

// connect makes the channel, and shows whether it reaches the simulated provider. Whoever has one of that name keeps it.
func (g *guide) connect(v *visit) error {
	_, err := v.call().Channels.Get(v.ctx(), practice)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		_, _, err = v.call().Channels.Put(v.ctx(), posthouse.Channel{Name: practice, Driver: "httpapi", Config: map[string]any{
			"url": g.Simulator + "/generic/" + practice, "body": `{"to": "${user}", "title": "${title}", "text": "${text}"}`, "id_path": "$.id",
		}})
	}
	if err != nil {
		return err
	}
	got, err := v.call().Channels.Test(v.ctx(), practice, wire.ChannelTest{To: posthouse.Recipient{User: "guide"}})
	if err != nil {
		return err
	}
	g.Reached = &got
	return g.draw(v, http.StatusOK)
}

// send hands the first message in, and leads to what becomes of it.
func (g *guide) send(v *visit) error {
	sent, err := v.call().Messages.SendOnce(v.ctx(), v.form("once"), posthouse.Draft{
		Channel: practice, To: []posthouse.Recipient{{User: g.To}}, Content: &posthouse.Content{Text: g.Text},
	})
	if err != nil {
		return err
	}
	return v.goTo(v.at("messages", sent.Accepted[0].ID) + "?said=handed_in")
}

// guideWords are the texts of the page of the first steps.
func guideWords() map[string]word {
	return map[string]word{
		"guide":           {"First steps", "快速上手"},
		"guide_lead":      {"Three steps to a first message. It goes to simulated providers, so nobody is disturbed.", "三步发出第一条消息。消息发给模拟平台，不会打扰任何人。"},
		"guide_one":       {"1. Start the simulated providers", "1. 启动模拟平台"},
		"guide_one_help":  {"In a second terminal. Posthouse itself must be allowed to reach this machine:", "另开一个终端运行，并允许 Posthouse 访问本机："},
		"guide_one_done":  {"They run already, and show what arrives:", "已在运行，可在这里看到收到的消息："},
		"guide_two":       {"2. Make a channel to them", "2. 建一个指向它的渠道"},
		"guide_simulator": {"Address of the simulator", "模拟器地址"},
		"guide_make":      {"Make the channel", "建渠道"},
		"guide_two_done":  {"The channel is there:", "渠道已建好："},
		"guide_again":     {"Ask again whether it is reached", "再测一次能否连通"},
		"guide_reached":   {"The channel reaches the simulator.", "渠道可以连通模拟器。"},
		"guide_missed":    {"The channel does not reach the simulator:", "渠道连不上模拟器："},
		"guide_three":     {"3. Send a message, and see who got it", "3. 发一条消息，看看谁收到了"},
		"guide_to":        {"To whom (any name will do)", "收件人（随便写一个）"},
		"guide_text":      {"Hello from Posthouse", "你好，这是来自驿站的第一条消息"},
		"guide_send":      {"Send it", "发送"},
		"guide_sent":      {"It is sent. This is what became of the latest one:", "已发送。最近一条的情况："},
		"guide_real":      {"The same for a real provider", "接入真实平台"},
		"guide_real_1":    {"Choose the provider, and fill in what it gave you: address, account, secret.", "选择平台，填写平台给你的地址、账号和密钥。"},
		"guide_real_2":    {"On the page of the new channel press “Test” with your own address: you see what was sent and what the provider answered.", "在新渠道页面点“测试”，填自己的地址：会显示发出的内容和平台的应答。"},
		"guide_real_3":    {"Send to one person by form, and look at the delivery. Then make a key for your programs:", "用表单发给一个人，查看这条投递。然后为程序创建密钥："},
		"guide_begin":     {"Begin: three steps to a first message", "开始：三步发出第一条消息"},
	}
}
