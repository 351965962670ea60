// Package feishu sends messages of an application of Feishu's or Lark's to people and chats. What the codes mean is told by
// open.feishu.cn, "Send message", "Send messages in batches" and "Frequency control", and by the tables of Feishu's own programs.
package feishu
