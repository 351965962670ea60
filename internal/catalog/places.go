package catalog

// places are what servers at several places say.
func places() []Sentence {
	return []Sentence{
		{"the place %s holds the database now: try there", "现在由站点 {1} 持有数据库：请到那里重试"},
		{"this place takes over and is not ready yet: try again", "本站点正在接管，尚未就绪：请重试"},
		{"no place holds the database: start a server with the setting place first", "还没有站点持有数据库：请先启动一台设置了 place 的服务器"},
		{"%.60q is no name of a place: want at most %d of a-z, 0-9, - _ and ., such as beijing", "{1} 不是站点名：应为最多 {2} 个字符，可用 a-z、0-9、-、_、.，例如 beijing"},
		{"no switch to %s is under way", "没有正在进行的到 {1} 的切换"},
		{"%s: run posthouse migrate new-epoch --yes instead", "{1!}：请改为执行 posthouse migrate new-epoch --yes"},
		{"the place %s is passive: %s", "站点 {1} 为备用：{2!}"},
		{"the place %s sends", "站点 {1} 在发送"},
		{"its database is a standby, and has no tables yet", "它的数据库是备库，还没有建表"},
		{"its database is a standby, and no place has begun to send yet", "它的数据库是备库，还没有站点开始发送"},
		{"the epoch of the database is being raised", "数据库的纪元正在提升"},
		{"it takes over as soon as its database is promoted", "它的数据库一提升为主库就接管"},
		{"its database is a standby of %s", "它的数据库是站点 {1} 的备库"},
		{"%s holds epoch %d of the database, which takes writes here. If %s is lost, run posthouse migrate new-epoch --yes here", "站点 {1} 持有数据库的纪元 {2}，而这里的数据库可写。若 {3} 已丢失，请在这里执行 posthouse migrate new-epoch --yes"},
		{"the place %s still ends what it began", "站点 {1} 还在结束已开始的发送"},
		{"no place holds epoch %d; the database %s", "没有站点持有纪元 {1}；数据库{2!}"},
		{"%s takes over epoch %d: %s still ends what it began; the database %s", "站点 {1} 正在接管纪元 {2}：站点 {3} 还在结束已开始的发送；数据库{4!}"},
		{"%s takes over epoch %d: %s has ended all it began; the database %s", "站点 {1} 正在接管纪元 {2}：站点 {3} 已结束全部发送；数据库{4!}"},
		{"%s holds epoch %d since %s; the database %s", "站点 {1} 自 {3} 起持有纪元 {2}；数据库{4!}"},
		{"takes writes", "可写"},
		{"is a standby", "是备库"},
		{"%s. The setting place is missing: no server starts without it", "{1!}。没有设置 place：不设就启动不了服务器"},
		{"this place is %s, and %s. If %s is lost, run posthouse migrate new-epoch --yes", "本站点是 {1}；{2!}。若站点 {3} 已丢失，请执行 posthouse migrate new-epoch --yes"},
		{"this place is %s; %s", "本站点是 {1}；{2!}"},
	}
}
