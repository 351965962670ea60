// Package removal is the console's forms that delete a thing, or end it for good: each stands on the page of that thing, and is sent with its
// name typed, or with a tick where all that tells it apart is an id, which nobody reads.
package removal

import (
	"context"
	"embed"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/console/words"
	"github.com/posthouse/posthouse/internal/web"
)

// Done is what a page says once something was deleted.
const Done = "removed_said"

// kind is a kind of things that people delete.
type kind struct {
	of     string // remove_OF says what follows
	page   string // the pattern of their pages, with the form's address below it; the last wildcard is the name
	do     string // the word of the button, and the end of the form's address
	action string
	scope  posthouse.Scope
	whole  bool
	byID   bool // it has no name that people give
	delete func(v *host.Visit, ctx context.Context, name string) error
	// to is the page that is shown then, and said what it says.
	to, said string
}

func kinds() []kind {
	del := func(of, action string, remove func(*client.Client, context.Context, string) error) kind {
		return kind{
			of: of, page: of + "/{name}", do: "delete", action: action, scope: posthouse.ScopeAdmin, to: of, said: Done,
			delete: func(v *host.Visit, ctx context.Context, name string) error { return remove(v.API, ctx, name) },
		}
	}
	campaigns := del("campaigns", "campaigns.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Campaigns.Delete(ctx, name) })
	campaigns.scope = posthouse.ScopeSend
	keys := del("keys", "keys.delete", func(c *client.Client, ctx context.Context, id string) error { return c.Keys.Revoke(ctx, id) })
	keys.do, keys.whole, keys.byID, keys.said = "revoke", true, true, "key_revoked_said"
	reminders := del("reminders", "reminders.end", func(c *client.Client, ctx context.Context, id string) error {
		_, err := c.Reminders.End(ctx, id)
		return err
	})
	reminders.do, reminders.scope, reminders.byID, reminders.to, reminders.said = "end", posthouse.ScopeSend, true, "reminders/{name}", "ended_said"
	subscriptions := del("subscriptions", "subscriptions.delete", func(c *client.Client, ctx context.Context, id string) error { return c.Subscriptions.Delete(ctx, id) })
	subscriptions.byID = true
	accounts := del("accounts", "accounts.delete", nil)
	accounts.page, accounts.to = "channels/{name}/accounts/{account}", "channels/{name}"
	accounts.delete = func(v *host.Visit, ctx context.Context, name string) error {
		return v.API.Accounts.Delete(ctx, v.R.PathValue("name"), name)
	}
	return []kind{
		del("channels", "channels.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Channels.Delete(ctx, name) }),
		del("templates", "templates.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Templates.Delete(ctx, name) }),
		del("phones", "agents.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Agents.Delete(ctx, name) }),
		del("rosters", "rosters.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Rosters.Delete(ctx, name) }),
		del("directory", "users.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Users.Delete(ctx, name) }),
		del("digests", "digests.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Digests.Delete(ctx, name) }),
		del("routes", "routes.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Routes.Delete(ctx, name) }),
		del("fronts", "fronts.delete", func(c *client.Client, ctx context.Context, name string) error { return c.Fronts.Delete(ctx, name) }),
		campaigns, keys, reminders, subscriptions, accounts,
	}
}

func (k kind) use() web.Use { return web.Use{Scope: k.scope, Action: k.action, Whole: k.whole} }

// Pages are the forms.
func Pages() host.Pages {
	p := host.Pages{Files: embed.FS{}, Words: texts()} // the form stands on other pages: a part of the console
	for _, k := range kinds() {
		p.Routes = append(p.Routes, host.Route{Method: http.MethodPost, Path: k.page + "/" + k.do, Use: k.use(), Serve: k.remove})
	}
	return p
}

// Form is the form that stands on the page of a thing.
type Form struct {
	Of, Do, Name, Link string
	// ByID says that a tick is asked for: the name is an id.
	ByID bool
	// Uses are what names the thing, and will not find it any more.
	Uses []Named
}

// Named is something with a page of its own. Word is what it is.
type Named struct{ Word, Name, Link string }

// FormOf is the form that deletes a thing, and what a role must reach for that. Names fill the wildcards of its page, and at is the address
// of such a page of the tenant.
func FormOf(at func(parts ...string) string, of string, names ...string) (form Form, use web.Use, ok bool) {
	for _, k := range kinds() {
		if k.of != of {
			continue
		}
		next := 0
		link := at(parts(k.page+"/"+k.do, func(string) string { next++; return names[next-1] })...)
		return Form{Of: of, Do: k.do, Name: names[len(names)-1], Link: link, ByID: k.byID}, k.use(), true
	}
	return form, use, false
}

// parts are those of an address by its pattern.
func parts(pattern string, of func(wildcard string) string) []string {
	list := strings.Split(pattern, "/")
	for i, part := range list {
		if name, is := strings.CutPrefix(part, "{"); is {
			list[i] = of(strings.TrimSuffix(name, "}"))
		}
	}
	return list
}

func (k kind) remove(v *host.Visit) error {
	at := parts(k.page, v.R.PathValue)
	name := at[len(at)-1]
	switch {
	case k.byID && v.Form("sure") == "":
		return posthouse.Invalid("nothing was deleted", []posthouse.Problem{{Path: "sure", Message: v.Say("remove_unsure")}})
	case !k.byID && v.Form("typed") != name:
		return posthouse.Invalid("nothing was deleted", []posthouse.Problem{{Path: "typed", Message: v.Say("typed_wrong")}})
	}
	if err := k.delete(v, v.Noted(), name); err != nil {
		return err
	}
	return v.GoTo(v.At(parts(k.to, v.R.PathValue)...) + "?said=" + k.said)
}

func texts() map[string]words.Word {
	return map[string]words.Word{
		Done:                   {"It is deleted.", "已删除。"},
		"remove_delete":        {"Delete", "删除"},
		"remove_revoke":        {"Revoke", "吊销"},
		"remove_end":           {"End it", "结束提醒"},
		"remove_sure":          {"I am sure", "确认执行"},
		"remove_unsure":        {"tick that you are sure", "请勾选确认"},
		"remove_uses":          {"It is named by:", "引用它的有："},
		"remove_channels":      {"What was sent by it stays to be looked up. Routes, fronts, digests and reminders that name it find it no more. A channel with open deliveries or a campaign that has begun is not deleted: pause it and cancel them first.", "发送记录仍可查询。引用它的路由、接入端、汇总和提醒将找不到此渠道。还有未结束的投递或群发任务时不能删除：请先暂停并取消。"},
		"remove_templates":     {"All its versions are deleted. Messages that were handed in keep their text. A template that something sends by is not deleted.", "所有版本一并删除；已受理的消息内容不变。正在被使用的模板不能删除。"},
		"remove_phones":        {"Its keys are revoked at once. A phone that holds tasks is not deleted: drain it first.", "密钥立即吊销。仍持有任务的手机不能删除：请先停止领取并等任务做完。"},
		"remove_rosters":       {"Rules and routes that name it find nobody any more.", "引用此值班表的规则和路由将找不到值班人。"},
		"remove_directory":     {"Messages to this user find no address any more, also where a roster, a route or a manager names this user. What was sent stays to be looked up.", "之后发给此用户的消息将没有地址，包括值班表、路由中排到此用户，或作为他人上级的情况。发送记录仍可查询。"},
		"remove_digests":       {"What it has gathered leaves all the same. New messages that name it are refused.", "已收集的照常发出；之后写了它的消息会被拒绝。"},
		"remove_routes":        {"Messages that name it are refused from then on. Notifications that follow it go on.", "之后指定该路由的消息会被拒绝；正在进行的通知照常继续。"},
		"remove_fronts":        {"Who calls it is refused within seconds; what came last is deleted with it.", "几秒之内来自发送方的请求会被拒绝，最近的记录也一并删除。"},
		"remove_subscriptions": {"It is told nothing more, and its secret is forgotten.", "不再推送，签名密钥一并清除。"},
		"remove_keys":          {"What uses it is refused at once, with 401: look above when it was last used.", "使用它的程序会立即被拒绝（401）。最近使用时间见上方。"},
		"remove_reminders":     {"Nothing more comes of it, and what has not started of its last message is cancelled.", "之后不再提醒，最近一条消息中尚未发送的也会撤销。"},
		"remove_accounts":      {"It sends nothing any more, and its secret is forgotten. What is pinned to it waits until there is an account of its name again, or fails over where the channel does so.", "删除后不再发送，密钥一并清除。指定该账号的消息会一直等待，直到重新建立同名账号；渠道设了故障转移的会转给其他账号。"},
		"remove_campaigns":     {"Its members and what became of them are deleted too. One that runs is not deleted: cancel it first.", "成员名单和发送结果一并删除。正在进行的不能删除：请先取消。"},
	}
}
