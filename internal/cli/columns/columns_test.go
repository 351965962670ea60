package columns_test

import (
	"fmt"

	"github.com/posthouse/posthouse/internal/cli/columns"
)

func ExampleText() {
	fmt.Print(columns.Text([]string{"User", "Name", "State"}, [][]string{
		{"li.na", "李娜", "sent"},
		{"o'brien", "O’Brien", ""},
	}, columns.Options{Rule: true}))
	// Output:
	// User     Name     State
	// ─────────────────────────
	// li.na    李娜     sent
	// o'brien  O’Brien
}
