package audience

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse/channel"
)

// HeadBytes is how much of a file's text is looked at to find out how it is to be read.
const HeadBytes = 64 << 10

const (
	sampleRows = 50 // whose cells are looked at
	mostOf     = 80 // percent of a column's cells that must be addresses
)

// Guess completes how a file is to be read by the beginning of its text: what the format says already stays. whole says that the text is all
// of the file. keep is an address as the channel keeps it, nil for any. What cannot be told stays empty, and the reader's own default counts.
func Guess(head []byte, whole bool, f Format, keep func(string) (string, error)) Format {
	if f.Kind == "" && f.Delimiter == "" && len(f.Columns) == 0 && KindOf(head) == NDJSON {
		f.Kind = NDJSON
	}
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	if f.Encoding == "" && looksGBK(head) {
		f.Encoding = GBK
	}
	if f.Encoding == GBK {
		if text, ok := fromGBK(head); ok {
			head = text
		}
	}
	if f.Kind == NDJSON {
		f.Address = f.orFieldOf(head)
		return f
	}
	return guessColumns(head, f, keep)
}

// looksGBK reports whether a text reads as GBK and not as UTF-8. A line of GBK may be UTF-8 by chance, and one of UTF-8 is often GBK too: so
// most lines beyond ASCII must be no UTF-8.
func looksGBK(text []byte) bool {
	if utf8.Valid(text) {
		return false
	}
	if _, ok := fromGBK(text); !ok {
		return false
	}
	other, utf := 0, 0
	for line := range bytes.Lines(text) {
		switch {
		case !utf8.Valid(line):
			other++
		case len(line) != utf8.RuneCount(line):
			utf++
		}
	}
	return other > utf
}

// orFieldOf is the address's field that is said, or the one of the first object with a usual name.
func (f Format) orFieldOf(head []byte) string {
	if f.Address != "" {
		return f.Address
	}
	for line := range bytes.Lines(head) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(line, &fields) != nil {
			return ""
		}
		names := make([]string, 0, len(fields))
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		if at := f.named(names); len(at) > 0 {
			return names[at[0]]
		}
		return ""
	}
	return ""
}

// guessColumns finds what stands between the fields of a CSV, whether its first record names them, and which has the address.
func guessColumns(head []byte, f Format, keep func(string) (string, error)) Format {
	if f.Delimiter == "" {
		if d := delimiterOf(head); d != ',' && (len(f.Columns) == 0 || len(sample(head, d)[0]) == len(f.Columns)) {
			f.Delimiter = string(d)
		}
	}
	rows := sample(head, (f.Delimiter + ",")[0])
	if len(rows) == 0 || f.Address != "" {
		return f
	}
	columns := f.Columns
	if len(columns) == 0 {
		columns = trimmed(rows[0])
		if at := f.addressByCells(columns, rows[:1], keep); at >= 0 && len(f.named(columns)) == 0 {
			columns = numbered(columns, at)
			f.Columns, f.Address = columns, columns[at]
			return f
		}
		rows = rows[1:]
	}
	if at := f.addressAt(columns, rows, keep); at >= 0 {
		f.Address = columns[at]
	}
	return f
}

// numbered are the columns of a file without a header.
func numbered(cells []string, address int) []string {
	names := make([]string, len(cells))
	for i := range names {
		names[i] = columnName(i)
	}
	names[address] = addressColumns[0]
	return names
}

func trimmed(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.TrimSpace(c)
	}
	return out
}

// delimiters are what may stand between the fields of a CSV, those that programs write most first.
const delimiters = ",\t;|"

// delimiterOf finds the delimiter by which most records have as many fields as the first one, and more than one. A comma where none has.
func delimiterOf(head []byte) byte {
	best, most := byte(','), 0
	for i := range len(delimiters) {
		rows := sample(head, delimiters[i])
		if len(rows) == 0 || len(rows[0]) < 2 {
			continue
		}
		same := 0
		for _, row := range rows {
			if len(row) == len(rows[0]) {
				same++
			}
		}
		if same > most {
			best, most = delimiters[i], same
		}
	}
	return best
}

// sample are the first records of a CSV. Those that cannot be read are left out.
func sample(head []byte, delimiter byte) (rows [][]string) {
	end := csvEnd(delimiter)
	for len(head) > 0 && len(rows) < sampleRows {
		n, _ := end(head)
		if n == 0 {
			n = len(head)
		}
		rec := bytes.TrimRight(head[:n], "\r\n")
		head = head[n:]
		if len(bytes.TrimSpace(rec)) == 0 {
			continue
		}
		if fields, _, err := splitCSV(rec, delimiter, nil, nil); err == nil {
			rows = append(rows, fields)
		}
	}
	return rows
}

// addressAt finds the column of the address: of those with a usual name the first whose cells are addresses of the channel, else the only
// one whose cells are, else the first with a usual name of whose cells not all are none. -1 for none.
func (f Format) addressAt(columns []string, rows [][]string, keep func(string) (string, error)) int {
	byName := f.named(columns)
	for _, at := range byName {
		if f.kept(columns, rows, at, keep) {
			return at
		}
	}
	if at := f.addressByCells(columns, rows, keep); at >= 0 && columns[at] != "" {
		return at
	}
	for _, at := range byName {
		if some, good := f.addresses(columns, rows, at, keep); some == 0 || good > 0 {
			return at
		}
	}
	return -1
}

