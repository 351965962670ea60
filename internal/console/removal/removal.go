// Package removal is the console's forms that delete a thing: each stands on the page of that thing, and is sent with its name typed.
package removal

import (
	"context"
	"embed"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/console/words"
	"github.com/posthouse/posthouse/internal/web"
)

// Done is what the list says once something of it was deleted.
const Done = "removed_said"

// kind is a kind of things that people delete.
type kind struct {
	list   string // their page, below which each has its own
	action string
	scope  posthouse.Scope
	delete func(*client.Client, context.Context, string) error
}

func kinds() []kind {
	return []kind{
		{"channels", "channels.delete", posthouse.ScopeAdmin, func(c *client.Client, ctx context.Context, name string) error { return c.Channels.Delete(ctx, name) }},
		{"templates", "templates.delete", posthouse.ScopeAdmin, func(c *client.Client, ctx context.Context, name string) error { return c.Templates.Delete(ctx, name) }},
		{"phones", "agents.delete", posthouse.ScopeAdmin, func(c *client.Client, ctx context.Context, name string) error { return c.Agents.Delete(ctx, name) }},
		{"rosters", "rosters.delete", posthouse.ScopeAdmin, func(c *client.Client, ctx context.Context, name string) error { return c.Rosters.Delete(ctx, name) }},
		{"directory", "users.delete", posthouse.ScopeAdmin, func(c *client.Client, ctx context.Context, name string) error { return c.Users.Delete(ctx, name) }},
		{"campaigns", "campaigns.delete", posthouse.ScopeSend, func(c *client.Client, ctx context.Context, name string) error { return c.Campaigns.Delete(ctx, name) }},
	}
}

// Pages are the forms.
func Pages() host.Pages {
	p := host.Pages{Files: embed.FS{}, Words: texts()} // the form stands on other pages: a part of the console
	for _, k := range kinds() {
		p.Routes = append(p.Routes, host.Route{Method: http.MethodPost, Path: k.list + "/{name}/delete", Use: web.Use{Scope: k.scope, Action: k.action}, Serve: k.remove})
	}
	return p
}

// Form is the form that stands on the page of a thing.
type Form struct {
	List, Name string
	// Uses are what names the thing, and will not find it any more.
	Uses []Named
}

// Named is something with a page of its own. Word is what it is.
type Named struct{ Word, Name, Link string }

// Use is what a role must reach to delete something of a list.
func Use(list string) (use web.Use, ok bool) {
	for _, k := range kinds() {
		if k.list == list {
			return web.Use{Scope: k.scope, Action: k.action}, true
		}
	}
	return use, false
}

func (k kind) remove(v *host.Visit) error {
	name := v.R.PathValue("name")
	if v.Form("typed") != name {
		return posthouse.Invalid("nothing was deleted", []posthouse.Problem{{Path: "typed", Message: v.Say("typed_wrong")}})
	}
	if err := k.delete(v.API, v.Noted(), name); err != nil {
		return err
	}
	return v.GoTo(v.At(k.list) + "?said=" + Done)
}

func texts() map[string]words.Word {
	return map[string]words.Word{
		Done:               {"It is deleted.", "已删除。"},
		"remove":           {"Delete", "删除"},
		"remove_uses":      {"It is named by:", "引用它的有："},
		"remove_channels":  {"What was sent by it stays to be looked up. Routes, fronts, digests and reminders that name it find it no more. A channel with open deliveries or a campaign that has begun is not deleted: pause it and cancel them first.", "发送记录仍可查询。引用它的路由、接入端、汇总和提醒将找不到此渠道。还有未结束的投递或群发任务时不能删除：请先暂停并取消。"},
		"remove_templates": {"All its versions are deleted. Messages that were handed in keep their text. A template that something sends by is not deleted.", "所有版本一并删除；已受理的消息内容不变。正在被使用的模板不能删除。"},
		"remove_phones":    {"Its keys are revoked at once. A phone that holds tasks is not deleted: drain it first.", "密钥立即吊销。仍持有任务的手机不能删除：请先停止领取并等任务做完。"},
		"remove_rosters":   {"Rules and routes that name it find nobody any more.", "引用此值班表的规则和路由将找不到值班人。"},
		"remove_directory": {"Messages to this user find no address any more, also where a roster, a route or a manager names this user. What was sent stays to be looked up.", "之后发给此用户的消息将没有地址，包括值班表、路由中排到此用户，或作为他人上级的情况。发送记录仍可查询。"},
		"remove_campaigns": {"Its members and what became of them are deleted too. One that runs is not deleted: cancel it first.", "成员名单和发送结果一并删除。正在进行的不能删除：请先取消。"},
	}
}
