package read

import (
	"context"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// full is a store that has one of everything, and shows it to whoever asks.
type full struct{}

func (full) Message(context.Context, string, string) (posthouse.Message, int, error) {
	return posthouse.Message{ID: "m", Channel: "c", Kind: "k"}, 1, nil
}

// Messages keeps to the sight of its filter, as the store does (TestAFilterWithoutSightFindsNothing).
func (full) Messages(_ context.Context, f work.Filter) ([]work.Summary, string, error) {
	if !f.Sight.Sees {
		return nil, "", nil
	}
	return make([]work.Summary, 1), "", nil
}

func (full) MessagesOf(context.Context, string, []posthouse.Delivery) (map[string]posthouse.Message, error) {
	return map[string]posthouse.Message{"m": {ID: "m", Channel: "c", Kind: "k"}}, nil
}

func (full) Delivery(context.Context, string, string) (posthouse.Delivery, error) {
	return posthouse.Delivery{ID: "d", Message: "m"}, nil
}

func (full) DeliveriesOf(context.Context, string, string, string, int) ([]posthouse.Delivery, string, error) {
	return make([]posthouse.Delivery, 1), "", nil
}

func (full) Deliveries(_ context.Context, f work.Filter) ([]posthouse.Delivery, string, error) {
	if !f.Sight.Sees {
		return nil, "", nil
	}
	return make([]posthouse.Delivery, 1), "", nil
}

func (full) Stopped(context.Context, string, posthouse.State, int) ([]work.Stopped, error) {
	return make([]work.Stopped, 1), nil
}

func (full) EventPage(context.Context, string, string, string, int) ([]posthouse.Event, string, error) {
	return make([]posthouse.Event, 1), "", nil
}

func (full) AttemptPage(context.Context, string, string, string, int) ([]posthouse.Attempt, string, error) {
	return make([]posthouse.Attempt, 1), "", nil
}

func (full) Log(context.Context, work.LogFilter) ([]work.Line, string, error) {
	return make([]work.Line, 1), "", nil
}

// Every call of the reader, those that come later too: with an argument that says nothing it shows nothing, and with one that sees a
// channel what is of that channel, but for what is counted or logged over all of them.
func TestWhoSaysNothingSeesNothing(t *testing.T) {
	t.Parallel()
	r := New(full{}, full{}, full{}, nil)
	calls := 0
	for _, part := range []any{r.Messages, r.Deliveries, r.History} {
		of := reflect.ValueOf(part)
		for i := range of.NumMethod() {
			calls++
			name := of.Type().Method(i).Name
			if shows(t, of.Method(i), work.Sight{}) {
				t.Errorf("%s shows something to a caller that sees nothing", name)
			}
			if !shows(t, of.Method(i), work.SeeAll()) {
				t.Errorf("%s shows nothing to a caller that sees everything", name)
			}
			if shows(t, of.Method(i), work.See([]string{"c"}, nil)) != (name != "Stopped") {
				t.Errorf("%s shows another thing to a caller that sees a part", name)
			}
			if name != "Messages" && name != "Deliveries" && shows(t, of.Method(i), work.See([]string{"another"}, nil)) {
				t.Errorf("%s shows something to a caller that sees another channel", name)
			}
		}
	}
	if calls < 10 {
		t.Errorf("only %d calls were tried", calls)
	}
}

// shows calls a method with a sight and else with zero values, and reports whether it answers anything.
func shows(t *testing.T, method reflect.Value, s work.Sight) bool {
	t.Helper()
	args, told := make([]reflect.Value, method.Type().NumIn()), false
	for i := range args {
		switch in := method.Type().In(i); in {
		case reflect.TypeFor[context.Context]():
			args[i] = reflect.ValueOf(t.Context())
		case reflect.TypeFor[work.Viewer]():
			args[i], told = reflect.ValueOf(work.Viewer{Sight: s}), true
		case reflect.TypeFor[work.Filter]():
			args[i], told = reflect.ValueOf(work.Filter{Sight: s}), true
		case reflect.TypeFor[work.LogFilter]():
			args[i], told = reflect.ValueOf(work.LogFilter{Sight: s}), true
		default:
			args[i] = reflect.Zero(in)
		}
	}
	if !told {
		t.Fatalf("%s does not ask what its caller sees", method.Type())
	}
	out := method.Call(args)
	if err, failed := out[len(out)-1].Interface().(error); failed {
		if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("got %v", err)
		}
		return false
	}
	if first := out[0]; first.Kind() == reflect.Slice || first.Kind() == reflect.Map {
		return first.Len() > 0
	}
	return !out[0].IsZero()
}