// addressByCells finds the only column whose cells look like addresses and are such of the channel, -1 for none and for several.
func (f Format) addressByCells(columns []string, rows [][]string, keep func(string) (string, error)) int {
	found := -1
	for at := range columns {
		if !shaped(rows, at) || !f.kept(columns, rows, at, keep) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = at
	}
	return found
}

// kept reports whether most cells of a column are addresses of the channel.
func (f Format) kept(columns []string, rows [][]string, at int, keep func(string) (string, error)) bool {
	some, good := f.addresses(columns, rows, at, keep)
	return some > 0 && good*100 >= mostOf*some
}

// addresses counts the cells of a column that have a text, and those that are addresses of the channel, also such that a spreadsheet has spoilt.
func (f Format) addresses(columns []string, rows [][]string, at int, keep func(string) (string, error)) (some, good int) {
	if keep == nil {
		keep = PlainAddress
	}
	return count(rows, at, func(cell string) bool {
		if f.Addresses == channel.AddressUser && strings.ContainsFunc(cell, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return false // the names of people stand in a column "user" too, and no provider writes its ids so
		}
		cell, err := f.Whole(columns[at], cell)
		if err != nil {
			return true // its line is refused with what became of it
		}
		_, err = keep(cell)
		return err == nil
	})
}

// shapes are what an address looks like where no name of its column says that it is one: a number that can be called, with its country or
// without, a mail address, an openid of WeChat.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`^(\+|00)?[0-9]{1,3}[ -]?[0-9]{3,4}[ -]?[0-9]{4,8}$`),
	regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s.]+$`),
	regexp.MustCompile(`^o[A-Za-z0-9_-]{27}$`),
}

// shaped reports whether most cells of a column look like addresses of one kind.
func shaped(rows [][]string, at int) bool {
	return slices.ContainsFunc(shapes, func(shape *regexp.Regexp) bool { return most(rows, at, shape.MatchString) })
}

func most(rows [][]string, at int, is func(cell string) bool) bool {
	some, good := count(rows, at, is)
	return some > 0 && good*100 >= mostOf*some
}

// count counts the cells of a column that have a text, and those of them that are something.
func count(rows [][]string, at int, is func(cell string) bool) (some, good int) {
	for _, row := range rows {
		if at >= len(row) || strings.TrimSpace(row[at]) == "" || faulty(row[at]) {
			continue
		}
		some++
		if is(strings.TrimSpace(row[at])) {
			good++
		}
	}
	return some, good
}

// addressColumns are the names by which the column of the address is found, where none is named.
var addressColumns = []string{"address", "openid", "phone", "mobile", "email", "user"}

// otherNames are further ones, as they are after plainName: what people and programs call such a column.
var otherNames = []string{
	"手机号", "手机号码", "手机", "移动电话", "联系电话", "联系手机", "电话", "电话号码", "联系方式", "邮箱", "电子邮箱", "电子邮件", "邮件", "邮件地址", "邮箱地址", "微信openid", "用户openid",
	"mobilephone", "mobilenumber", "mobileno", "phonenumber", "phoneno", "cellphone", "cell", "tel", "telephone", "msisdn", "mail", "mailaddress", "emailaddress",
	"userid", "username", "用户", "用户id", "用户名", "账号", "帐号", "工号", "unionid", "收件人", "接收人",
}

// namesOf are what a column of addresses of a kind is called, as they are after plainName, those first that say most.
var namesOf = map[channel.AddressKind][]string{
	channel.AddressUser: {
		"userid", "用户编号", "用户id", "成员编号", "成员id", "工号", "员工号", "员工工号", "员工编号", "员工id", "人员编号", "employeeid", "employeeno", "employeenumber", "staffid", "staffno",
		"企业微信userid", "企业微信id", "企业微信账号", "钉钉userid", "钉钉id", "飞书userid", "飞书id", "openid", "用户openid", "unionid", "账号", "帐号", "account", "user", "用户", "username", "用户名",
	},
	channel.AddressOpenID: {"openid", "微信openid", "用户openid", "公众号openid", "小程序openid"},
	channel.AddressPhone: {
		"phone", "mobile", "手机号", "手机号码", "手机", "移动电话", "联系电话", "联系手机", "电话", "电话号码", "联系方式",
		"mobilephone", "mobilenumber", "mobileno", "phonenumber", "phoneno", "cellphone", "cell", "tel", "telephone", "msisdn",
	},
	channel.AddressMail:   {"email", "邮箱", "电子邮箱", "电子邮件", "邮件", "邮件地址", "邮箱地址", "mail", "mailaddress", "emailaddress"},
	channel.AddressDevice: {"devicetoken", "pushtoken", "registrationtoken", "registrationid", "token", "设备token", "设备令牌", "推送令牌"},
}

// named are the columns with a usual name, in the order of the names: one that says that it has the address, those of the kind of the
// channel's addresses, and then all others, since an id may be somebody's number or mail address too.
func (f Format) named(columns []string) (at []int) {
	for _, list := range [][]string{addressColumns[:1], namesOf[f.Addresses], addressColumns, otherNames} {
		for _, name := range list {
			for i, c := range columns {
				if plainName(c) == name && !slices.Contains(at, i) {
					at = append(at, i)
				}
			}
		}
	}
	return at
}

// plainName is a column's name without what programs set between its words or behind it, such as a unit in brackets.
func plainName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if cut := strings.IndexAny(name, "(（[【"); cut > 0 {
		name = name[:cut]
	}
	return strings.NewReplacer(" ", "", "_", "", "-", "", "*", "", "\u3000", "").Replace(name)
}
