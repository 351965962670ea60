package wecom

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/files"
)

// mediaLasts is how long WeCom keeps an uploaded file.
const mediaLasts = 3 * 24 * time.Hour

// mediaRules are what WeCom takes of files.
func mediaRules() files.Rules {
	return files.Rules{
		Provider: "WeCom", Least: 5, Images: []string{"image/png", "image/jpeg"}, Kinds: "JPG and PNG",
		Most: map[posthouse.ContentType]int{
			posthouse.ImageContent: 10 << 20, posthouse.VoiceContent: 2 << 20, posthouse.VideoContent: 10 << 20, posthouse.FileContent: 20 << 20,
		},
	}
}

// checkFile says why WeCom would refuse the upload that a content names.
func checkFile(c posthouse.Content, kind posthouse.ContentType, most int) []posthouse.Problem {
	rules := mediaRules()
	return rules.Check(c, kind, most)
}

// forgotten is WeCom's code for a media id that it does not know, such as one that it has forgotten before its time.
const forgotten = "40007"

// again says whether a call was refused since WeCom has forgotten a file that is ours to upload anew.
func again(c posthouse.Content, v channel.Verdict) bool {
	return v.Code == forgotten && len(c.Media) > 0 && c.Media[0].ID == ""
}
