package limittext

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Said is what is wrong with a value, in a sentence: fmt.Sprintf, where a duration of several whole days stands as the documents have it (30d),
// and a list of words with commas between.
func Said(format string, args ...any) string {
	told := make([]any, len(args))
	for i, a := range args {
		told[i] = said(a)
	}
	return fmt.Sprintf(format, told...)
}

// day is the largest unit of durations.
const day = 24 * time.Hour

func said(a any) any {
	switch d := a.(type) {
	case posthouse.Duration:
		if d.Std() > day && d.Std()%day == 0 {
			return strconv.FormatInt(int64(d.Std()/day), 10) + "d"
		}
		return a
	case time.Duration:
		return said(posthouse.Duration(d))
	}
	list := reflect.ValueOf(a)
	if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.String {
		return a
	}
	words := make([]string, list.Len())
	for i := range words {
		words[i] = list.Index(i).String()
	}
	return strings.Join(words, ", ")
}
