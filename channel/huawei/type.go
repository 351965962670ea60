package huawei

import (
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/push"
)

const (
	usualURL = "https://push-api.cloud.huawei.com"
	// mostTokens is how many devices one call reaches, and most how many bytes a notification has: the same pages.
	mostTokens  = 1000
	usualTokens = 100
	most        = 4096
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name: "huawei", Title: "Huawei push (v3)", TitleZH: "华为推送 v3",
		Doc:       "Pushes notifications to HarmonyOS and Android devices by Huawei's Push Kit, signed by a service account.",
		DocZH:     "通过华为 Push Kit v3 接口（服务账号签名）向鸿蒙与安卓设备推送通知。",
		Fields:    fields(),
		MaxBatch:  mostTokens,
		BatchSize: func(c channel.Config) int { return c.Int("batch") },
		Shares:    func(c posthouse.Content, _ string) bool { return true },
		Timeout:   10 * time.Second,
		// Ours: what a project may send depends on its daily active devices, and Huawei answers a call beyond it with a code.
		AccountLimits: []posthouse.Limit{{Max: 500, Per: posthouse.Duration(time.Second)}},
		Check:         check,
		Addresses:     channel.AddressDevice,
		Address:       push.DeviceToken,
		Content:       content,
		Open:          open,
	}
}

func fields() []channel.Field {
	return []channel.Field{{
		Name: "service_account", Kind: channel.KindSecret, Required: true, Account: true, Label: "Service account", LabelZH: "服务账号密钥文件",
		Help:   "The whole JSON file of a service account of the project, from Huawei's API Console.",
		HelpZH: "在华为开发者联盟 API Console 为项目创建服务账号时下载的 JSON 文件全文。",
	}, {
		Name: "category", Kind: channel.KindString, Default: "MARKETING", Label: "Category", LabelZH: "消息分类",
		Help: "Such as IM, WORK, ACCOUNT or MARKETING. All but MARKETING need a right that Huawei gives on application.", HelpZH: "如 IM、WORK、ACCOUNT、MARKETING；除 MARKETING 外须向华为申请自分类权益。",
	}, {
		Name: "test", Kind: channel.KindBool, Label: "Test messages", LabelZH: "测试消息",
		Help: "For an app that is not released: 1,000 a day for the project.", HelpZH: "未上架应用使用，每个项目每天 1000 条。",
	}, {
		Name: "ttl", Kind: channel.KindDuration, Default: 24 * time.Hour, Label: "Kept for", LabelZH: "离线保留时长",
	}, {
		Name: "batch", Kind: channel.KindInt, Default: usualTokens, Min: 1, Max: mostTokens, Label: "Devices in one call", LabelZH: "每次调用的设备数",
		Help: "Of messages that say the same.", HelpZH: "内容相同的消息合并调用。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: usualURL, Label: "URL", LabelZH: "接口地址",
		Help: "For a proxy.", HelpZH: "使用代理时修改。",
	}}
}

const longestTTL = 15 * 24 * time.Hour

func check(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	account, err := push.ReadAccount(c.String("service_account"))
	if err == nil {
		_, err = push.NewKey(account.HuaweiKeyID, push.PS256, account.Key)
	}
	switch {
	case err != nil:
		add("service_account", "%s", err)
	case account.SubAccount == "" || account.Project == "" || account.HuaweiKeyID == "":
		add("service_account", "lacks sub_account, project_id or key_id: want the whole file that Huawei's API Console makes")
	case strings.Trim(account.Project, "0123456789") != "":
		add("service_account", "has the project_id %.40q: want digits", account.Project)
	}
	if category := c.String("category"); strings.Trim(category, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		add("category", "is %.40q: want capital letters, such as WORK", category)
	}
	if ttl := c.Duration("ttl"); ttl < time.Second || ttl > longestTTL {
		add("ttl", "is out of bounds: want 1s to 360h, which is 15 days")
	}
	return problems
}

func content(_ channel.Config, c posthouse.Content) []posthouse.Problem {
	if problems := channel.PlainText(c); len(problems) > 0 {
		return problems
	}
	if c.Title == "" {
		return []posthouse.Problem{{Path: "content.title", Message: "is required: Huawei shows no notification without a title"}}
	}
	return channel.WithinBytes("text", c.Title+c.Text, most)
}
