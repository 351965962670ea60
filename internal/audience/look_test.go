package audience

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/unicode"

	"github.com/posthouse/posthouse/channel"
)

// phoneOnly is how a channel of SMS keeps an address.
func phoneOnly(text string) (string, error) {
	if strings.Trim(text, "+0123456789") != "" || len(text) < 8 {
		return "", errors.New("is no phone number")
	}
	return text, nil
}

func utf16(t *testing.T, text string, order unicode.Endianness, mark unicode.BOMPolicy) string {
	t.Helper()
	out, err := unicode.UTF16(order, mark).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// workbook is a file of sheets, each of rows, behind a sheet that is empty.
func workbook(t *testing.T, rows ...[]any) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	if _, err := f.NewSheet("名单"); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if err := f.SetSheetRow("名单", fmt.Sprint("A", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What a file does not say of itself is found: its encoding, what stands between its fields, whether it has a header, the column of the address.
func TestAFileIsReadAsItShowsToBe(t *testing.T) {
	t.Parallel()
	plain := []string{`13800138000 {"姓名":"张三","金额":"20"}`, `13900139000 {"姓名":"李四","金额":"30"}`}
	const text = "姓名,手机号,金额\n张三,13800138000,20\n李四,13900139000,30\n"
	semicolons := strings.ReplaceAll(text, ",", ";")
	tests := []struct {
		name, file string
		keep       func(string) (string, error)
		want       []string
		fault      string
	}{
		{name: "UTF-8", file: text, want: plain},
		{name: "GBK, as Excel in China saves CSV", file: gbk(t, text), want: plain},
		{name: "GBK with lines of Windows", file: gbk(t, strings.ReplaceAll(text, "\n", "\r\n")), want: plain},
		{name: "Unicode text of Excel: UTF-16 with tabs", file: utf16(t, strings.ReplaceAll(text, ",", "\t"), unicode.LittleEndian, unicode.UseBOM), want: plain},
		{name: "UTF-16 without a mark", file: utf16(t, text, unicode.LittleEndian, unicode.IgnoreBOM), want: plain},
		{name: "UTF-16 without a mark, the other way round", file: utf16(t, text, unicode.BigEndian, unicode.IgnoreBOM), want: plain},
		{name: "UTF-8 with a zero by mistake", file: text + strings.Repeat("王芳,13700137000,5\n", 20) + "赵\x00敏,13600136000,7\n", want: append(append([]string{}, plain...), append(slices.Repeat([]string{`13700137000 {"姓名":"王芳","金额":"5"}`}, 20), "! line 24, column 2: holds a NUL")...)},
		{name: "a picture", file: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10", fault: "the file is image/png and no table"},
		{name: "semicolons", file: semicolons, want: plain},
		{name: "bars, GBK", file: gbk(t, strings.ReplaceAll(text, ",", "|")), want: plain},
		{name: "a mark and semicolons", file: "\ufeff" + semicolons, want: plain},
		{name: "the name of the column has a unit and stars", file: strings.ReplaceAll(text, "手机号", "*手机号码（必填）"), want: plain},
		{name: "a column by its cells alone", file: strings.ReplaceAll(text, "手机号", "号码一"), want: plain},
		{name: "no header", file: "张三,13800138000,20\n李四,13900139000,30\n", want: []string{`13800138000 {"column1":"张三","column3":"20"}`, `13900139000 {"column1":"李四","column3":"30"}`}},
		{name: "no header, one column", file: "13800138000\n13900139000\n", want: []string{"13800138000 ", "13900139000 "}},
		{name: "of two names the one whose cells the channel takes", file: "openid,mobile\no1,13800138000\n", keep: phoneOnly, want: []string{`13800138000 {"openid":"o1"}`}},
		{name: "mail beside a phone, for a channel of phones", file: "a,b\nx@example.com,13800138000\n", keep: phoneOnly, want: []string{`13800138000 {"a":"x@example.com"}`}},
		{name: "two columns that may be it", file: "a,b\nx@example.com,13800138000\n", fault: `which column has the address? The columns are "a", "b"`},
		{name: "JSON with a name in Chinese", file: `{"手机号":"13800138000","n":1}` + "\n", want: []string{`13800138000 {"n":1}`}},
		{name: "one column of names is no address", file: "name\nLi Na\n", fault: `which column has the address?`},
		{name: "a workbook", file: workbook(t, []any{"姓名", "手机号", "金额"}, []any{"张三", "13800138000", 20}, []any{}, []any{"李四", 13900139000, "30"}), want: plain},
		{name: "a workbook with a title and an empty name", file: workbook(t, []any{"2026 年名单"}, []any{"手机号", "", "日期"}, []any{"13800138000", "a,\"b\"\nc", "x"}), want: []string{`13800138000 {"column2":"a,\"b\"\nc","日期":"x"}`}},
		{name: "numbers as long as they are", file: workbook(t, []any{"phone", "card"}, []any{8613800138000, 621661280000447}), want: []string{`8613800138000 {"card":"621661280000447"}`}},
		{name: "errors of a spreadsheet are empty", file: "姓名,手机号,金额\n张三,13800138000,#N/A\n#REF!,13900139000,#1\n王,#VALUE!,1\n", want: []string{`13800138000 {"姓名":"张三"}`, `13900139000 {"金额":"#1"}`, "! line 4, column 3: 手机号 is empty: nobody can be reached"}},
		{name: "an empty workbook", file: workbook(t), want: nil},
		{name: "a JSON array", file: "[\n  {\"phone\": \"13800138000\"}]", fault: "the file is one JSON array"},
		{name: "a workbook of old Excel", file: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", fault: "the file is a workbook of old Excel (.xls) or has a password"},
		{name: "an archive that is no workbook", file: archive(t, "a.txt", "hello"), fault: "the workbook cannot be read"},
		{name: "a workbook that was cut off", file: workbook(t, []any{"a"})[:2000], fault: "the workbook cannot be read: it is damaged, or no Excel file (.xlsx). Save"},
		{name: "one that unpacks to far more than it is", file: archive(t, "xl/worksheets/sheet1.xml", strings.Repeat(" ", 40<<20)), fault: "the workbook cannot be read: it unpacks to more than 23 MiB. Save"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readGuessed(tt.file, tt.keep)
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Fatalf("%v, want %q", err, tt.fault)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && err == nil {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A look says what a file was converted from, with a mark and without, compressed too.
func TestALookSaysWhichUTF16AFileWas(t *testing.T) {
	t.Parallel()
	const text = "姓名,手机号,金额\n张三,13800138000,20\n李四,13900139000,30\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(utf16(t, text, unicode.BigEndian, unicode.UseBOM))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		want Encoding
	}{
		"UTF-8":                             {text, ""},
		"GBK":                               {gbk(t, text), ""},
		"little end first, marked":          {utf16(t, text, unicode.LittleEndian, unicode.UseBOM), UTF16LE},
		"big end first, marked":             {utf16(t, text, unicode.BigEndian, unicode.UseBOM), UTF16BE},
		"little end first, without a mark":  {utf16(t, text, unicode.LittleEndian, unicode.IgnoreBOM), UTF16LE},
		"big end first, without a mark":     {utf16(t, text, unicode.BigEndian, unicode.IgnoreBOM), UTF16BE},
		"big end first, marked, compressed": {zipped.String(), UTF16BE},
	} {
		got, err := Look(strings.NewReader(c.file), Format{}, nil)
		if err != nil || got.From != c.want || got.Address != "手机号" {
			t.Errorf("%s: a look finds %q and the address in %q, %v; want %q", name, got.From, got.Address, err, c.want)
		}
	}
}

// The column of the address is that of what the channel's addresses are: a list of people has several.
func TestTheColumnOfTheAddressIsOfTheChannelsKind(t *testing.T) {
	t.Parallel()
	staff := "用户编号,姓名,手机号,邮箱,openid\nzhang.san,张三,13800138000,zs@example.com,oAAAAAAAAAAAAAAAAAAAAAAAAAAA\nli.si,李四,13900139000,ls@example.com,oBBBBBBBBBBBBBBBBBBBBBBBBBBB\n"
	object := `{"phone":"13800138000","user_id":"zhang.san","email":"zs@example.com"}` + "\n"
	for _, c := range []struct {
		file, want string
		kind       channel.AddressKind
	}{
		{staff, "用户编号", channel.AddressUser},
		{staff, "手机号", channel.AddressPhone},
		{staff, "邮箱", channel.AddressMail},
		{staff, "openid", channel.AddressOpenID},
		{staff, "openid", ""},
		{strings.ReplaceAll(staff, "用户编号", "工号"), "工号", channel.AddressUser},
		{strings.ReplaceAll(staff, "用户编号", "User ID"), "User ID", channel.AddressUser},
		{strings.ReplaceAll(staff, "用户编号", "device_token"), "device_token", channel.AddressDevice},
		{"phone,user\n13800138000,张三\n", "phone", channel.AddressUser}, // the column user has names
		{"姓名,手机号\n张三,13800138000\n", "手机号", channel.AddressUser},
		{"userid,address\nu1,u2\n", "address", channel.AddressUser},
		{object, "user_id", channel.AddressUser},
		{object, "email", channel.AddressMail},
		{object, "phone", ""},
	} {
		p, err := Look(strings.NewReader(c.file), Format{Addresses: c.kind}, PlainAddress)
		if err != nil || p.Address != c.want {
			t.Errorf("%q, %.40q: the address is in %q, %v; want %q", c.kind, c.file, p.Address, err, c.want)
		}
	}
}

// A number that a spreadsheet has written with a power of ten is taken where it has all its digits, and else refused, in a column of telephones and
// where the channel knows its addresses. Free texts are left as they are.
func TestANumberWithoutItsDigitsIsNoAddress(t *testing.T) {
	t.Parallel()
	lost := func(column, text string) string {
		return "! line 2, column 1: " + column + " is " + text + ": a spreadsheet has cut off digits of the number. Format the column as text there, and export it again"
	}
	for _, c := range []struct {
		column, cell, want string
		kind               channel.AddressKind
	}{
		{"手机号", "1.38E+10", lost("手机号", "1.38E+10"), channel.AddressUser},
		{"手机号", "1.38001E+10", lost("手机号", "1.38001E+10"), ""},
		{"phone", "1.38001380E+10", lost("phone", "1.38001380E+10"), channel.AddressPhone},
		{"电话", "8.61380013E+12", lost("电话", "8.61380013E+12"), channel.AddressPhone},
		{"手机号", "1.38e10", lost("手机号", "1.38e10"), ""},
		{"手机号", "1.3800138000E+10", "13800138000", ""},
		{"手机号", "1.38001380005E+10", lost("手机号", "1.38001380005E+10"), ""},
		{"手机号", "13800138000.0", "13800138000", ""},
		{"手机号", "13800138000.00", "13800138000", channel.AddressPhone},
		{"工号", "1.00012E+11", lost("工号", "1.00012E+11"), channel.AddressUser},
		{"工号", "6.2166128000044789E+16", lost("工号", "6.2166128000044789E+16"), channel.AddressUser},
		{"工号", "12E5", "12E5", channel.AddressUser},
		{"工号", "1001.0", "1001.0", channel.AddressUser},
		{"address", "1.38E+10", "1.38E+10", ""},
		{"address", "13800138000.0", "13800138000.0", ""},
	} {
		got, err := readAll(NewReader(strings.NewReader(c.column+"\n"+c.cell+"\n"), Format{Address: c.column, Addresses: c.kind}, Position{}, true, PlainAddress))
		if len(got) == 1 && !strings.HasPrefix(got[0], "!") {
			_, got[0], _ = strings.Cut(got[0], " ")
		}
		if err != nil || len(got) != 1 || strings.TrimSpace(got[0]) != c.want {
			t.Errorf("%s %s of %q: %q, %v; want %q", c.column, c.cell, c.kind, got, err, c.want)
		}
	}
	p, err := Look(strings.NewReader("姓名,手机号,单号\n张三,1.38E+10,3.2E+17\n李四,1.39E+10,7\n"), Format{Addresses: channel.AddressPhone}, phoneOnly)
	if err != nil || p.Address != "手机号" || p.Wrong != 2 || p.CutOff != 3 {
		t.Errorf("a look: %+v, %v", p, err)
	}
}

func archive(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// readGuessed reads a file as an import does.
func readGuessed(text string, keep func(string) (string, error)) (lines []string, err error) {
	file, err := Open(strings.NewReader(text), Format{}, keep)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	lines, err = readAll(NewReader(bytes.NewReader(all), Guess(all, true, Format{}, keep), Position{}, true, keep))
	for i := range lines {
		if !strings.HasPrefix(lines[i], "!") {
			_, lines[i], _ = strings.Cut(lines[i], " ") // without its number
		}
	}
	return lines, err
}

// A file whose first Chinese stands far behind goes on as what it shows to be, where the format leaves that open.
func TestALateLineShowsTheEncoding(t *testing.T) {
	t.Parallel()
	late := "openid,name\n" + strings.Repeat("o1,n\n", HeadBytes/4) + gbk(t, "o2,张三\no3,李四\n")
	r := NewReader(strings.NewReader(late), Guess([]byte(late[:HeadBytes]), false, Format{}, nil), Position{}, true, nil)
	got, err := readAll(r)
	if err != nil || !strings.HasSuffix(got[len(got)-1], `o3 {"name":"李四"}`) || r.Format().Encoding != GBK {
		t.Errorf("%v, %q, %+v", err, got[len(got)-1], r.Format())
	}
}

// A column of phones is none of addresses for a channel that takes no numbers: which one is, is asked.
func TestAnotherKindOfAddressIsNotTaken(t *testing.T) {
	t.Parallel()
	none := func(string) (string, error) { return "", errors.New("is no openid") }
	p, err := Look(strings.NewReader("姓名,手机号\n张三,13800138000\n"), Format{}, none)
	if err != nil || p.Address != "" || len(p.Columns) != 2 {
		t.Errorf("%v, %+v", err, p)
	}
}

// A preview shows how a file would be read, and keeps nothing; a column that cannot be told is asked for.
func TestAPreview(t *testing.T) {
	t.Parallel()
	const text = "姓名;手机号\n张三;13800138000\n李四;139-x\n;13900139001\n王;13900139002\n赵;13900139003\n钱;13900139004\n"
	got, err := Look(strings.NewReader(gbk(t, text)), Format{}, phoneOnly)
	if err != nil {
		t.Fatal(err)
	}
	want := Preview{
		Format: Format{Kind: CSV, Delimiter: ";", Address: "手机号", Encoding: GBK}, Columns: []string{"姓名", "手机号"}, Read: 5, Wrong: 1,
		Rows:    [][]string{{"张三", "13800138000"}, {"李四", "139-x"}, {"", "13900139001"}, {"王", "13900139002"}, {"赵", "13900139003"}},
		Refused: []Refused{{Line: 3, Column: 4, Reason: "手机号 is no address of the channel: is no phone number", Text: "李四;139-x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = Look(strings.NewReader("a,b\nx,y\n"), Format{}, nil)
	if err != nil || got.Address != "" || len(got.Rows) != 1 {
		t.Errorf("a file whose address cannot be told: %+v, %v", got, err)
	}
	if _, err = Look(strings.NewReader("a,b\nx,y\n"), Format{Address: "c"}, nil); err == nil || !strings.Contains(err.Error(), `no column "c"`) {
		t.Errorf("a column that is not there: %v", err)
	}
	got, err = Look(strings.NewReader(workbook(t, []any{"手机", "n"}, []any{"13800138000", 1})), Format{}, phoneOnly)
	if err != nil || got.Sheet != "名单" || got.Address != "手机" || got.Read != 1 {
		t.Errorf("a workbook: %+v, %v", got, err)
	}
	got, err = Look(strings.NewReader(`{"n":1,"phone":"13800138000"}`), Format{}, phoneOnly)
	if err != nil || got.Kind != NDJSON || got.Address != "phone" || !cmp.Equal(got.Rows, [][]string{{"1", "13800138000"}}) {
		t.Errorf("JSON: %+v, %v", got, err)
	}
	got, err = Look(strings.NewReader("phone,n\n13800138000,#N/A\n13900139000,#DIV/0!\n"), Format{}, phoneOnly)
	if err != nil || got.Faulty != 2 || got.Rows[0][1] != "" {
		t.Errorf("errors of a spreadsheet: %+v, %v", got, err)
	}
	if _, err = Look(strings.NewReader("openid\n"), Format{}, nil); err == nil {
		t.Error("a file without anybody is shown")
	}
}

// bookOf is a workbook of sheets that are named, each of rows, by their order.
func bookOf(t *testing.T, names []string, sheets ...[][]any) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, name := range names {
		if _, err := f.NewSheet(name); err != nil {
			t.Fatal(err)
		}
		for n, row := range sheets[i] {
			if err := f.SetSheetRow(name, fmt.Sprint("A", n+1), &row); err != nil {
				t.Fatal(err)
			}
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Of a workbook the sheet is read that is said, else the first with a column of addresses; a refusal names those that there are.
func TestASheetOfAWorkbookIsChosen(t *testing.T) {
	t.Parallel()
	notes := [][]any{{"字段", "说明"}, {"手机号", "必填"}}
	may, june := [][]any{{"手机号", "n"}, {"13800138000", 1}}, [][]any{{"电话", "n"}, {"13900139000", 1}}
	three := bookOf(t, []string{"说明", "五月", "六月"}, notes, may, june)
	tests := []struct {
		name, file string
		f          Format
		want       string // the sheet and its first record
		fault      string
	}{
		{name: "the first with addresses", file: three, want: "五月 13800138000"},
		{name: "one that is said", file: three, f: Format{Sheet: "六月"}, want: "六月 13900139000"},
		{name: "the one with the column that is said", file: three, f: Format{Address: "电话"}, want: "六月 13900139000"},
		{name: "columns that are said", file: three, f: Format{Columns: []string{"phone", "n"}, Sheet: "六月"}, want: "六月 电话"},
		{name: "one that is not there", file: three, f: Format{Sheet: "七月"}, fault: `there is no sheet "七月" with something in it: the sheets are "说明", "五月", "六月"`},
		{name: "one that is empty", file: three, f: Format{Sheet: "Sheet1"}, fault: `there is no sheet "Sheet1" with`},
		{name: "none with addresses", file: bookOf(t, []string{"说明", "其他"}, notes, notes), fault: `the sheet "说明" was read, of "说明", "其他": which column has the address? The columns are "字段", "说明"`},
		{name: "a column that none has", file: three, f: Format{Address: "x"}, fault: `the sheet "说明" was read, of "说明", "五月", "六月": there is no column "x"`},
		{name: "no workbook", file: "手机号\n13800138000\n", f: Format{Sheet: "五月"}, fault: `the file is no workbook (.xlsx): it has no sheet "五月"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := firstOf(tt.file, tt.f)
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Fatalf("%q, %v, want %q", got, err, tt.fault)
			}
			if got != tt.want {
				t.Errorf("%q is read, want %q", got, tt.want)
			}
		})
	}
	p, err := Look(strings.NewReader(three), Format{}, nil)
	if want := []string{"说明", "五月", "六月"}; err != nil || p.Sheet != "五月" || !slices.Equal(p.Sheets, want) || p.Address != "手机号" {
		t.Errorf("a look finds %q of %q, %v", p.Sheet, p.Sheets, err)
	}
}

// firstOf is the sheet that is read of a file, and the address of its first record.
func firstOf(text string, f Format) (string, error) {
	file, err := Open(strings.NewReader(text), f, nil)
	if err != nil {
		return "", err
	}
	defer file.Close()
	all, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	f = Guess(all, true, f, nil)
	f.Sheet, f.Sheets = file.Sheet, file.Sheets
	row, err := NewReader(bytes.NewReader(all), f, Position{}, true, nil).Next()
	if err != nil {
		return "", err
	}
	return file.Sheet + " " + row.Address, nil
}
