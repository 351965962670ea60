package console

import "testing"

func TestFiguresAreWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 18.46: "18.5", 2400: "2400", 1234567: "1230000", 12.0: "12"} {
		if got := (frame{}).Figure(v); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
}
