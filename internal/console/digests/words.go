package digests

import "github.com/posthouse/posthouse/internal/console/words"

// texts are the words of the pages of digests.
func texts() map[string]words.Word {
	return map[string]words.Word{
		"digests":             {"Digests", "汇总"},
		"digests_help":        {"What comes for one recipient within a window leaves as one message. Messages name the digest beside their channel.", "一段时间内发给同一收件人的消息合成一条发出。发消息时在渠道之外写上汇总的名字。"},
		"digest":              {"Digest", "汇总"},
		"no_digest":           {"There is no digest yet.", "还没有汇总。"},
		"new_digest":          {"New digest, or a new version of one", "新建汇总，或保存新版本"},
		"digest_name":         {"Name", "名称"},
		"digest_window":       {"Gathers for", "收集多久"},
		"digest_cron":         {"Or leaves by cron, such as 0 18 * * *", "或按 cron 发出，例如 0 18 * * *"},
		"digest_zone":         {"Time zone of the cron", "cron 的时区"},
		"digest_max":          {"Messages at most, 2 to 100", "最多条数，2 到 100"},
		"digest_by":           {"Together are those with the same, such as kind or payload.cluster", "哪些归在一起，例如 kind 或 payload.cluster"},
		"digest_template":     {"Template of the text, with ${count} and ${list}", "正文模板，可用 ${count} 和 ${list}"},
		"digest_line":         {"A line of the list, such as ${n}. ${title} ${text}", "清单每行的写法，例如 ${n}. ${title} ${text}"},
		"digest_always":       {"Use the template for a single message too", "只有一条时也用模板"},
		"digest_note":         {"What it is for", "用途"},
		"digest_leaves":       {"Leaves", "何时发出"},
		"digest_after":        {"after", "收集满"},
		"delete_digest":       {"Delete it", "删除"},
		"delete_digest_help":  {"What it has gathered leaves all the same. New messages that name it are refused.", "已收集的照常发出；之后写了它的消息会被拒绝。"},
		"digest_deleted":      {"The digest is deleted.", "汇总已删除。"},
		"of_collection":       {"Digest", "所属汇总"},
		"collections":         {"What was gathered", "收集情况"},
		"collection":          {"Collection", "一次汇总"},
		"no_collection":       {"Nothing was gathered.", "没有收集到消息。"},
		"gathered_all":        {"All", "全部"},
		"gathered_waiting":    {"gathers", "收集中"},
		"gathered_leaving":    {"leaves", "发送中"},
		"gathered_settled":    {"settled", "已了结"},
		"gathered_alone":      {"left as it was", "单独发出"},
		"gathered_empty":      {"empty", "已无成员"},
		"gathered_whom":       {"Whom", "收件人"},
		"gathered_members":    {"Messages", "消息"},
		"gathered_left":       {"not in the text", "不在正文中"},
		"gathered_leave":      {"Have it leave now", "立即发出"},
		"gathered_leave_help": {"It does not wait for its moment. Quiet hours, limits and pauses hold for it as ever.", "不再等到预定时刻；免打扰、限流和暂停照常生效。"},
		"gathered_delivery":   {"Its delivery", "合成的投递"},
	}
}
