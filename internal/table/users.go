package table

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// Users reads a table with the columns id, name, type, roles (with ; between them), time_zone, language and manager, and one more for
// each channel whose addresses it holds. lines are where the users stand.
func Users(to Problems, text []byte, most int) (users []posthouse.User, lines []int) {
	s := sheet{Problems: to, text: text, want: "id,name,type,dingtalk", first: "id", most: most, column: func(name string) {
		plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(name)))
		meant, reached := nearColumns[plain], reachColumns[plain]
		switch {
		case meant != "" && meant != name:
			to.Refuse("line 1", "has a column %.80q, which is no address: want %s", name, meant)
		case reached != "":
			to.Refuse("line 1", "has a column %.80q, which is no channel: want the name of the channel whose addresses it has, such as %s", name, reached)
		case otherColumns[plain]:
			to.Refuse("line 1", "has a column %.80q, which the directory does not keep: leave it out, or call it type or roles", name)
		}
	}, row: func(header, row []string, _ int) {
		users = append(users, userOf(header, row))
	}}
	lines = s.read()
	return users, lines
}

// nearColumns are other names of what a user has, without case and joints: none of them is a channel with addresses. They are those of the
// exports of directories and of HR systems.
var nearColumns = map[string]string{
	"id": "id", "userid": "id", "staffid": "id", "employeeid": "id", "employeeno": "id", "employeenumber": "id",
	"工号": "id", "员工号": "id", "员工编号": "id", "员工工号": "id", "人员编号": "id", "用户编号": "id", "编号": "id", "员工id": "id", "用户id": "id",
	"name": "name", "displayname": "name", "fullname": "name", "realname": "name",
	"姓名": "name", "名字": "name", "员工姓名": "name", "真实姓名": "name", "中文名": "name", "显示名": "name", "显示名称": "name",
	"type": "type", "类型": "type", "人员类型": "type", "员工类型": "type",
	"role": "roles", "roles": "roles", "角色": "roles",
	"timezone": "time_zone", "tz": "time_zone", "时区": "time_zone",
	"language": "language", "lang": "language", "语言": "language",
	"manager": "manager", "managerid": "manager", "linemanager": "manager", "supervisor": "manager", "reportsto": "manager",
	"上级": "manager", "直属上级": "manager", "直接上级": "manager", "上级工号": "manager", "主管": "manager", "直属主管": "manager", "部门主管": "manager", "汇报对象": "manager", "经理": "manager",
}

// reachColumns are names of addresses that say by what somebody is reached and not by which channel, each with the usual name of such a
// channel. No channel can be called so.
var reachColumns = map[string]string{
	"手机": "sms", "手机号": "sms", "手机号码": "sms", "移动电话": "sms", "电话": "sms", "电话号码": "sms", "联系电话": "sms", "联系方式": "sms",
	"邮箱": "mail", "电子邮箱": "mail", "邮箱地址": "mail", "工作邮箱": "mail", "企业邮箱": "mail", "公司邮箱": "mail", "电子邮件": "mail",
}

// otherColumns are what such exports have too and a user has not. No channel can be called so.
var otherColumns = map[string]bool{
	"部门": true, "所属部门": true, "部门名称": true, "职位": true, "职务": true, "岗位": true, "职级": true, "公司": true, "性别": true, "状态": true, "入职日期": true, "入职时间": true, "备注": true,
}

func userOf(header, row []string) posthouse.User {
	u := posthouse.User{Addresses: map[string]string{}}
	for i, column := range header {
		if i >= len(row) || row[i] == "" {
			continue
		}
		switch column {
		case "id":
			u.ID = row[i]
		case "name":
			u.Name = row[i]
		case "type":
			u.Type = row[i]
		case "roles":
			u.Roles = parts(row[i])
		case "time_zone":
			u.TimeZone = row[i]
		case "language":
			u.Language = row[i]
		case "manager":
			u.Manager = row[i]
		default:
			u.Addresses[column] = row[i]
		}
	}
	return u
}
