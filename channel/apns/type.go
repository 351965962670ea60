package apns

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/push"
)

// Where devices of apps from the store are reached, and those of apps that are still developed.
const (
	production  = "production"
	development = "development"
)

// most is how many bytes a notification may have: developer.apple.com, "Sending notification requests to APNs".
const most = 4096

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name: "apns", Title: "Apple push", TitleZH: "苹果推送 APNs",
		Doc:      "Pushes notifications to iPhones and other devices of Apple.",
		DocZH:    "向 iPhone 等苹果设备推送通知。",
		Fields:   fields(),
		MaxBatch: 1,
		Timeout:  10 * time.Second,
		// Ours: Apple names no number, and says Too Many Requests for one device alone.
		AccountLimits: []posthouse.Limit{{Max: 2000, Per: posthouse.Duration(time.Second)}},
		Check:         check,
		Addresses:     channel.AddressDevice,
		Address:       push.DeviceToken,
		Content:       content,
		Open:          open,
	}
}

func fields() []channel.Field {
	return []channel.Field{{
		Name: "key", Kind: channel.KindSecret, Required: true, Account: true, Label: "Signing key", LabelZH: "推送密钥（.p8 文件）",
		Help:   "The text of the .p8 file that Apple lets you download once, of a key for Apple Push Notifications.",
		HelpZH: "在苹果开发者网站为 APNs 创建的密钥，仅可下载一次的 .p8 文件全文。",
	}, {
		Name: "key_id", Kind: channel.KindString, Required: true, Account: true, Label: "Key ID", LabelZH: "Key ID",
		Help: "Ten characters, such as ABC123DEFG.", HelpZH: "10 位字符，例如 ABC123DEFG。",
	}, {
		Name: "team_id", Kind: channel.KindString, Required: true, Account: true, Label: "Team ID", LabelZH: "Team ID",
	}, {
		Name: "topic", Kind: channel.KindString, Required: true, Account: true, Label: "Topic", LabelZH: "Topic（Bundle ID）",
		Help: "The bundle ID of the app, such as com.example.app.", HelpZH: "应用的 Bundle ID，例如 com.example.app。",
	}, {
		Name: "environment", Kind: channel.KindChoice, Default: production, Choices: []channel.Choice{
			{Value: production, Label: "Production", LabelZH: "生产环境"},
			{Value: development, Label: "Development", LabelZH: "开发环境"},
		}, Destination: true, Label: "Environment", LabelZH: "环境",
		Help: "Apps that Xcode installs have tokens of development.", HelpZH: "由 Xcode 直接安装的应用使用开发环境。",
	}, {
		Name: "sound", Kind: channel.KindString, Default: "default", Label: "Sound", LabelZH: "提示音",
		Help: "A sound of the app, default, or none.", HelpZH: "应用内的提示音文件名、default，或 none（静音）。",
	}, {
		Name: "ttl", Kind: channel.KindDuration, Default: 24 * time.Hour, Label: "Kept for", LabelZH: "离线保留时长",
		Help: "How long Apple keeps the last notification for a device that is away.", HelpZH: "设备离线时，苹果为其保留最近一条通知的时长。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Label: "URL", LabelZH: "接口地址",
		Help: "For a proxy. Defaults to Apple's own of the environment.", HelpZH: "使用代理时修改，默认为所选环境的苹果地址。",
	}}
}

const longestTTL = 30 * 24 * time.Hour

func check(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, message string) {
		problems = append(problems, posthouse.Problem{Path: path, Message: message})
	}
	if _, err := push.NewKey(c.String("key_id"), push.ES256, c.String("key")); err != nil {
		add("key", err.Error())
	}
	for _, name := range []string{"key_id", "team_id"} {
		if id := c.String(name); len(id) != idLength || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			add(name, "is not ten capital letters and digits, as Apple's page of keys and of your membership shows it")
		}
	}
	if !channel.ValidHeader("apns-topic", c.String("topic")) || strings.ContainsAny(c.String("topic"), " ,") {
		add("topic", "is not the bundle ID of an app, such as com.example.app")
	}
	if ttl := c.Duration("ttl"); ttl < 0 || ttl > longestTTL {
		add("ttl", "is out of bounds: want at most 720h, which is 30 days")
	}
	return problems
}

// idLength is how long Apple's ids of keys and teams are.
const idLength = 10

func content(_ channel.Config, c posthouse.Content) []posthouse.Problem {
	if problems := channel.PlainText(c); len(problems) > 0 {
		return problems
	}
	return channel.WithinBytes("text", c.Title+c.Text, most)
}
