package audience

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// readAll reads a file to its end, each record as one line.
func readAll(r *Reader) (lines []string, err error) {
	for {
		row, err := r.Next()
		var refused *Refused
		switch {
		case errors.As(err, &refused):
			lines = append(lines, "! "+refused.Error())
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return lines, err
		default:
			lines = append(lines, fmt.Sprintf("%d %s %s", row.Line, row.Address, row.Variables))
		}
	}
}

func gbk(t *testing.T, text string) string {
	t.Helper()
	out, err := simplifiedchinese.GBK.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// CAMP-9: bad lines are told with line and column and do not stop the rest.
func TestAReaderTakesWhatIsGoodAndSaysWhereTheRestIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		format Format
		file   string
		want   []string
		fault  string
	}{
		{name: "a header names the columns", file: "openid,name,sum\no1,张三,20\no2,,\n", want: []string{`2 o1 {"name":"张三","sum":"20"}`, `3 o2 `}},
		{name: "the last line needs no end", file: "openid\no1\no2", want: []string{"2 o1 ", "3 o2 "}},
		{name: "lines of Windows, a mark before them and empty ones", file: "\ufeffopenid,n\r\n\r\no1,2\r\n", want: []string{`3 o1 {"n":"2"}`}},
		{name: "quotes hold delimiters, quotes and lines", file: "openid,n\no1,\"a,\"\"b\"\"\nc\"\no2,\\\n", want: []string{`2 o1 {"n":"a,\"b\"\nc"}`, `4 o2 {"n":"\\"}`}},
		{name: "columns are named, and one is left out", format: Format{Columns: []string{"name", "", "to"}, Address: "to", Delimiter: ";"}, file: "张三;x;o1\n", want: []string{`1 o1 {"name":"张三"}`}},
		{name: "fields are missing, or too many", file: "openid,n\no1\no2,1,三\no3,1\n", want: []string{"! line 2, column 3: has 1 fields: want 2, one for each column", "! line 3, column 6: has 3 fields: want 2, one for each column", `4 o3 {"n":"1"}`}},
		{name: "addresses that are none", file: "n,openid\n1,\n张三,o 2\n1, o3 \n", want: []string{"! line 2, column 3: openid is empty: nobody can be reached", "! line 3, column 4: openid is no address of the channel: it holds a space or a control character", `4 o3 {"n":"1"}`}},
		{name: "an address that is too long", file: "openid\n" + strings.Repeat("o", 513) + "\no1\n", want: []string{"! line 2, column 1: openid has 513 bytes: at most 512 are allowed", "3 o1 "}},
		{name: "quotes in the wrong place", file: "openid,n\no1,\"a\"b\no2,a\"b\no3,1\n", want: []string{
			"! line 2, column 7: text follows a closing quote: a quote within a quoted field is written twice",
			"! line 3, column 5: a quote stands within a field that does not begin with one", `4 o3 {"n":"1"}`,
		}},
		{name: "a quote that is never closed costs its own line", file: "openid,n\no1,\"a\no2,b\n", want: []string{"! line 2, column 4: a quote opens here and is not closed before the file ends", `3 o2 {"n":"b"}`}},
		{name: "a quote that is closed too late", file: "openid,n\no1,\"a\n" + strings.Repeat("o2,b\n", MaxRecord/5+1), want: append([]string{
			fmt.Sprintf("! line 2, column 4: a quote opens here and is not closed within %d bytes", MaxRecord),
		}, repeat(MaxRecord/5+1, func(i int) string { return fmt.Sprintf(`%d o2 {"n":"b"}`, i+3) })...)},
		{name: "a line that is too long", file: "openid,n\no1," + strings.Repeat("x", 5*MaxRecord) + "\no2,b\n", want: []string{fmt.Sprintf("! line 2, column 1: the line does not end within %d bytes", MaxRecord), `3 o2 {"n":"b"}`}},
		{name: "not UTF-8 in the midst of what is", file: "openid,n\no1,张\no2,\xff\xff\no3,b\n", want: []string{`2 o1 {"n":"张"}`, "! line 3, column 4: is not UTF-8", `4 o3 {"n":"b"}`}},
		{name: "a NUL", file: "openid,n\no1,a\x00\no3,b\n", want: []string{"! line 2, column 5: holds a NUL", `3 o3 {"n":"b"}`}},
		{name: "GBK is converted where nothing is said", file: gbk(t, "openid,n\no1,张三\n"), want: []string{`2 o1 {"n":"张三"}`}},
		{name: "GBK is recognised where UTF-8 is said", format: Format{Encoding: UTF8}, file: gbk(t, "openid,n\no1,张三\n"), fault: "line 2 is not UTF-8 but reads as GBK: say that the encoding is gbk"},
		{name: "GBK is converted when asked", format: Format{Encoding: GBK}, file: gbk(t, "openid,姓名\no1,张三\n"), want: []string{`2 o1 {"姓名":"张三"}`}},
		{name: "what is not GBK, where it is asked for", format: Format{Encoding: GBK}, file: "openid,n\no1,\xff\xff\no2,b\n", want: []string{"! line 2, column 4: is not GBK", `3 o2 {"n":"b"}`}},
		{name: "no column for the address", file: "name,sum\nx,1\n", fault: `which column has the address? The columns are "name", "sum"`},
		{name: "the address's column is not there", format: Format{Address: "openId"}, file: "openid,sum\nx,1\n", fault: `there is no column "openId" for the address: the columns are "openid", "sum"`},
		{name: "a column stands twice", file: "openid,a,a\n", fault: `the column "a" stands twice: name the columns yourself`},
		{name: "a column without a name", file: "openid,a,\n", fault: "column 3 of the header has no name: name the columns yourself, an empty name leaves one out"},
		{name: "an empty file", file: ""},
		{
			name: "NDJSON", format: Format{Kind: NDJSON}, file: "{\"openid\":\"o1\",\"z\":{\"a\":1},\"b\":\"<x>\"}\n[1]\n{\"openid\":\"o2\"\n\n{\"name\":\"x\"}\n{\"openid\":7}\n{\"openid\":\"o 3\"}\n{\"openid\":\"o4\"}",
			want: []string{
				`1 o1 {"b":"<x>","z":{"a":1}}`, "! line 2, column 1: is no JSON object", "! line 3, column 14: is not JSON: unexpected end of JSON input",
				"! line 5, column 1: has no field for the address: want address, openid, phone, mobile, email, user", "! line 6, column 2: openid is no text",
				"! line 7, column 2: openid is no address of the channel: it holds a space or a control character", "8 o4 ",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAll(NewReader(strings.NewReader(tt.file), tt.format, Position{}, true, nil))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if said := fmt.Sprint(err); tt.fault != "" && said != tt.fault || tt.fault == "" && err != nil {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
		})
	}
}

