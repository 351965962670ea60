package content

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// FLOW-8: what the countdown and the overtime are, and what becomes of a maxDuration.
func TestAClockCountsWholeMinutes(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		payload string
		clock   posthouse.Clock
		want    string
	}{
		"to a moment":                  {`{}`, posthouse.Clock{Until: noon.Add(15 * time.Minute)}, `{"remainMin":15}`},
		"a minute that has begun":      {``, posthouse.Clock{Until: noon.Add(14*time.Minute + time.Microsecond)}, `{"remainMin":15}`},
		"the moment itself":            {`null`, posthouse.Clock{Until: noon}, `{"remainMin":0}`},
		"past the moment":              {`{"remainMin":9}`, posthouse.Clock{Until: noon.Add(-time.Hour)}, `{"remainMin":0}`},
		"since a moment":               {`{}`, posthouse.Clock{Since: noon.Add(-90*time.Minute - 59*time.Second)}, `{"overtime":90}`},
		"before it begins":             {`{}`, posthouse.Clock{Since: noon.Add(time.Hour)}, `{"overtime":0}`},
		"over a maxDuration":           {`{"maxDuration":"60","taskName":"T"}`, posthouse.Clock{Since: noon.Add(-time.Hour)}, `{"maxDuration":60,"originalMaxDuration":"60","overtime":60,"taskName":"T"}`},
		"both":                         {`{"n":1.50}`, posthouse.Clock{Until: noon.Add(time.Hour), Since: noon.Add(-time.Hour)}, `{"n":1.50,"overtime":60,"remainMin":60}`},
		"a maxDuration only till then": {`{"maxDuration":5}`, posthouse.Clock{Until: noon}, `{"maxDuration":5,"remainMin":0}`},
	} {
		_, got, problems := fillAt(posthouse.Template{Text: "x"}, []byte(c.payload), &c.clock, noon)
		if string(got) != c.want || len(problems) > 0 {
			t.Errorf("%s: got %s, problems %v; want %s", name, got, problems, c.want)
		}
	}
}

// FLOW-10.
func TestPlatformAddressIsPutWhereThereIsNone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                        `{"platformUrl":"https://x.test/"}`,
		`{"a":1}`:                 `{"a":1,"platformUrl":"https://x.test/"}`,
		`{"platformUrl":"mine"}`:  `{"platformUrl":"mine"}`,
		`{ "platformUrl" : null}`: `{ "platformUrl" : null}`,
	} {
		if got, err := withPlatform([]byte(in), "https://x.test/"); string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
		if got, err := withPlatform([]byte(in), ""); string(got) != in || err != nil {
			t.Errorf("%s without an address: got %s, %v", in, got, err)
		}
	}
}
