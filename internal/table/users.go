package table

import "github.com/posthouse/posthouse"

// Users reads a table with the columns id, name, type, roles (with ; between them), time_zone, language and manager, and one more for
// each channel whose addresses it holds. lines are where the users stand.
func Users(to Problems, text []byte, most int) (users []posthouse.User, lines []int) {
	s := sheet{Problems: to, text: text, want: "id,name,type,dingtalk", first: "id", most: most, row: func(header, row []string, _ int) {
		users = append(users, userOf(header, row))
	}}
	lines = s.read()
	return users, lines
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