func repeat(n int, line func(i int) string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = line(i)
	}
	return list
}

// CAMP-9: an import that is interrupted at any byte goes on where it was.
func TestAReaderGoesOnFromAnyByte(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		format Format
		text   string
	}{
		{Format{}, "\ufeffopenid,n\r\no1,\"a\n\"\"b\"\r\n\no2\no3,c\r\no4,\"d"},
		{Format{Kind: NDJSON}, "{\"openid\":\"o1\"}\n{\no2\n{\"openid\":\"o3\",\"n\":1}"},
	} {
		want, err := readAll(NewReader(strings.NewReader(file.text), file.format, Position{}, true, nil))
		if err != nil || len(want) < 4 {
			t.Fatalf("read whole: %q, %v", want, err)
		}
		for cut := range len(file.text) + 1 {
			first := NewReader(iotest.OneByteReader(strings.NewReader(file.text[:cut])), file.format, Position{}, false, nil)
			got, err := readAll(first)
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			at := first.Position()
			rest, err := readAll(NewReader(strings.NewReader(file.text[at.Offset:]), file.format, at, true, nil))
			if err != nil {
				t.Fatalf("cut at %d, going on at %+v: %v", cut, at, err)
			}
			if diff := cmp.Diff(want, append(got, rest...)); diff != "" {
				t.Fatalf("cut at %d, going on at %+v (-want +got):\n%s", cut, at, diff)
			}
		}
	}
}

// A line of any length takes bounded memory, also where it comes in parts that hold no line's end.
func TestALineOfAnyLengthIsPassedInParts(t *testing.T) {
	t.Parallel()
	part := bytes.Repeat([]byte("x"), 4*MaxRecord)
	at := Position{Columns: []string{"openid"}, Offset: 7, Line: 2}
	var refused []string
	for i := range 8 {
		r := NewReader(bytes.NewReader(part), Format{}, at, false, nil)
		lines, err := readAll(r)
		if err != nil {
			t.Fatal(err)
		}
		refused = append(refused, lines...)
		if at = r.Position(); at.Offset != int64(7+(i+1)*len(part)) || !at.Skip {
			t.Fatalf("after part %d the reader stands at %+v", i, at)
		}
	}
	got, err := readAll(NewReader(strings.NewReader("xx\no1\n"), Format{}, at, true, nil))
	want := []string{fmt.Sprintf("! line 2, column 1: the line does not end within %d bytes", MaxRecord), "3 o1 "}
	if diff := cmp.Diff(want, append(refused, got...)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAReaderTellsAFaultOfItsInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line is dead")
	r := NewReader(io.MultiReader(strings.NewReader("openid\no1\no2"), iotest.ErrReader(broken)), Format{}, Position{}, true, nil)
	got, err := readAll(r)
	if !errors.Is(err, broken) || len(got) != 1 || r.Position().Offset != 10 {
		t.Errorf("got %q and %v at %+v, want o1 alone", got, err, r.Position())
	}
}

func TestFilesAreDecompressedByTheirFirstBytes(t *testing.T) {
	t.Parallel()
	text := "openid\n" + strings.Join(repeat(5000, func(i int) string { return fmt.Sprint("o", i, rand.Uint64()) }), "\n")
	var zipped, squeezed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	s, err := zstd.NewWriter(&squeezed)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{z, s} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range map[string][]byte{"plain": []byte(text), "gzip": zipped.Bytes(), "zstd": squeezed.Bytes()} {
		in, err := Open(bytes.NewReader(file), Format{}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(text))
		}
		if err := in.Close(); err != nil || name == "plain" {
			continue
		}
		in, err = Open(bytes.NewReader(file[:len(file)/2]), Format{}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		var fault *FileError
		if _, err := io.ReadAll(in); !errors.As(err, &fault) || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%s, the half of it: %v", name, err)
		}
		in.Close()
	}
}

