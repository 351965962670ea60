package web

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// formOf is the canonical form in one piece.
func formOf(text []byte) (form []byte) {
	canonical(text, func(part []byte) { form = append(form, part...) })
	return form
}

// jsonForm is the form as encoding/json writes it, which knows no other for what it has read.
func jsonForm(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	form, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// The hashes are those of the server that had encoding/json make the form: databases hold them.
func TestOneFormForWhatSaysTheSame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, form, hash string }{
		{`{ "b":1, "a":[ 1.0, 1e2, {"y":null,"x":"\u0041"} ] }`, `{"a":[1.0,1e2,{"x":"A","y":null}],"b":1}`, "d632f11336c8147eb8a9c2d46151838364ddf5be43f4fccc72dd9a58e5191539"},
		{`{"n":12345678901234567890,"m":-0,"o":1E+5}`, `{"m":-0,"n":12345678901234567890,"o":1E+5}`, "b1c9ab86a1946d1efbf8e971362240f692b78e2e599678b59529341d70c4ad59"},
		{
			`{"channel":"later", "to":[{"user":"u1"},{"user":"u2"}], "content":{"text":"hello"}, "priority":"high", "not_before":"2026-10-01T08:30:00+08:00"}`,
			`{"channel":"later","content":{"text":"hello"},"not_before":"2026-10-01T08:30:00+08:00","priority":"high","to":[{"user":"u1"},{"user":"u2"}]}`, "9dd47eb4fbf11d8df7b6ad6c1de167415393ccf6dcbc546408497f85a4fe0f91",
		},
		{" [ ] ", "[]", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
		{"{ }", "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
		{`[ true , false,null, {"a":{ }} ]`, `[true,false,null,{"a":{}}]`, "b9ccde5084e2003ff93ab7254af25f28873214b42d2bd3cdf83c87673e2a3d3d"},
		{`{"b":1,"a":2,"\u0062":{"z":3},"a":4}`, `{"a":4,"b":{"z":3}}`, "b339b2e75108fc526951b4ab4bb17bc1ea8375e45bb4163b190af294abf05f59"},
		{`{"ab":1,"a":2,"":3,"a\u0000":4,"A":5,"é":6,"😀":7,"\uffff":8,"<":9,"=":10}`, `{"":3,"\u003c":9,"=":10,"A":5,"a":2,"a\u0000":4,"ab":1,"é":6,"` + "\uffff" + `":8,"😀":7}`, "306042984bb14edf18acb4a03d882c6ac20198fd062360b2974badb0173eade0"},
		{`"\"\\\/\b\f\n\r\t\u0008\u000A\u001f\u007f/"`, `"\"\\/\b\f\n\r\t\b\n\u001f` + "\x7f" + `/"`, "ca0f15bbbd284a47c8d9ac48f00e0753e21e313babb040b0d23638026d2c9ee7"},
		{`"<b>&amp;\u003C \u2028` + "\u2028\u2029\u202a" + `"`, `"\u003cb\u003e\u0026amp;\u003c \u2028\u2028\u2029` + "\u202a" + `"`, "43c174a0cbeed8db540d0b95904891992cfa763ce68c7b43e4b91cd923253c01"},
		{`"你好\u4f60\ud83d\uDE00\ufffd"`, `"你好你😀` + "\ufffd" + `"`, "9edac6038be023567ef4cf14a6df8b09efeab62c4bb056a6bedfe36d7d07f840"},
		{`"\ud83d \ude00\ud83d\n\ud83d\u0041\ud83d\ud83d\ude00"`, "\"\ufffd \ufffd\ufffd\\n\ufffdA\ufffd😀\"", "e45f2c3bc6f16678bfb9bf0d4864fc5335d90788e9e1c0415efc6331c74217b4"},
	} {
		if got := string(formOf([]byte(test.text))); got != test.form {
			t.Errorf("the form of %s is\n%s, want\n%s", test.text, got, test.form)
		}
		if got := string(jsonForm(t, []byte(test.text))); got != test.form {
			t.Errorf("encoding/json makes of %s\n%s, want\n%s", test.text, got, test.form)
		}
		if got := hashOf([]byte(test.text)); got != test.hash {
			t.Errorf("the hash of %s is %s, want %s", test.text, got, test.hash)
		}
	}
}

// large are bodies of four mebibytes, each with much of something else.
func large() map[string][]byte {
	many := func(open, element, end string) []byte {
		return []byte(open + strings.Repeat(element+",", 4<<20/(len(element)+1)) + element + end)
	}
	return map[string][]byte{
		"numbers": many(`{"payload":[`, `0`, `]}`),
		"objects": many(`{"payload":[`, `{"b":"x","a":[1]}`, `]}`),
		"text":    many(`{"payload":"`, `你好 <a>\n`, `"}`),
		"keys":    []byte(manyKeys(4<<20/22, `"x":1`)),
		"nested":  []byte(strings.Repeat(`{"b":1,"a":`, 30) + `"` + strings.Repeat("x", 4<<20) + `"` + strings.Repeat(`}`, 30)),
		"escaped": []byte(strings.ReplaceAll(manyKeys(4<<20/32, `"x":1`), `"k`, `"\u006b`)),
	}
}

// What a hash takes beside the body is one list of the keys of the objects that are open, at most.
// Not parallel: what others allocate meanwhile would count.
func TestAHashCostsLittleMemory(t *testing.T) {
	for name, text := range large() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		hashOf(text)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 32<<20 {
			t.Errorf("%s: the hash of %d bytes took %d", name, len(text), taken)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for name, text := range large() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hashOf(text)
			}
		})
	}
}
