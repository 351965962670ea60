package fcm

import (
	"cmp"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/push"
)

const (
	usualURL      = "https://fcm.googleapis.com"
	usualTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // a place, not a token
	// most is how many bytes a message may have, of which title, text and data take most: Google's own bound is 4096 for all of it.
	most = 4096
	// frame is more than what stands around them.
	frame = 512
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name: "fcm", Title: "Firebase Cloud Messaging", TitleZH: "FCM 推送（Firebase）",
		Doc:      "Pushes notifications to Android, iOS and web apps by Google's HTTP v1 API.",
		DocZH:    "通过 Google FCM HTTP v1 接口向 Android、iOS 与网页应用推送通知。",
		Fields:   fields(),
		MaxBatch: 1,
		Timeout:  10 * time.Second,
		// A project has 600,000 messages a minute, of minutes that do not begin by the clock: firebase.google.com, "Throttling and quotas".
		AccountLimits: []posthouse.Limit{{Max: 9000, Per: posthouse.Duration(time.Second)}},
		// Google holds back what goes to one Android device beyond 240 a minute and 5,000 an hour.
		RecipientLimits: []posthouse.Limit{{Max: 240, Per: posthouse.Duration(time.Minute)}, {Max: 5000, Per: posthouse.Duration(time.Hour)}},
		Check:           check,
		Addresses:       channel.AddressDevice,
		Address:         push.DeviceToken,
		Content:         content,
		Open:            open,
	}
}

func fields() []channel.Field {
	return []channel.Field{{
		Name: "service_account", Kind: channel.KindSecret, Required: true, Account: true, Label: "Service account", LabelZH: "服务账号密钥文件",
		Help:   "The whole JSON file that the Firebase console makes: Project settings, Service accounts, Generate new private key.",
		HelpZH: "Firebase 控制台“项目设置 → 服务账号 → 生成新的私钥”下载的 JSON 文件全文。",
	}, {
		Name: "project_id", Kind: channel.KindString, Account: true, Label: "Project", LabelZH: "项目 ID",
		Help: "Defaults to the project of the service account.", HelpZH: "默认取服务账号文件中的项目。",
	}, {
		Name: "notification_channel", Kind: channel.KindString, Label: "Notification channel", LabelZH: "Android 通知渠道",
		Help: "The channel_id of Android's notifications, which the app has made.", HelpZH: "应用内创建的 Android 通知渠道 channel_id。",
	}, {
		Name: "data_only", Kind: channel.KindBool, Label: "Data alone", LabelZH: "仅透传数据",
		Help: "The app itself shows what comes: title and text are data too, named title and body.", HelpZH: "由应用自行展示：标题和正文以 title、body 放入 data。",
	}, {
		Name: "ttl", Kind: channel.KindDuration, Label: "Kept for", LabelZH: "离线保留时长",
		Help: "How long Google keeps a message for a device that is away. Defaults to Google's four weeks.", HelpZH: "设备离线时消息的保留时长，默认四周。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: usualURL, Label: "URL", LabelZH: "接口地址",
		Help: "For a proxy.", HelpZH: "使用代理时修改。",
	}, {
		Name: "token_url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: usualTokenURL, Label: "URL of access tokens", LabelZH: "令牌接口地址",
	}}
}

// longestTTL is the longest that Google keeps a message.
const longestTTL = 28 * 24 * time.Hour

func check(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, message string) {
		problems = append(problems, posthouse.Problem{Path: path, Message: message})
	}
	account, err := push.ReadAccount(c.String("service_account"))
	if err == nil {
		_, err = push.NewKey(account.KeyID, push.RS256, account.Key)
	}
	switch {
	case err != nil:
		add("service_account", err.Error())
	case account.Email == "":
		add("service_account", "has no client_email: want the whole file that the Firebase console makes")
	case cmp.Or(c.String("project_id"), account.Project) == "":
		add("project_id", "is required: the service account names none")
	}
	if id := cmp.Or(c.String("project_id"), account.Project); strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-:.") != "" || strings.Contains(id, "..") || strings.HasPrefix(id, ".") {
		add("project_id", "is not the id of a project: want small letters, digits and hyphens, such as my-app-12345")
	}
	if ttl := c.Duration("ttl"); ttl < 0 || ttl > longestTTL {
		add("ttl", "is out of bounds: want at most 672h, which is four weeks")
	}
	return problems
}

// content says what Google does not take.
func content(_ channel.Config, c posthouse.Content) []posthouse.Problem {
	if problems := channel.PlainText(c); len(problems) > 0 {
		return problems
	}
	return channel.WithinBytes("text", c.Title+c.Text, most)
}
