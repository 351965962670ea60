package words

// revealWords are the texts of hidden contents that somebody asks for.
func revealWords() map[string]Word {
	return map[string]Word{
		"reveal":        {"Show the content", "查看内容"},
		"reveal_help":   {"The audit log keeps that you saw it, and why.", "审计日志会记录你查看了内容以及原因。"},
		"revealed_help": {"It is shown this once. Load the page again to hide it.", "内容仅显示这一次，重新打开页面即恢复隐藏。"},
	}
}
