package words

// tenantWords are the texts of the pages of tenants.
func tenantWords() map[string]Word {
	return map[string]Word{
		"tenants":          {"Tenants", "租户"},
		"new_tenant":       {"New tenant", "新建租户"},
		"tenant_name":      {"Name of the tenant", "租户名称"},
		"tenants_help":     {"Parties that share this server and see nothing of each other.", "共用本服务、互不可见的各方。"},
		"tenant_ruled":     {"Tenants are changed by administrators of the tenant default.", "租户由 default 租户的管理员修改。"},
		"tenant_requests":  {"Requests", "请求数上限"},
		"tenant_open":      {"Open deliveries", "未结束的投递上限"},
		"no_tenant_yet":    {"There is no tenant yet.", "还没有租户。"},
		"moved_tenant":     {"Somebody else has changed the tenant meanwhile. Beside each field stands what is stored now; what you store replaces it.", "在此期间有人修改了该租户。各字段旁是当前保存的内容；再次保存将覆盖它。"},
		"remark":           {"Note", "备注"},
		"tenant_make_help": {"It has no key and no people yet. Make its first key by command, and give people a role in it.", "新租户还没有密钥和人员：用命令新建第一个密钥，再为人员分配角色。"},
		"tenant_edit_help": {"It holds from now on, in all processes. What is accepted stays.", "保存后立即在所有进程生效；已受理的不受影响。"},
	}
}
