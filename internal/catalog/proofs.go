package catalog

// proofs are why a proof does not hold, where it matters most that one understands.
func proofs() []Sentence {
	return []Sentence{
		{"the file is not a proof: %s", "文件不是证明：{1!}"},
		{"the file is not a proof that this version checks: format is %q, not %q", "本版本不能核验这个文件：格式为 {1}，应为 {2}"},
		{"algorithm is %q, not %q", "签名算法为 {1}，应为 {2}"},
		{"the signature does not fit: the statement is not what was signed, or another key signed it", "签名不符：声明被改动过，或由别的密钥签名"},
		{"the statement cannot be read: %s", "声明无法读取：{1}"},
		{"sha256 is not that of the statement: what stands around the statement was changed", "sha256 与声明不符：声明之外的内容被改动过"},
		{"%s is not that of the statement: what stands around the statement was changed", "{1} 与声明不符：声明之外的内容被改动过"},
		{"the statement names the key %q, and is signed by %q", "声明中写的密钥是 {1}，签名用的却是 {2}"},
		{"the proof has no public key that can be read: give one with --key", "证明中没有可读取的公钥，请用 --key 指定"},
		{"the key %q that signed is none of those given", "签名所用的密钥 {1} 不在给出的公钥之中"},
		{"%q is no zone", "{1} 不是时区"},
		{"the public keys cannot be read: %s", "公钥无法读取：{1}"},
		{"a public key is none of Ed25519 in PEM", "公钥不是 PEM 格式的 Ed25519 公钥"},
		{"there is no public key: want PEM, or what posthouse proof keys --json prints", "没有公钥：应为 PEM，或 posthouse proof keys --json 的输出"},
		{"message %s: the content is not that of its digest", "消息 {1}：内容与摘要不符"},
		{"notification %s: its acknowledgement does not have the digest that was sealed", "通知 {1}：确认记录与封存的摘要不符"},
		{"message %s: link %d of the hash chain does not have the hash of its text", "消息 {1}：哈希链第 {2} 环的哈希与内容不符"},
		{"message %s: its row does not have the digest that was sealed", "消息 {1}：记录与封存的摘要不符"},
		{"delivery %s: its history does not have the digest that was sealed", "投递 {1}：历史与封存的摘要不符"},
		{"the page does not show what its statement says: it was changed after it was made, or stored anew by another program. What counts is the statement", "页面与声明不符：页面生成后被改动过，或被别的程序重新保存过。以声明为准"},
		{"the page was drawn by another version of Posthouse, so what it shows cannot be compared. What counts is the statement: check the file proof.json, or what is printed here", "页面由另一版本的驿站生成，无法比对。以声明为准：请核验 proof.json，或以这里打印的为准"},
		{"%s does not want it by %s", "{1} 不接收通过 {2} 发送的消息"},
		{"%s does not want it", "{1} 不接收这类消息"},
		{"the directory knows no manager of %q", "通讯录中没有 {1} 的上级"},
		{"the condition %q fails: %s", "条件 {1} 无法求值：{2!}"},
		{"the expression %q fails: %s", "表达式 {1} 无法求值：{2!}"},
	}
}
