package table

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// Users reads a table with the columns id, name, type, roles (with ; between them), time_zone, language and manager, and one more for
// each channel whose addresses it holds. lines are where the users stand.
func Users(to Problems, text []byte, most int) (users []posthouse.User, lines []int) {
	s := sheet{Problems: to, text: text, want: "id,name,type,dingtalk", first: "id", most: most, column: func(name string) {
		if meant := nearColumns[strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))]; meant != "" && meant != name {
			to.Refuse("line 1", "has a column %.80q, which is no address: want %s", name, meant)
		}
	}, row: func(header, row []string, _ int) {
		users = append(users, userOf(header, row))
	}}
	lines = s.read()
	return users, lines
}

// nearColumns are other names of what a user has, without case and joints: none of them is a channel with addresses.
var nearColumns = map[string]string{
	"id": "id", "name": "name", "type": "type", "role": "roles", "roles": "roles", "timezone": "time_zone", "tz": "time_zone",
	"language": "language", "lang": "language", "manager": "manager", "managerid": "manager",
	"姓名": "name", "类型": "type", "角色": "roles", "时区": "time_zone", "语言": "language", "上级": "manager",
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
