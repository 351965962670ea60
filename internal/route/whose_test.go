package route_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/route"
)

// A person is asked about by id or by name; whom two share a name is asked about by id alone.
func TestWhoIsAskedAbout(t *testing.T) {
	t.Parallel()
	zhang, li, other := posthouse.User{ID: "zhang.san", Name: "张三"}, posthouse.User{ID: "li.na", Name: "李娜"}, posthouse.User{ID: "li.na2", Name: "李娜"}
	for text, want := range map[string]string{"张三": "zhang.san", "zhang.san": "zhang.san", "张三丰": "张三丰", "13800138000": "13800138000", "li.na": "li.na"} {
		if got, known, err := route.Whose(text, []posthouse.User{zhang, li, other}); got != want || err != nil || known != (got != text || strings.Contains(got, ".")) {
			t.Errorf("%s is %s, %t, %v", text, got, known, err)
		}
	}
	if _, _, err := route.Whose("李娜", []posthouse.User{zhang, li, other}); posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "li.na, li.na2") {
		t.Errorf("two of one name: %v", err)
	}
}
