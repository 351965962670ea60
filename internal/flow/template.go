package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// text is what a kind says by default, whatever the channel.
type text struct{ kind, title, body string }

// texts are the six of the document (section 5.1) in our own words, with its placeholders, in the order of
// their numbers. Titles are short: DingTalk's gateway cuts them at 20 characters. A remainMin of a node
// without a time limit is a word, so it stands behind its unit.
func texts() []text {
	return []text{
		{KindTaskCreated, "新任务：${taskName}", "【星地协同平台】${creatorName}于${createTime}发起了任务“${taskName}”，其中有需要您办理的环节，请留意后续待办。"},
		{KindNodeDone, "待您办理：${taskName}", "【星地协同平台】您好，任务“${taskName}”已流转到“${nextNodeName}”环节，请您登录系统及时办理。剩余办理时间（分钟）：${remainMin}。"},
		{KindOrbitRemind, "进站提醒：${taskName}", "【星地协同平台】您好，任务“${taskName}”的执行卫星将在${remainMin}分钟后进站，请提前做好准备。"},
		{KindTaskFinished, "任务完成：${taskName}", "【星地协同平台】您好，任务“${taskName}”已执行完成，详情请登录系统查看。"},
		{KindTaskAbnormal, "任务异常：${taskName}", "【星地协同平台】您好，任务“${taskName}”未能正常完成，已异常结束，详情请登录系统查看。"},
		{KindNodeTimeout, "办理超时：${taskName}", "【星地协同平台】您好，您参与的任务“${taskName}”的“${nodeName}”环节已超时${overtime}分钟，请尽快登录系统办理。"},
	}
}

// DefaultTemplates are the templates of all kinds on all numbered channels, with the ids that the document
// has for DingTalk's (section 5.3): SE1001 to SE1006.
func DefaultTemplates() []posthouse.Template {
	var list []posthouse.Template
	for n, t := range texts() {
		for _, channel := range Channels() {
			list = append(list, posthouse.Template{Name: TemplateName(t.kind, channel), Title: t.title, Text: t.body, ExternalID: fmt.Sprintf("SE%d", 1001+n)})
		}
	}
	return list
}

// TemplateStore keeps templates.
type TemplateStore interface {
	// Template reads a version, the latest for 0; an error of code not_found says that there is none.
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	PutTemplate(ctx context.Context, now time.Time, t posthouse.Template) (posthouse.Template, error)
}

// InstallTemplates stores the default templates whose names have none. One that somebody has changed stays
// as it is.
func InstallTemplates(ctx context.Context, store TemplateStore, tenant string) (wire.InstalledTemplates, error) {
	out := wire.InstalledTemplates{Installed: []string{}, Kept: []string{}}
	for _, t := range DefaultTemplates() {
		switch _, err := store.Template(ctx, tenant, t.Name, 0); {
		case err == nil:
			out.Kept = append(out.Kept, t.Name)
			continue
		case posthouse.CodeOf(err) != posthouse.CodeNotFound:
			return out, err
		}
		t.Tenant = tenant
		if _, err := store.PutTemplate(ctx, time.Now(), t); err != nil {
			return out, err
		}
		out.Installed = append(out.Installed, t.Name)
	}
	return out, nil
}
