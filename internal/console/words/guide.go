package words

// guideWords are the texts of the page of the first steps.
func guideWords() map[string]Word {
	return map[string]Word{
		"guide":           {"First steps", "快速上手"},
		"guide_lead":      {"Three steps to a first message. It goes to simulated providers, so nobody is disturbed.", "三步发出第一条消息。消息发给模拟平台，不会打扰任何人。"},
		"guide_one":       {"1. Start the simulated providers", "1. 启动模拟平台"},
		"guide_one_help":  {"In a second terminal. Posthouse itself must be allowed to reach this machine:", "另开一个终端运行，并允许 Posthouse 访问本机："},
		"guide_one_done":  {"They run already, and show what arrives:", "已在运行，可在这里看到收到的消息："},
		"guide_two":       {"2. Make a channel to them", "2. 建一个指向它的渠道"},
		"guide_simulator": {"Address of the simulator", "模拟器地址"},
		"guide_make":      {"Make the channel", "建渠道"},
		"guide_two_done":  {"The channel is there:", "渠道已建好："},
		"guide_again":     {"Ask again whether it is reached", "再测一次能否连通"},
		"guide_reached":   {"The channel reaches the simulator.", "渠道可以连通模拟器。"},
		"guide_missed":    {"The channel does not reach the simulator:", "渠道连不上模拟器："},
		"guide_three":     {"3. Send a message, and see who got it", "3. 发一条消息，看看谁收到了"},
		"guide_to":        {"To whom (any name will do)", "收件人（随便写一个）"},
		"guide_text":      {"Hello from Posthouse", "你好，这是来自驿站的第一条消息"},
		"guide_send":      {"Send it", "发送"},
		"guide_sent":      {"It is sent. This is what became of the latest one:", "已发送。最近一条的情况："},
		"guide_real":      {"The same for a real provider", "接入真实平台"},
		"guide_real_1":    {"Choose the provider, and fill in what it gave you: address, account, secret.", "选择平台，填写平台给你的地址、账号和密钥。"},
		"guide_real_2":    {"On the page of the new channel press “Test” with your own address: you see what was sent and what the provider answered.", "在新渠道页面点“测试”，填自己的地址：会显示发出的内容和平台的应答。"},
		"guide_real_3":    {"Send to one person by form, and look at the delivery. Then make a key for your programs:", "用表单发给一个人，查看这条投递。然后为程序创建密钥："},
		"guide_begin":     {"Begin: three steps to a first message", "开始：三步发出第一条消息"},
	}
}
