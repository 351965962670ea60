package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// refused are the problems of a table.
type refused []string

func (r *refused) Refuse(path, format string, args ...any) {
	*r = append(*r, path+" "+fmt.Sprintf(format, args...))
}

func (r *refused) Room() bool { return len(*r) < 10 }

func (r *refused) Wrong() error {
	if len(*r) == 0 {
		return nil
	}
	return errors.New((*r)[0])
}

var wecom = Fields{"agent_id": {Name: "agent_id", Kind: channel.KindInt}, "users": {Name: "users", Kind: channel.KindList}}

func TestAccountsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	was := []posthouse.Account{
		{Name: "=a", Config: map[string]any{"agent_id": 7, "users": []any{"x", "y"}}, AccountSettings: posthouse.AccountSettings{Pools: []string{"p", "q"}, Weight: 2, BaseRate: 1.5}},
		{Name: "b", Config: map[string]any{"templates": map[string]any{"code": "SMS_1"}}, AccountSettings: posthouse.AccountSettings{Limits: []posthouse.Limit{{Max: 20, Per: posthouse.Duration(1e9)}, {Max: 5, Per: posthouse.Duration(60e9)}}}},
		{Name: "c", AccountSettings: posthouse.AccountSettings{Limits: []posthouse.Limit{}}},
	}
	each := func(visit func(*posthouse.Account) error) error {
		for i := range was {
			if err := visit(&was[i]); err != nil {
				return err
			}
		}
		return nil
	}
	columns, err := Columns(wecom, each)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := WriteAccounts(&text, columns, each); err != nil {
		t.Fatal(err)
	}
	want := "name,pools,weight,base_rate,limits,budget,config.agent_id,config.templates.code,config.users\n'=a,p;q,2,1.5,,,7,,x;y\nb,,,,20/1s;5/1m,,,SMS_1,\nc,,,,unlimited,,,,\n"
	if text.String() != want {
		t.Errorf("written as %q, want %q", &text, want)
	}
	var wrong refused
	list, lines := Accounts(&wrong, wecom, []byte(text.String()), 10)
	if len(wrong) > 0 || !slices.Equal(lines, []int{2, 3, 4}) || len(list) != 3 {
		t.Fatalf("read as %+v of the lines %v, refused %q", list, lines, wrong)
	}
	if a := list[0]; a.Name != "=a" || a.Config["agent_id"] != 7 || !slices.Equal(a.Pools, was[0].Pools) || a.Weight != 2 || a.BaseRate != 1.5 {
		t.Errorf("the first is read as %+v", a)
	}
	if b, c := list[1], list[2]; !slices.Equal(b.Limits, was[1].Limits) || c.Limits == nil || len(c.Limits) > 0 {
		t.Errorf("the second and third are read as %+v, %+v", b, c)
	}
}

// The header is looked at before any line, and each problem names its line.
func TestWhatIsWrongWithATableIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]refused{
		"":                             {"line 1 cannot be read: want a header such as name,pools,weight,base_rate,limits,budget,config.secret"},
		"pools\nx\n":                   {"line 1 has no column name: want a header such as name,pools,weight,base_rate,limits,budget,config.secret"},
		"name,name,colour\na,b,c\n":    {`line 1 has the column "name" twice`, `line 1 has a column "colour": want name, pools, weight, base_rate, limits, budget, and config.<field> for the driver's`},
		"name,weight\na,two\nb,1\n":    {`line 2.weight is "two": want a whole number`},
		"name,limits\na,20 a second\n": {`line 2.limits is "20 a second": want windows such as 20/1s;1000/1m, or unlimited`},
		"name,weight\na\nb,1\n":        {"line 2 wrong number of fields"},
	} {
		var got refused
		Accounts(&got, wecom, []byte(text), 10)
		if !slices.Equal(got, want) {
			t.Errorf("%q: refused %q, want %q", text, got, want)
		}
	}
}

// One line more than is wanted is read, which says that there are too many.
func TestOneLineTooManyIsEnough(t *testing.T) {
	t.Parallel()
	var wrong refused
	users, lines := Users(&wrong, []byte("\ufeffid,roles,dingtalk\nu1,a; b,d1\nu2,,\nu3,,\nu4,,\nu5,,\n"), 2)
	if len(users) != 3 || !slices.Equal(lines, []int{2, 3, 4}) || len(wrong) > 0 {
		t.Fatalf("read %+v of the lines %v, refused %q", users, lines, wrong)
	}
	if u := users[0]; u.ID != "u1" || !slices.Equal(u.Roles, []string{"a", "b"}) || u.Addresses["dingtalk"] != "d1" {
		t.Errorf("the first is %+v", u)
	}
}

// Another name of what a user has is refused by what is meant: it would be taken for a channel, and the cell for an address.
func TestNearNamesOfColumnsAreNoAddresses(t *testing.T) {
	t.Parallel()
	for name, meant := range map[string]string{
		"timezone": "time_zone", "Time Zone": "time_zone", "tz": "time_zone", "时区": "time_zone", "lang": "language", "Language": "language", "语言": "language",
		"role": "roles", "Manager": "manager", "上级": "manager", "姓名": "name", "名字": "name", "显示名": "name", "display_name": "name", "Display Name": "name", "Name": "name",
		"工号": "id", "employee_id": "id", "直属上级": "manager", "主管": "manager",
	} {
		var wrong refused
		users, _ := Users(&wrong, []byte("id,"+name+"\nli.na,x\n"), 10)
		want := refused{fmt.Sprintf("line 1 has a column %q, which is no address: want %s", name, meant)}
		if !slices.Equal(wrong, want) || len(users) > 0 {
			t.Errorf("%s: refused %q, read %+v; want %q", name, wrong, users, want)
		}
	}
	var wrong refused
	users, _ := Users(&wrong, []byte("id,name,type,roles,time_zone,language,manager,zone-alarm,mail\nli.na,Li Na,staff,lead,Asia/Shanghai,zh,top,1,2\n"), 10)
	if len(wrong) > 0 || len(users) != 1 || len(users[0].Addresses) != 2 || users[0].TimeZone != "Asia/Shanghai" {
		t.Errorf("refused %q, read %+v", wrong, users)
	}
}

// A file of an HR system names what somebody is reached by, and more: such a column is refused by what it may be called.
func TestColumnsOfAnotherSystemAreNoAddresses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"手机": "such as sms", "手机号": "such as sms", "邮箱": "such as mail", "部门": "call it type or roles", "职位": "call it type or roles",
	} {
		text := []byte("id," + name + "\nli.na,x\n")
		var wrong refused
		if users, _ := Users(&wrong, text, 10); len(wrong) != 1 || !strings.HasSuffix(wrong[0], want) || len(users) > 0 {
			t.Errorf("%s: refused %q, read %+v; want %q", name, wrong, users, want)
		}
	}
}
