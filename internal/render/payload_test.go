package render

import (
	"encoding/json"
	"testing"
)

func TestFieldsKeepHowTheyAreWritten(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":     `{"new":true}`,
		"null": `{"new":true}`,
		`{"b":1.50,"a":"<&>","deep":{"z":1,"a":[1e3]}}`: `{"a":"<&>","b":1.50,"deep":{"z":1,"a":[1e3]},"new":true}`,
		`{"new":0}`: `{"new":true}`,
	} {
		fields, err := Fields(json.RawMessage(in))
		if err != nil {
			t.Fatal(err)
		}
		fields["new"] = json.RawMessage("true")
		got, err := Object(fields)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestFieldsRefuseWhatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"1", `["a"]`, "{", `"x"`} {
		if _, err := Fields(json.RawMessage(in)); err == nil {
			t.Errorf("Fields(%s) takes it", in)
		}
	}
}
