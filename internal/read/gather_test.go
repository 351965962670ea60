package read

import (
	"slices"
	"strconv"
	"testing"
)

// shelf is a list whose entries hold so many bytes each; it notes the longest part that was asked for at once.
type shelf struct {
	sizes []int
	most  int // bytes of one part
	calls int
}

func (s *shelf) part(cursor string, limit int) ([]int, string, error) {
	from, _ := strconv.Atoi(cursor)
	to := min(from+limit, len(s.sizes))
	s.calls++
	sum := 0
	for _, n := range s.sizes[from:to] {
		sum += n
	}
	s.most = max(s.most, sum)
	if to == len(s.sizes) {
		return s.sizes[from:to], "", nil
	}
	return s.sizes[from:to], strconv.Itoa(to), nil
}

func size(n *int) int { return *n }

func TestAPageHoldsSoManyBytesAndEveryEntryStandsOnOne(t *testing.T) {
	t.Parallel()
	const heavy = 320 << 10
	for name, test := range map[string]struct {
		sizes []int
		pages []int // their lengths, at a limit of 1000
	}{
		"nothing":         {nil, []int{0}},
		"light":           {slices.Repeat([]int{500}, 2500), []int{1000, 1000, 500}},
		"heavy":           {slices.Repeat([]int{heavy}, 30), []int{12, 12, 6}},
		"one too large":   {[]int{100, PageBytes + 1, 100}, []int{1, 1, 1}},
		"first too large": {[]int{PageBytes + 1, 100}, []int{1, 1}},
		"light, heavy":    {append(slices.Repeat([]int{100}, 100), slices.Repeat([]int{heavy}, 20)...), []int{112, 8}},
	} {
		s := shelf{sizes: test.sizes}
		var all, lengths []int
		for cursor, first := "", true; first || cursor != ""; first = false {
			list, next, err := Gather(cursor, 1000, size, s.part)
			if err != nil {
				t.Fatal(err)
			}
			all, lengths, cursor = append(all, list...), append(lengths, len(list)), next
		}
		if !slices.Equal(all, test.sizes) || !slices.Equal(lengths, test.pages) {
			t.Errorf("%s: pages of %v with %d entries, want pages of %v", name, lengths, len(all), test.pages)
		}
		if s.most > maxPart*heavy {
			t.Errorf("%s: %d bytes were read at once", name, s.most)
		}
	}
}

func TestAShortPageIsOnePart(t *testing.T) {
	t.Parallel()
	s := shelf{sizes: slices.Repeat([]int{10}, 100)}
	if list, next, err := Gather("", 8, size, s.part); len(list) != 8 || next != "8" || err != nil || s.calls != 1 {
		t.Errorf("got %d entries, %q, %v in %d parts", len(list), next, err, s.calls)
	}
}

func TestAPageOfWhatIsLightIsOnePart(t *testing.T) {
	t.Parallel()
	s := shelf{sizes: slices.Repeat([]int{10}, 2000)}
	if list, next, err := LookedLight("", 1000, size, s.part); len(list) != 1000 || next != "1000" || err != nil || s.calls != 1 {
		t.Errorf("got %d entries, %q, %v in %d parts", len(list), next, err, s.calls)
	}
	s = shelf{sizes: slices.Repeat([]int{PageBytes / 500}, 1000)}
	if list, next, err := LookedLight("", 1000, size, s.part); len(list) != 500 || next != "500" || err != nil {
		t.Errorf("got %d entries, %q, %v, want as many as the bytes allow", len(list), next, err)
	}
}

// What a caller does not see is left out of the parts that are read, and may be all of them.
func TestAPageOfWhichNothingIsSeenLeadsOn(t *testing.T) {
	t.Parallel()
	s := shelf{sizes: slices.Repeat([]int{100}, 100)}
	list, next, err := Gather("", 1000, size, func(cursor string, limit int) ([]int, string, error) {
		_, next, err := s.part(cursor, limit)
		return nil, next, err
	})
	if len(list) != 0 || next != "" || err != nil {
		t.Errorf("got %v and %q, %v", list, next, err)
	}
}
