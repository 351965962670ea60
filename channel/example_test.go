package channel_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// A driver is a Type in a table: its fields draw the form and check what an operator writes, and Open makes what sends.
func ExampleType() {
	shout := channel.Type{
		Name: "shout", Title: "Shout", Doc: "Shouts the text out of a window.", MaxBatch: 1, Window: channel.Forever,
		Fields: []channel.Field{
			{Name: "window", Label: "Window", Kind: channel.KindString, Required: true},
			{Name: "times", Label: "How often", Kind: channel.KindInt, Default: 1},
		},
		Open: func(c channel.Config, _ channel.Env) (channel.Driver, error) {
			return window{c.String("window"), c.Int("times")}, nil
		},
	}
	_, problems := shout.Validate(map[string]any{"windw": "north"})
	for _, p := range problems {
		fmt.Println(p.Path, p.Message)
	}
	config, _ := shout.Validate(map[string]any{"window": "north", "times": 2})
	driver, err := shout.Open(config, channel.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result := driver.Send(context.Background(), channel.Outgoing{Content: posthouse.Content{Text: "dinner"}})
	fmt.Println(result.Class)
	// Output:
	// config.window is missing; give one line of text
	// config.windw there is no setting of this name; did you mean window?
	// north: DINNER! DINNER!
	// ok
}

type window struct {
	name  string
	times int
}

// Send shouts. What is written to an io.Writer or a provider, and may have arrived although it failed, is
// posthouse.ClassUnknown and not a failure.
func (w window) Send(_ context.Context, out channel.Outgoing) channel.Result {
	shout := strings.ToUpper(out.Content.Text) + "!"
	fmt.Println(w.name+":", strings.TrimSpace(strings.Repeat(shout+" ", w.times)))
	return channel.Result{Class: posthouse.ClassOK}
}