// endless is a file without an end.
type endless struct{ line []byte }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.line) <= len(p) {
		n += copy(p[n:], e.line)
	}
	return n, nil
}

// BenchmarkRead reads and packs members, as an import does.
func BenchmarkRead(b *testing.B) {
	codec, err := NewCodec()
	if err != nil {
		b.Fatal(err)
	}
	line := "o6_bmjrPTlm6_2sgVt7hMZOPfL2M,张三,20,2026-12-01\n"
	r := NewReader(endless{[]byte(line)}, Format{Columns: []string{"openid", "name", "sum", "until"}}, Position{}, false, nil)
	var block Builder
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		row, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		if block.Add(row.Address, row.Variables); block.Full() {
			runtime.KeepAlive(codec.Pack(&block))
		}
	}
}

// What is wrong with a compressed file is the file's fault; what its reader fails with is not.
func TestACorruptFileIsToldFromALostConnection(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for i := range 5000 {
		fmt.Fprintf(w, "o%d,%x\n", i, i*i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	bad := bytes.Clone(good)
	copy(bad[len(bad)/2:], make([]byte, 64))
	lost := errors.New("the connection was lost")
	for name, c := range map[string]struct {
		in    io.Reader
		fault bool
	}{
		"corrupt":         {bytes.NewReader(bad), true},
		"cut off":         {bytes.NewReader(good[:len(good)/2]), true},
		"lost":            {io.MultiReader(bytes.NewReader(good[:len(good)/2]), iotest.ErrReader(lost)), false},
		"lost in the end": {io.MultiReader(bytes.NewReader(good[:len(good)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)), false},
	} {
		in, err := Open(c.in, Format{}, nil)
		if err == nil {
			_, err = io.ReadAll(in)
		}
		var fault *FileError
		if err == nil || errors.As(err, &fault) != c.fault {
			t.Errorf("%s: %v; a fault of the file: %t, want %t", name, err, fault != nil, c.fault)
		}
	}
}

func TestLinesThatEndWithACarriageReturnAloneAreTold(t *testing.T) {
	t.Parallel()
	_, err := NewReader(strings.NewReader("openid,name\ro1,a\ro2,b\r"), Format{}, Position{}, true, nil).Next()
	var fault *FileError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "carriage return") {
		t.Errorf("got %v", err)
	}
}

// A few kilobytes must not keep an import busy for minutes: with lines without content, or with what is pressed out of them.
func TestAFileThatHoldsNobodyIsGivenUp(t *testing.T) {
	t.Parallel()
	pack := func(times int, part string) io.Reader {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := io.WriteString(z, "openid\n"); err != nil {
			t.Fatal(err)
		}
		for range times {
			if _, err := io.WriteString(z, part); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return &packed
	}
	for name, c := range map[string]struct {
		file io.Reader
		want string
		kind Kind
	}{
		"empty lines":           {pack(1100, strings.Repeat("\n", 1000)), "of its lines are empty, up to line 1048578", CSV},
		"lines of spaces":       {pack(1100, strings.Repeat(" \r\n", 1000)), "of its lines are empty", CSV},
		"in NDJSON":             {pack(1100, strings.Repeat("\n", 1000)), "of its lines are empty", NDJSON},
		"one line without end":  {pack(30, strings.Repeat("x", 1<<20)), "the gzip file holds more than 200 times its size", CSV},
		"few empty lines, then": {strings.NewReader(strings.Repeat("\n", 1000) + "openid\no1\n"), "", CSV},
	} {
		file, err := Open(c.file, Format{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(file, Format{Kind: c.kind}, Position{}, true, nil)
		for err == nil || errors.As(err, new(*Refused)) {
			_, err = r.Next()
		}
		var fault *FileError
		if c.want == "" && !errors.Is(err, io.EOF) || c.want != "" && (!errors.As(err, &fault) || !strings.Contains(fault.Error(), c.want)) {
			t.Errorf("%s: reading ended with %v, want %q", name, err, c.want)
		}
	}
}
